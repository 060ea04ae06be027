#include "run_options.h"

#include <charconv>

#include "base/duration.h"
#include "inputs.h"
#include "policy/vocabulary.h"

namespace casemate {
namespace {

constexpr std::size_t kStdinMax = 64 << 20;

constexpr const char* kExamples =
    "Examples:\n"
    "  casemate run --trust trusted analysis.py -- --year 2026\n"
    "  casemate run --trust trusted -c 'print(6 * 7)'\n"
    "  cat program.py | casemate run --trust trusted --json -\n"
    "  casemate run --trust trusted --file sales.csv --file rates.json:in/rates.json --out results "
    "report.py\n"
    "  casemate run --trust trusted --tools tools.toml --policy policy.toml settle.py\n"
    "  casemate run --trust trusted --tools tools.toml --policy policy.toml --ask wait settle.py\n"
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

}  // namespace

Command command_of(RunOptions& options) {
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
          {"--weaken", "NAME",
           "accept a named weakening: single-id, no-cgroup, unboxed-connector; may be given again",
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
          {"--tools", "FILE", "capabilities that the program may call (docs/tools.md)", &options.tools},
          {"--policy", "FILE", "what it may do with them (docs/policy.md); without one each call would ask",
           &options.policy},
          {"--ask", "HOW",
           "who is asked: terminal (where there is one), wait (for `casemate approvals`) or deny (nobody)",
           &options.ask},
          {"--ask-timeout", "TIME", "how long a call waits for an answer (10m)", &options.ask_timeout},
          {"--label", "LABEL",
           "what the program was exposed to before: untrusted, private; may be given again", &options.labels},
          {"--audit", "DIR",
           "where runs and calls are recorded, instead of the usual place for those with --tools",
           &options.audit},
          {"--env", "NAME=VALUE", "for the program; may be given again", &options.environment},
          {"--stdin", "FILE", "what the program reads as its standard input", &options.stdin_file},
          {"--repeat", "N", "run it so often, each time in a fresh box; with --json one document a line",
           &options.repeat},
          {"--parallel", "N", "with --repeat and --json: so many at once, in any order", &options.parallel},
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
  command.options.push_back(
      {"--test-unrecorded", "K", "each K-th call is one that no record is of", &options.unrecorded});
  command.options.push_back({"--test-pool-memory", "SIZE", "what slots may cost", &options.pool_memory});
  command.options.push_back({"--test-fail-stage", "N", "number of a jail::Stage", &options.fail_stage});
#endif
  return command;
}

namespace {

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

Result<void> parse_limits(const RunOptions& options, engine::Request& request) {
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

}  // namespace

Result<engine::Request> make_request(const RunOptions& options) {
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
  for (const std::string& label : options.labels) {
    if (!policy::is_label(label))
      return fail(ErrorCode::kInvalid, "--label takes small letters, digits, _ and -, not '" + label + "'");
    request.labels.add(label, "the harness");
  }
  request.trust = TRY(parse_trust(options.trust));
  request.isolation = TRY(parse_isolation(options.isolation));
  request.weakenings.below_floor = options.below_floor;
  if (options.share_sandbox) request.sandbox = engine::Sandbox::kShared;
  for (const std::string& name : options.weaken) {
    if (name == "single-id") {
      request.weakenings.single_id = true;
    } else if (name == "no-cgroup") {
      request.weakenings.no_cgroup = true;
    } else if (name != "unboxed-connector") {
      return fail(ErrorCode::kInvalid,
                  "--weaken takes single-id, no-cgroup or unboxed-connector, not '" + name + "'");
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

Result<int> parse_count(const std::string& text, const char* option) {
  return parse_number<int>(text, option);
}

}  // namespace casemate
