#include "run_command.h"

#include <fcntl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
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
constexpr int kParallelMax = 1000;
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
int finish(RunOutput& output, outcome::Outcome result) {
  const std::string not_recorded = result.not_recorded;
  const int code = output.finish(std::move(result));
  if (not_recorded.empty()) return code;
  std::fprintf(stderr, "casemate run: the end of the run could not be recorded: %s\n",
               json::escape_control(not_recorded).c_str());
  return code == outcome::kExitOk ? outcome::kExitUnavailable : code;
}

// Runs of one request, one after another or some at once.
struct Repeats {
  const engine::Request& request;
  const RunOptions& options;
  const engine::Image& image;
  const engine::Hooks& hooks;
  engine::Engine& engine;
  RunOutput& output;
  RecordStore& store;
  int count = 1, parallel = 1;
  // Guards what follows, and what is printed and stored.
  std::mutex mutex{};
  int begun = 0;
  bool over = false;
  int exit_code = 0;  // the first that is not 0
  std::array<int, 3> starts{};
};

// Each time in a fresh box, which is taken from a slot when one is ready. Ends with the first run that was
// cancelled or that this host could not make.
void repeat_runs(Repeats& all) {
  for (;;) {
    std::unique_lock lock(all.mutex);
    if (all.over || all.begun == all.count) return;
    const int number = ++all.begun;
    lock.unlock();
    auto products = open_products(all.options, number);
    // What cannot have a slot runs all the same; its outcome says cold, and the last line why.
    if (products && all.options.start == "hot")
      (void)all.engine.prepare(all.request, all.image, 1, Deadline::in(kPrepareTime));
    std::optional<outcome::Outcome> result;
    if (products) result = all.engine.run(all.request, all.image, *products, all.hooks);
    if (result) all.engine.settle(*result, Deadline::in(kSettleTime));
    lock.lock();
    int code = 0;
    if (result) {
      ++all.starts.at(static_cast<std::size_t>(result->timing.start.value_or(outcome::Start::kCold)));
      const outcome::Status status = result->ending.status;
      all.over |= status == outcome::Status::kCancelled || status == outcome::Status::kUnavailable;
      code = finish(all.output, std::move(*result));
      store_records(all.engine, all.store, all.options);
    } else {
      all.over = true;
      code = usage_error(products.error());
    }
    if (all.exit_code == 0) all.exit_code = code;
  }
}

void say_starts(const Repeats& all) {
  const auto count = [&](outcome::Start start) { return all.starts.at(static_cast<std::size_t>(start)); };
  if (all.options.quiet || all.options.json || (all.count == 1 && count(outcome::Start::kHot) > 0)) return;
  const std::string why = all.engine.cold_reason();
  std::fprintf(stderr, "casemate run: %d hot, %d warm, %d cold%s\n", count(outcome::Start::kHot),
               count(outcome::Start::kWarm), count(outcome::Start::kCold),
               why.empty() ? "" : (" (" + json::escape_control(why) + ")").c_str());
}

int run_again_and_again(Repeats& all) {
  if (all.options.start != "cold") {
    const std::size_t hot =
        all.count == 1 ? 1 : std::max(kHotSlots, static_cast<std::size_t>(all.parallel) + 1);
    pool::PoolConfig config;
#ifdef CASEMATE_TEST_HOOKS
    if (const auto memory = parse_bytes(all.options.pool_memory)) config.memory_budget = *memory;
#endif
    if (auto done = all.engine.use_slots(config, hot); !done) return usage_error(done.error());
  }
  if (all.parallel > 1) {
    if (auto served = all.engine.serve(); !served)
      return all.output.finish(engine::refused_outcome(all.request, {}, outcome::Reason::kSandboxUnavailable,
                                                       served.error().message));
  }
  std::vector<std::thread> threads;
  for (int beside = 1; beside < all.parallel; ++beside) threads.emplace_back([&] { repeat_runs(all); });
  repeat_runs(all);
  for (std::thread& thread : threads) thread.join();
  all.engine.close(Deadline::in(kSettleTime));
  store_records(all.engine, all.store, all.options);
  say_starts(all);
  return all.exit_code;
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
                int repeat, int parallel) {
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
  if (granted.at_terminal && parallel > 1)
    return usage_error(
        fail(ErrorCode::kInvalid, "--parallel takes --ask wait or deny: a terminal is asked by one run")
            .value());
  std::unique_ptr<AskTerminal> terminal;
  if (granted.at_terminal) {
    auto started = AskTerminal::start(*granted.desk);
    if (!started) return unavailable(outcome::Reason::kSandboxUnavailable, started.error());
    terminal = std::move(*started);
    hooks.on_waiting = [&](bool waits) { terminal->waiting(waits); };
  }
  if (parallel == 1)
    hooks.on_output = [&](outcome::Stream stream, std::string_view bytes) { output.live(stream, bytes); };
  if (repeat > 1 || options.start == "hot") {
    Repeats all{request, options, *in, hooks, *engine, output, store, repeat, std::min(repeat, parallel)};
    return run_again_and_again(all);
  }
  outcome::Outcome result = engine->run(request, *in, *products, hooks);
  const int code = finish(output, std::move(result));
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
  const auto parallel = parse_count(options.parallel, "--parallel");
  if (!parallel) return usage_error(parallel.error());
  if (*parallel < 1 || *parallel > kParallelMax)
    return usage_error(fail(ErrorCode::kInvalid, "--parallel takes 1 to 1000").value());
  if (*parallel > 1 && !options.json)
    return usage_error(
        fail(ErrorCode::kInvalid, "--parallel takes --json: runs that go on at once end in any order")
            .value());
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
  return run_request(*request, *granted, options, *repeat, *parallel);
}

}  // namespace casemate
