#include "run_command.h"

#include <fcntl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ask_terminal.h"
#include "base/split.h"
#include "engine/run.h"
#include "engine/tools_tree.h"
#include "ensure_image.h"
#include "grants.h"
#include "host_paths.h"
#include "json/utf8.h"
#include "record_store.h"
#include "run_options.h"
#include "run_output.h"

namespace casemate {
namespace {

constexpr int kRepeatMax = 1'000'000;
// Kept ready by --repeat: the next one is made while one runs.
constexpr std::size_t kHotSlots = 2;
constexpr milliseconds kSettleTime{30'000};
constexpr milliseconds kPrepareTime{60'000};

// A file's mistakes are a line each.
int usage_error(const Error& error) {
  for (const std::string& line : split(error.message, '\n'))
    std::fprintf(stderr, "casemate run: %s\n", json::escape_control(line).c_str());
  return outcome::kExitUsage;
}

#ifdef CASEMATE_TEST_HOOKS
constexpr const char* kWardenName = "casemate-warden-test";
#else
constexpr const char* kWardenName = "casemate-warden";
#endif

Result<engine::Products> open_products(const RunOptions& options, int number) {
  const bool named = options.out.has_value();
  std::string directory = named ? *options.out : "casemate-out/" + default_out_name();
  if (options.repeat != "1") directory += "/" + std::to_string(number);
  return engine::Products::open({directory, named, gib(1)});
}

// Adds what is known by now to the records that are kept. A run does not fail for it.
void store_records(engine::Engine& engine, RecordStore& store, const RunOptions& options) {
  const auto stored = store.add(engine.take_records());
  if (stored || (!options.record && (options.json || options.quiet))) return;
  std::fprintf(stderr, "casemate run: ignoring that a record could not be kept: %s\n",
               json::escape_control(stored.error().message).c_str());
}

// The run has happened, and its outcome is told; but no log has its end, and that must not pass for success.
int with_record(const engine::Engine& engine, int code) {
  if (!engine.end_not_recorded()) return code;
  std::fprintf(stderr, "casemate run: the end of the run could not be recorded: %s\n",
               json::escape_control(engine.end_not_recorded()->message).c_str());
  return code == outcome::kExitOk ? outcome::kExitUnavailable : code;
}

// Each time in a fresh box, which is taken from a slot when one is ready. Ends with the first run that was
// cancelled or that this host could not make; the exit code is the first that is not 0.
int run_again_and_again(const engine::Request& request, const RunOptions& options, int repeat,
                        engine::Engine& engine, const engine::Image& image, RunOutput& output,
                        RecordStore& store, const engine::Hooks& hooks) {
  if (options.start != "cold") {
    const std::size_t hot = repeat == 1 ? 1 : kHotSlots;
    pool::PoolConfig config;
#ifdef CASEMATE_TEST_HOOKS
    if (const auto memory = parse_bytes(options.pool_memory)) config.memory_budget = *memory;
#endif
    if (auto done = engine.use_slots(config, hot); !done) return usage_error(done.error());
  }
  int exit_code = 0;
  int starts[3] = {};
  for (int number = 1; number <= repeat; ++number) {
    auto products = open_products(options, number);
    if (!products) return usage_error(products.error());
    // What cannot have a slot runs all the same; its outcome says cold, and the last line why.
    if (options.start == "hot") (void)engine.prepare(request, image, 1, Deadline::in(kPrepareTime));
    outcome::Outcome result = engine.run(request, image, *products, hooks);
    engine.settle(result, Deadline::in(kSettleTime));
    ++starts[static_cast<int>(result.timing.start.value_or(outcome::Start::kCold))];
    const outcome::Status status = result.ending.status;
    const int code = with_record(engine, output.finish(std::move(result)));
    store_records(engine, store, options);
    if (exit_code == 0) exit_code = code;
    if (status == outcome::Status::kCancelled || status == outcome::Status::kUnavailable) break;
  }
  engine.close(Deadline::in(kSettleTime));
  store_records(engine, store, options);
  const bool not_hot = starts[static_cast<int>(outcome::Start::kHot)] == 0;
  if (!options.quiet && !options.json && (repeat > 1 || not_hot)) {
    const auto count = [&](outcome::Start start) { return starts[static_cast<int>(start)]; };
    const std::string& why = engine.cold_reason();
    std::fprintf(stderr, "casemate run: %d hot, %d warm, %d cold%s\n", count(outcome::Start::kHot),
                 count(outcome::Start::kWarm), count(outcome::Start::kCold),
                 why.empty() ? "" : (" (" + json::escape_control(why) + ")").c_str());
  }
  return exit_code;
}

// The guest tree with /tools in it, when there are any.
Result<sys::Fd> add_tools(const engine::Request& request, const RunGrants& granted, engine::Paths& parts) {
  const catalog::Catalog* catalog = request.grants ? request.grants->tools.catalog() : nullptr;
  if (catalog == nullptr) return sys::Fd();
  const std::string version = granted.tools_sha256 + " " + TRY(build_stamp());
  const std::string cache = TRY(cache_directory()) + "/trees";
  engine::ToolsTree tree = TRY(engine::tools_tree(parts.guest_tree, *catalog, version, cache));
  parts.guest_tree = std::move(tree.path);
  return std::move(tree.in_use);
}

int run_request(const engine::Request& request, const RunGrants& granted, const RunOptions& options,
                int repeat) {
  RunOutput output({options.json, options.quiet, options.record});
  RecordStore store(options.records);
  auto parts = find_parts(kWardenName);
  const auto unavailable = [&](outcome::Reason reason, const Error& error) {
    const engine::Rungs rungs = parts ? parts->rungs : engine::Rungs{};
    return output.finish(engine::refused_outcome(request, rungs, reason, error.message));
  };
  if (!parts) return unavailable(outcome::Reason::kSandboxUnavailable, parts.error());
  const auto choice = engine::choose_rung(request, parts->rungs);
  if (!choice) return unavailable(outcome::Reason::kIsolationUnavailable, choice.error());
  const auto tools = add_tools(request, granted, *parts);
  if (!tools) return unavailable(outcome::Reason::kSandboxUnavailable, tools.error());
  auto products = open_products(options, 1);
  if (!products) return usage_error(products.error());
  auto engine = engine::Engine::start(*parts, request.weakenings);
  if (!engine) return unavailable(outcome::Reason::kSandboxUnavailable, engine.error());
  if (granted.log) engine->record_runs(*granted.log);
  const auto image = ensure_image(options.image, options.store);
  if (!image) {
    if (image.error().code == ErrorCode::kInvalid || image.error().code == ErrorCode::kNotFound) {
      return usage_error(image.error());
    }
    return unavailable(outcome::Reason::kImageUnavailable, image.error());
  }
  const auto in = ensure_parts(*image, options.store, choice->rung);
  if (!in) return unavailable(outcome::Reason::kImageUnavailable, in.error());
  // Ctrl-C ends the box and says so: from here on it is a message and not a signal. Before, there is no
  // box, and it ends this program as any other.
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGHUP);
  (void)::sigprocmask(SIG_BLOCK, &stop, nullptr);
  const sys::Fd cancel(::signalfd(-1, &stop, SFD_CLOEXEC));

  engine::Hooks hooks;
  hooks.cancel = &cancel;
  output.stop_at(cancel);
  std::unique_ptr<AskTerminal> terminal;
  if (granted.at_terminal) {
    auto started = AskTerminal::start(*granted.desk);
    if (!started) return unavailable(outcome::Reason::kSandboxUnavailable, started.error());
    terminal = std::move(*started);
    hooks.on_waiting = [&](bool waits) { terminal->waiting(waits); };
  }
  hooks.on_output = [&](outcome::Stream stream, std::string_view bytes) { output.live(stream, bytes); };
  if (repeat > 1 || options.start == "hot")
    return run_again_and_again(request, options, repeat, *engine, *in, output, store, hooks);
  outcome::Outcome result = engine->run(request, *in, *products, hooks);
  const int code = with_record(*engine, output.finish(std::move(result)));
  store_records(*engine, store, options);
  return code;
}

}  // namespace

int run_command(int argc, char** argv) {
  RunOptions options;
  if (const auto done = read_command(command_of(options), argc, argv)) return *done;
  const auto repeat = parse_count(options.repeat, "--repeat");
  if (!repeat) return usage_error(repeat.error());
  if (*repeat < 1 || *repeat > kRepeatMax)
    return usage_error(fail(ErrorCode::kInvalid, "--repeat takes 1 to 1000000").value());
  if (options.start != "auto" && options.start != "hot" && options.start != "cold")
    return usage_error(
        fail(ErrorCode::kInvalid, "--start takes auto, hot or cold, not '" + options.start + "'").value());
  auto request = make_request(options);
  if (!request) return usage_error(request.error());
  const auto granted = make_grants(options);
  if (!granted && granted.error().code != ErrorCode::kUnavailable) return usage_error(granted.error());
  if (!granted) {
    RunOutput output({options.json, options.quiet, options.record});
    return output.finish(
        engine::refused_outcome(*request, {}, outcome::Reason::kAuditUnavailable, granted.error().message));
  }
  request->grants = granted->grants;
  return run_request(*request, *granted, options, *repeat);
}

}  // namespace casemate
