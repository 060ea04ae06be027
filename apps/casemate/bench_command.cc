// Theory of operation: each measure has two arms, ours and a peer's, which take turns in one process on one
// machine, so that what disturbs one disturbs the other. A sample counts only if its output and its end are
// what they must be; a wrong one ends the benchmark. The program of a measure looks for what an earlier run
// of it left in the interpreter, and says when it finds it: that each state is fresh is part of what is
// timed.
#include "bench_command.h"

#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "engine/run.h"
#include "ensure_image.h"
#include "host_paths.h"
#include "json/writer.h"
#include "options.h"

namespace casemate {
namespace {

constexpr std::size_t kHot = 2;
constexpr milliseconds kPrepareTime{60'000};
constexpr milliseconds kPeerTime{60'000};
constexpr const char* kPython = "/usr/bin/python3";
constexpr const char* kWardenName = "casemate-warden";

struct Measure {
  const char* name;
  const char* program;
  const char* expected;
};

constexpr Measure kMeasures[] = {
    {"hot_print", "import builtins\nprint(1, hasattr(builtins, 'left'))\nbuiltins.left = 1\n", "1 False\n"},
    {"pandas_job",
     "import builtins\n"
     "import pandas\n"
     "frame = pandas.DataFrame({'region': ['n', 's', 'n', 'w'] * 250, 'amount': range(1000)})\n"
     "print(frame.groupby('region').amount.sum().to_dict(), hasattr(builtins, 'left'))\n"
     "builtins.left = 1\n",
     "{'n': 249500, 's': 124750, 'w': 125250} False\n"},
};

struct Row {
  std::string name;
  std::vector<double> ours_ms, theirs_ms;
};

double quantile(std::vector<double> samples, double share) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  return samples[std::min(samples.size() - 1,
                          static_cast<std::size_t>(share * static_cast<double>(samples.size())))];
}

double ms_since(Instant begun) { return std::chrono::duration<double, std::milli>(now() - begun).count(); }

// One run of the bare interpreter, with the flags that a box's has: what it printed. Errors: system,
// internal.
Result<std::string> run_bare(const char* program) {
  sys::SpawnOptions spawn;
  sys::Pair out = TRY(sys::make_pipe());
  spawn.program = kPython;
  spawn.arguments = {kPython, "-I", "-B", "-X", "faulthandler", "-c", program};
  spawn.environment = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8"};
  spawn.fds = {-1, out.second.get(), STDERR_FILENO};
  sys::Child child = TRY(sys::spawn(spawn));
  out.second.reset();
  std::string text;
  std::vector<char> buffer(4096);
  for (;;) {
    const std::size_t got = TRY(sys::read_some(out.first, buffer));
    if (got == 0) break;
    text.append(buffer.data(), got);
  }
  const sys::ExitStatus status = TRY(child.wait(Deadline::in(kPeerTime)));
  if (status.code != 0) return fail(ErrorCode::kInternal, std::string(kPython) + " failed");
  return text;
}

class Bench {
 public:
  Bench(engine::Engine& engine, engine::Image image) : engine_(engine), image_(std::move(image)) {}

  Result<Row> measure(const Measure& measure, std::size_t samples) {
    Row row{measure.name, {}, {}};
    engine::Request request;
    request.program = measure.program;
    request.trust = engine::Trust::kTrusted;
    for (std::size_t i = 0; i < samples; ++i) {
      TRY(engine_.prepare(request, image_, kHot, Deadline::in(kPrepareTime)));
      const Instant bare = now();
      const std::string printed = TRY(run_bare(measure.program));
      row.theirs_ms.push_back(ms_since(bare));
      if (printed != measure.expected) return wrong(measure, kPython, printed);
      auto products = TRY(engine::Products::open({"casemate-out/bench", false, gib(1)}));
      const Instant begun = now();
      outcome::Outcome result = engine_.run(request, image_, products, {});
      row.ours_ms.push_back(ms_since(begun));
      if (result.stdout_text.text != measure.expected || result.timing.start != outcome::Start::kHot)
        return wrong(measure, "casemate", result.report);
      engine_.settle(result, Deadline::in(kPrepareTime));
      if (result.teardown != outcome::TeardownVerdict::kDestroyed)
        return fail(ErrorCode::kInternal, "a slot was not shown to be destroyed");
    }
    return row;
  }

 private:
  static tl::unexpected<Error> wrong(const Measure& measure, const char* arm, const std::string& text) {
    return fail(ErrorCode::kInternal,
                std::string(measure.name) + ": " + arm + " gave a wrong sample: " + text);
  }

  engine::Engine& engine_;
  engine::Image image_;
};

void write_arm(json::Writer& writer, const char* name, const std::vector<double>& samples) {
  writer.key(name).begin_object().field("p50", quantile(samples, 0.5)).field("p95", quantile(samples, 0.95));
  writer.field("p99", quantile(samples, 0.99)).field("unit", "ms").end_object();
}

void print_json(const std::vector<Row>& rows) {
  json::Writer writer;
  writer.begin_object().key("rows").begin_array();
  for (const Row& row : rows) {
    writer.begin_object().field("measure", row.name).field("peer", "python3");
    write_arm(writer, "ours", row.ours_ms);
    write_arm(writer, "theirs", row.theirs_ms);
    writer.field("ratio", quantile(row.theirs_ms, 0.5) / quantile(row.ours_ms, 0.5));
    writer.key("isolation").begin_object().field("ours", "jail").field("theirs", "none").end_object();
    writer.field("n", static_cast<std::uint64_t>(row.ours_ms.size())).end_object();
  }
  writer.end_array().end_object();
  std::printf("%s\n", std::move(writer).take().c_str());
}

void print_table(const std::vector<Row>& rows) {
  std::printf("%-12s %24s %30s %8s %5s\n", "measure", "casemate jail p50 (p95)",
              "python3, no isolation p50 (p95)", "ratio", "n");
  for (const Row& row : rows) {
    std::printf("%-12s %13.3f (%.3f) ms %20.3f (%.3f) ms %7.1fx %5zu\n", row.name.c_str(),
                quantile(row.ours_ms, 0.5), quantile(row.ours_ms, 0.95), quantile(row.theirs_ms, 0.5),
                quantile(row.theirs_ms, 0.95), quantile(row.theirs_ms, 0.5) / quantile(row.ours_ms, 0.5),
                row.ours_ms.size());
  }
}

int failed(const Error& error, int code) {
  std::fprintf(stderr, "casemate bench: %s\n", error.message.c_str());
  return code;
}

}  // namespace

int bench_command(int argc, char** argv) {
  bool quick = false;
  bool as_json = false;
  std::string samples = "200";
  std::string store;
  const Command command{
      "casemate bench",
      "Times runs in hot slots against the bare interpreter, in turns, and checks every sample.",
      {},
      {{"--quick", nullptr, "fewer samples: within a minute", &quick},
       {"--samples", "N", "turns of each measure (200)", &samples},
       {"--json", nullptr, "one JSON document", &as_json},
       {"--store", "DIR", "image store to use instead of the usual ones", &store}},
      "Examples:\n  casemate bench --quick\n  casemate bench --json > bench.json\n\n"
      "A ratio is the peer's time over ours at the median: more is better. Preparation and teardown of a "
      "slot\n"
      "are not in it.\n\nExit codes: 0 measured, 1 a sample was wrong, 2 usage, 4 unavailable."};
  if (const auto done = read_command(command, argc, argv)) return *done;
  std::size_t count = 0;
  const auto [after, error] = std::from_chars(samples.data(), samples.data() + samples.size(), count);
  if (error != std::errc{} || after != samples.data() + samples.size() || count < 1 || count > 100'000)
    return failed(Error{ErrorCode::kInvalid, "--samples takes 1 to 100000, not '" + samples + "'", 0}, 2);
  if (quick) count = std::min<std::size_t>(count, 40);

  const auto parts = find_parts(kWardenName);
  if (!parts) return failed(parts.error(), 4);
  auto engine = engine::Engine::start(*parts, {});
  if (!engine) return failed(engine.error(), 4);
  const auto image = ensure_image("python", store);
  if (!image) return failed(image.error(), 4);
  pool::PoolConfig config;
  if (auto done = engine->use_slots(config, kHot); !done) return failed(done.error(), 4);
  Bench bench(*engine, {image->digest, image->rootfs()});
  std::vector<Row> rows;
  for (const Measure& measure : kMeasures) {
    auto row = bench.measure(measure, count);
    if (!row) return failed(row.error(), row.error().code == ErrorCode::kInternal ? 1 : 4);
    rows.push_back(std::move(*row));
  }
  as_json ? print_json(rows) : print_table(rows);
  return 0;
}

}  // namespace casemate
