#include "run_command.h"

#include <fcntl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/duration.h"
#include "engine/run.h"
#include "ensure_image.h"
#include "host_paths.h"
#include "inputs.h"
#include "json/utf8.h"
#include "options.h"
#include "record_store.h"
#include "run_output.h"

namespace casemate {
namespace {

constexpr std::size_t kStdinMax = 64 << 20;
constexpr int kRepeatMax = 1'000'000;
// Kept ready by --repeat: the next one is made while one runs.
constexpr std::size_t kHotSlots = 2;
constexpr milliseconds kSettleTime{30'000};
constexpr milliseconds kPrepareTime{60'000};

// What the command line said, before it is checked.
struct Options {
  std::string file;
  std::optional<std::string> code;
  std::vector<std::string> arguments;
  std::string language = "python";
  std::string image = "python";
  std::string store;
  std::string isolation = "auto";
  std::string trust = "untrusted";
  std::vector<std::string> weaken;
  bool below_floor = false;
  bool share_sandbox = false;
  std::optional<std::string> memory, cpu_time, wall, disk, file_size, output, cpus, pids, open_files;
  std::vector<std::string> files, artifacts, environment;
  std::optional<std::string> out;
  std::optional<std::string> stdin_file;
  std::string repeat = "1";
  std::string start = "auto";
  bool record = false;
  std::string records;
  bool json = false;
  bool quiet = false;
#ifdef CASEMATE_TEST_HOOKS
  std::string walls_off = "0";
  std::string fail_stage = "0";
  std::string pool_memory = "1GiB";
#endif
};

constexpr const char* kExamples =
    "Examples:\n"
    "  casemate run --trust trusted analysis.py -- --year 2026\n"
    "  casemate run --trust trusted -c 'print(6 * 7)'\n"
    "  cat program.py | casemate run --trust trusted --json -\n"
    "  casemate run --trust trusted --file sales.csv --file rates.json:in/rates.json --out results "
    "report.py\n"
    "  casemate run --trust trusted --memory 1GiB --wall 2m --cpus 2 heavy.py\n"
    "\n"
    "The program finds its input files below /work, which is its working directory, and leaves products\n"
    "with `casemate.artifact(path, summary=...)` or plt.show(); they are copied to --out DIR.\n"
    "\n"
    "Trust: a request is untrusted unless it says otherwise, and untrusted code gets a kernel of its own in\n"
    "user space (gvisor), where runsc is installed. Hostile code needs hardware virtualization.\n"
    "  --trust trusted      you would review this code yourself: the jail will do, and is quicker\n"
    "  --allow-below-floor  accept a weaker rung than the trust asks for; the outcome shows it\n"
    "\n"
    "Exit codes: 0 ok, 1 the program's own failure, 2 usage, 3 refused, 4 unavailable, 5 a limit, 6 "
    "cancelled.";

Command command_of(Options& options) {
  Command command{
      "casemate run",
      "Runs a program in a fresh box and says how it ended.",
      {{"PROGRAM", "a file with the program, or - for standard input", &options.file}},
      {
          {"-c", "CODE", "the program itself", &options.code},
          {"--language", "NAME", "python (the only one yet)", &options.language},
          {"--image", "IMAGE", "name or digest of the image (python)", &options.image},
          {"--store", "DIR", "image store to use instead of the usual ones", &options.store},
          {"--isolation", "RUNG", "auto (the default), jail, gvisor or microvm", &options.isolation},
          {"--trust", "TRUST", "trusted, untrusted (the default) or hostile", &options.trust},
          {"--allow-below-floor", nullptr, "accept a weaker rung than the trust asks for",
           &options.below_floor},
          {"--share-sandbox", nullptr, "let runs of this tenant follow one another in one gvisor sandbox",
           &options.share_sandbox},
          {"--weaken", "NAME", "accept a named weakening: single-id, no-cgroup; may be given again",
           &options.weaken},
          {"--memory", "SIZE", "memory (512MiB)", &options.memory},
          {"--cpus", "N", "processors (1)", &options.cpus},
          {"--cpu-time", "TIME", "CPU time (20s)", &options.cpu_time},
          {"--wall", "TIME", "wall-clock time (30s)", &options.wall},
          {"--disk", "SIZE", "writable space (256MiB)", &options.disk},
          {"--file-size", "SIZE", "size of one file (as --disk)", &options.file_size},
          {"--pids", "N", "processes and threads (128)", &options.pids},
          {"--open-files", "N", "descriptors of one process (256)", &options.open_files},
          {"--output", "SIZE", "kept of stdout and of stderr (64KiB); 64 times it ends the run",
           &options.output},
          {"--file", "SRC[:DEST]", "input file, put at DEST below /work; may be given again", &options.files},
          {"--artifact", "PATH", "a path below /work that is a product; may be given again",
           &options.artifacts},
          {"--out", "DIR", "directory for products (casemate-out/RUN when there are any)", &options.out},
          {"--env", "NAME=VALUE", "for the program; may be given again", &options.environment},
          {"--stdin", "FILE", "what the program reads as its standard input", &options.stdin_file},
          {"--repeat", "N", "run it so often, each time in a fresh box; with --json one document a line",
           &options.repeat},
          {"--start", "HOW", "auto (the quickest for one run), hot (wait for a box that waits) or cold",
           &options.start},
          {"--record", nullptr,
           "show the birth and death record of each run's box; with --json in its document", &options.record},
          {"--records", "FILE", "keep records in FILE instead of the usual one", &options.records},
          {"--json", nullptr, "one JSON document on standard output, after the proof of teardown",
           &options.json},
          {"--quiet", nullptr, "nothing but the program's own output", &options.quiet},
      },
      kExamples,
      &options.arguments};
#ifdef CASEMATE_TEST_HOOKS
  command.options.push_back({"--test-walls-off", "BITS", "bits of frame::Wall", &options.walls_off});
  command.options.push_back({"--test-pool-memory", "SIZE", "what slots may cost", &options.pool_memory});
  command.options.push_back({"--test-fail-stage", "N", "number of a jail::Stage", &options.fail_stage});
#endif
  return command;
}

Result<engine::Trust> parse_trust(const std::string& text) {
  for (const auto trust : {engine::Trust::kTrusted, engine::Trust::kUntrusted, engine::Trust::kHostile}) {
    if (text == engine::trust_name(trust)) return trust;
  }
  return fail(ErrorCode::kInvalid, "--trust takes trusted, untrusted or hostile, not '" + text + "'");
}

Result<engine::Isolation> parse_isolation(const std::string& text) {
  using engine::Isolation;
  for (const auto rung : {Isolation::kAuto, Isolation::kJail, Isolation::kGvisor, Isolation::kMicrovm}) {
    if (text == engine::isolation_name(rung)) return rung;
  }
  return fail(ErrorCode::kInvalid, "--isolation takes auto, jail, gvisor or microvm, not '" + text + "'");
}

// All of the text is one number. Errors: invalid.
template <typename Number>
Result<Number> parse_number(const std::string& text, const char* option) {
  Number number{};
  const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || text.empty() || after != text.data() + text.size()) {
    return fail(ErrorCode::kInvalid, std::string(option) + " takes a number, not '" + text + "'");
  }
  return number;
}

Result<void> parse_limits(const Options& options, engine::Request& request) {
  box::Limits& limits = request.limits;
  outcome::LimitValues& requested = request.requested;
  const auto amount = [](const std::optional<std::string>& text, Bytes& to,
                         std::optional<std::uint64_t>& asked) -> Result<void> {
    if (!text) return {};
    to = TRY(parse_bytes(*text));
    asked = to.count;
    return {};
  };
  const auto span = [](const std::optional<std::string>& text, milliseconds& to,
                       std::optional<std::uint64_t>& asked) -> Result<void> {
    if (!text) return {};
    to = TRY(parse_duration(*text));
    asked = static_cast<std::uint64_t>(to.count());
    return {};
  };
  const auto count = [](const std::optional<std::string>& text, const char* option, std::uint32_t& to,
                        std::optional<std::uint64_t>& asked) -> Result<void> {
    if (!text) return {};
    to = TRY(parse_number<std::uint32_t>(*text, option));
    asked = to;
    return {};
  };
  TRY(amount(options.memory, limits.memory, requested.memory_bytes));
  TRY(amount(options.disk, limits.disk, requested.disk_bytes));
  limits.file_size = limits.disk;
  TRY(amount(options.file_size, limits.file_size, requested.file_size_bytes));
  TRY(amount(options.output, limits.output, requested.output_bytes));
  TRY(span(options.wall, limits.wall, requested.wall_ms));
  TRY(span(options.cpu_time, limits.cpu_time, requested.cpu_time_ms));
  TRY(count(options.pids, "--pids", limits.pids, requested.pids));
  TRY(count(options.open_files, "--open-files", limits.open_files, requested.open_files));
  if (options.cpus) {
    const double cpus = TRY(parse_number<double>(*options.cpus, "--cpus"));
    if (!(cpus >= 0 && cpus <= 4096)) return fail(ErrorCode::kInvalid, "--cpus is out of range");
    limits.cpus_milli = static_cast<std::uint32_t>(cpus * 1000);
    requested.cpus = cpus;
  }
  return {};
}

Result<engine::Request> make_request(const Options& options) {
  engine::Request request;
  if (options.language != "python") {
    return fail(ErrorCode::kInvalid, "--language takes python, not '" + options.language + "'");
  }
  if (options.code && !options.file.empty()) {
    return fail(ErrorCode::kInvalid, "give either -c CODE or a PROGRAM, not both");
  }
  if (options.code) {
    request.program = *options.code;
  } else if (!options.file.empty()) {
    request.program = TRY(read_input(options.file, kProgramMax.count, "the program"));
    if (options.file != "-") request.program_name = options.file.substr(options.file.rfind('/') + 1);
  } else {
    return fail(ErrorCode::kInvalid,
                "there is no program: name a file, use -c CODE, or - for standard input");
  }
  request.arguments = options.arguments;
  request.environment = options.environment;
  if (options.stdin_file) request.stdin_bytes = TRY(read_input(*options.stdin_file, kStdinMax, "--stdin"));
  for (const std::string& text : options.files) request.files.push_back(TRY(parse_input_file(text)));
  request.artifacts = options.artifacts;
  request.trust = TRY(parse_trust(options.trust));
  request.isolation = TRY(parse_isolation(options.isolation));
  request.weakenings.below_floor = options.below_floor;
  if (options.share_sandbox) request.sandbox = engine::Sandbox::kShared;
  for (const std::string& name : options.weaken) {
    if (name == "single-id") {
      request.weakenings.single_id = true;
    } else if (name == "no-cgroup") {
      request.weakenings.no_cgroup = true;
    } else {
      return fail(ErrorCode::kInvalid, "--weaken takes single-id or no-cgroup, not '" + name + "'");
    }
  }
  TRY(parse_limits(options, request));
#ifdef CASEMATE_TEST_HOOKS
  request.walls_off = TRY(parse_number<std::uint64_t>(options.walls_off, "--test-walls-off"));
  request.fail_stage = TRY(parse_number<std::uint32_t>(options.fail_stage, "--test-fail-stage"));
#endif
  TRY(engine::check_request(request));
  return request;
}

int usage_error(const Error& error) {
  std::fprintf(stderr, "casemate run: %s\n", json::escape_control(error.message).c_str());
  return outcome::kExitUsage;
}

#ifdef CASEMATE_TEST_HOOKS
constexpr const char* kWardenName = "casemate-warden-test";
#else
constexpr const char* kWardenName = "casemate-warden";
#endif

Result<engine::Products> open_products(const Options& options, int number) {
  const bool named = options.out.has_value();
  std::string directory = named ? *options.out : "casemate-out/" + default_out_name();
  if (options.repeat != "1") directory += "/" + std::to_string(number);
  return engine::Products::open({directory, named, gib(1)});
}

// Adds what is known by now to the records that are kept. A run does not fail for it.
void store_records(engine::Engine& engine, RecordStore& store, const Options& options) {
  const auto stored = store.add(engine.take_records());
  if (stored || (!options.record && (options.json || options.quiet))) return;
  std::fprintf(stderr, "casemate run: ignoring that a record could not be kept: %s\n",
               json::escape_control(stored.error().message).c_str());
}

// Each time in a fresh box, which is taken from a slot when one is ready. Ends with the first run that was
// cancelled or that this host could not make; the exit code is the first that is not 0.
int run_again_and_again(const engine::Request& request, const Options& options, int repeat,
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
    const int code = output.finish(std::move(result));
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

int run_request(const engine::Request& request, const Options& options, int repeat) {
  RunOutput output({options.json, options.quiet, options.record});
  RecordStore store(options.records);
  const auto parts = find_parts(kWardenName);
  const auto unavailable = [&](outcome::Reason reason, const Error& error) {
    const engine::Rungs rungs = parts ? parts->rungs : engine::Rungs{};
    return output.finish(engine::refused_outcome(request, rungs, reason, error.message));
  };
  if (!parts) return unavailable(outcome::Reason::kSandboxUnavailable, parts.error());
  const auto choice = engine::choose_rung(request, parts->rungs);
  if (!choice) return unavailable(outcome::Reason::kIsolationUnavailable, choice.error());
  auto products = open_products(options, 1);
  if (!products) return usage_error(products.error());
  auto engine = engine::Engine::start(*parts, request.weakenings);
  if (!engine) return unavailable(outcome::Reason::kSandboxUnavailable, engine.error());
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
  hooks.on_output = [&](outcome::Stream stream, std::string_view bytes) { output.live(stream, bytes); };
  if (repeat > 1 || options.start == "hot")
    return run_again_and_again(request, options, repeat, *engine, *in, output, store, hooks);
  const int code = output.finish(engine->run(request, *in, *products, hooks));
  store_records(*engine, store, options);
  return code;
}

}  // namespace

int run_command(int argc, char** argv) {
  Options options;
  if (const auto done = read_command(command_of(options), argc, argv)) return *done;
  const auto repeat = parse_number<int>(options.repeat, "--repeat");
  if (!repeat) return usage_error(repeat.error());
  if (*repeat < 1 || *repeat > kRepeatMax)
    return usage_error(fail(ErrorCode::kInvalid, "--repeat takes 1 to 1000000").value());
  if (options.start != "auto" && options.start != "hot" && options.start != "cold")
    return usage_error(
        fail(ErrorCode::kInvalid, "--start takes auto, hot or cold, not '" + options.start + "'").value());
  auto request = make_request(options);
  if (!request) return usage_error(request.error());
  return run_request(*request, options, *repeat);
}

}  // namespace casemate
