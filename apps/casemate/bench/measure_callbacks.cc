// callbacks_*: how many calls of a capability a program makes in a second, each judged and with both of its
// records, against as many requests of http.client to an nginx that answers at once.
//
// Theory of operation: both arms are one Python program, which differs in how it makes a call, run by the
// same interpreter with the same flags: ours in a box, the other bare. Many at once are tasks of ours, and
// threads of the other, which has no other way. Each checks every answer and times itself by a monotonic
// clock, without its start. Ours is answered by a connector in this process that gives back the arguments at
// once, as `return 200` is nothing but the answer: so what is compared is the way there and back, and what
// happens on it.
#include <sys/vfs.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <memory>

#include "audit/log.h"
#include "bench/hot_slots.h"
#include "bench/nginx.h"
#include "bench/place.h"
#include "bench/turns.h"
#include "bridge/bridge.h"
#include "bridge/tools_file.h"

namespace casemate::bench {
namespace {

constexpr const char* kOurCall = R"(
from casemate import tools
def loop(wrong):
    call = tools.bench.echo
    for n in range(CALLS):
        if call(n=n) != {"n": n}:
            wrong.append(n)
)";

// Many at once as a program of ours makes them, by asyncio.
constexpr const char* kOurCalls = R"(
import asyncio, time
from casemate import tools
wrong = []
async def loop():
    call = tools.bench.echo.aio
    for n in range(CALLS):
        if await call(n=n) != {"n": n}:
            wrong.append(n)
async def all():
    await asyncio.gather(*[loop() for _ in range(THREADS)])
begun = time.monotonic()
asyncio.run(all())
rate = THREADS * CALLS / (time.monotonic() - begun)
print(f"{len(wrong)} wrong of {THREADS * CALLS}, {rate:.1f}")
)";

constexpr const char* kTheirCall = R"(
import http.client
def loop(wrong):
    connection = http.client.HTTPConnection("127.0.0.1", PORT)
    for n in range(CALLS):
        connection.request("GET", "/")
        answer = connection.getresponse()
        if (answer.status, answer.read()) != (200, b"1"):
            wrong.append(n)
    connection.close()
)";

constexpr const char* kTimed = R"(
import threading, time
wrong = []
threads = [threading.Thread(target=loop, args=(wrong,)) for _ in range(THREADS)]
begun = time.monotonic()
if THREADS == 1:
    loop(wrong)
else:
    for thread in threads: thread.start()
    for thread in threads: thread.join()
rate = THREADS * CALLS / (time.monotonic() - begun)
print(f"{len(wrong)} wrong of {THREADS * CALLS}, {rate:.1f}")
)";

constexpr const char* kTools = R"(
[connectors.bench]
kind = "caller"
[[tools]]
name = "bench.echo"
description = "Gives back its arguments."
connector = "bench"
arguments = '{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}'
result = '{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}'
durable = )";

constexpr const char* kPolicy =
    "default = \"deny\"\n[permissions]\nallow = [\"bench.echo\"]\n[labels.sources]\n";

// What one measure is.
struct Kind {
  std::string_view name;
  std::size_t threads;
  bool durable;
  std::size_t calls;  // of each thread
};
constexpr Kind kKinds[] = {
    {"callbacks_1", 1, false, 3000},
    {"callbacks_1_durable", 1, true, 500},
    {"callbacks_64", 64, false, 60},
    {"callbacks_64_durable", 64, true, 60},
};
constexpr long kTmpfs = 0x01021994;  // statfs(2): TMPFS_MAGIC

struct Echo final : bridge::Connector {
  bridge::ConnectorAnswer call(audit::Recorded, const bridge::ConnectorCall& call, Deadline) override {
    return {bridge::ConnectorAnswer::Kind::kValue, std::string(call.arguments)};
  }
  bool immediate() const override { return true; }
};

std::string program_of(const Kind& kind, std::string_view body, std::uint16_t port) {
  return "THREADS, CALLS, PORT = " + std::to_string(kind.threads) + ", " + std::to_string(kind.calls) + ", " +
         std::to_string(port) + std::string(body);
}
std::string our_program(const Kind& kind) {
  return program_of(kind, kind.threads == 1 ? std::string(kOurCall) + kTimed : kOurCalls, 0);
}
std::string their_program(const Kind& kind, std::uint16_t port) {
  return program_of(kind, std::string(kTheirCall) + kTimed, port);
}

// What a program says of its rate. Errors: internal (an answer was wrong, or it said something else).
Result<double> rate_of(const Kind& kind, std::string_view said) {
  const std::string right = "0 wrong of " + std::to_string(kind.threads * kind.calls) + ", ";
  double rate = 0;
  if (said.starts_with(right)) {
    const std::string_view number = said.substr(right.size());
    (void)std::from_chars(number.data(), number.data() + number.size(), rate);
  }
  if (rate > 0) return rate;
  return fail(ErrorCode::kInternal, "a wrong sample: \"" + first_line(std::string(said)) + "\"");
}

// An engine, and the grants of its runs. The threads end before the log does.
struct Ours {
  std::unique_ptr<audit::Log> log;
  std::unique_ptr<bridge::Workers> workers;
  engine::Request request;
  engine::Engine engine;
};

Result<std::shared_ptr<bridge::Grants>> grants_of(const Kind& kind) {
  policy::Loaded policy = policy::Policy::parse(kPolicy);
  bridge::ToolsFile file =
      bridge::read_tools_file(std::string(kTools) + (kind.durable ? "true\n" : "false\n"));
  if (!policy.policy || !file.mistakes.empty())
    return fail(ErrorCode::kInternal, "the grants of the benchmark are not right");
  file.tools.front().connector = std::make_shared<Echo>();
  auto grants = std::make_shared<bridge::Grants>(std::move(*policy.policy));
  grants->tools = TRY(bridge::Toolbox::make(std::move(file.tools)));
  return grants;
}

Result<Ours> start_ours(const Place& place, const Kind& kind, const std::string& folder, Boxes boxes) {
  auto grants = TRY(grants_of(kind));
  Ours ours{TRY(audit::Log::open({folder, "bench"})), std::make_unique<bridge::Workers>(64),
            request_of({our_program(kind).c_str(), ""}, boxes), TRY(engine::Engine::start(place.parts, {}))};
  grants->log = ours.log.get();
  ours.engine.record_runs(*ours.log);
  grants->workers = ours.workers.get();
  ours.request.grants = std::move(grants);
  return ours;
}

// One program in a box of its own, whose log has two more records for each call, and those of the run.
Result<Sample> take_ours(const Place& place, const Kind& kind, Ours& ours) {
  auto products = TRY(engine::Products::open({"casemate-out/bench", false, gib(1)}));  // there will be none
  const std::uint64_t before = ours.log->counts().records;
  const outcome::Outcome result = ours.engine.run(ours.request, place.image, products, {});
  if (result.ending.status != outcome::Status::kOk)
    return fail(ErrorCode::kInternal, "casemate: a wrong sample: " + result.report);
  const std::uint64_t records = ours.log->counts().records - before;
  if (records < 2 * kind.threads * kind.calls)
    return fail(ErrorCode::kInternal, "casemate: " + std::to_string(records) + " records are too few");
  return Sample{TRY(rate_of(kind, result.stdout_text.text)), {}};
}

Result<Sample> take_theirs(const Launch& what, const Kind& kind) {
  const Launched launched = TRY(launch(what));
  if (launched.exit_code != 0)
    return fail(ErrorCode::kInternal, "http.client: a wrong sample: " + first_line(launched.err));
  return Sample{TRY(rate_of(kind, launched.out)), {}};
}

}  // namespace

Result<void> measure_callbacks(const Place& place, const char* name, Boxes boxes) {
  const std::string_view wanted = name;
  const Kind& kind = *std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [&](const Kind& one) { return one.name == wanted; });
  const std::string folder = place.room->folder() + "/" + name;
  const std::string nginx_path = Nginx::find();
  const auto skip = [&](const char* why) -> Result<void> {
    place.report->skipped.push_back({name, "nginx", why});
    return {};
  };
  if (nginx_path.empty()) return skip("not installed");
  struct statfs where {};
  if (::statfs(place.room->folder().c_str(), &where) < 0) return fail_errno("look at " + folder);
  if (kind.durable && where.f_type == kTmpfs)
    return skip(
        "the folder for temporary files is in memory, where nothing is durable: TMPDIR names another");
  const Nginx nginx = TRY(Nginx::start(nginx_path, folder + "-nginx"));
  Ours ours = TRY(start_ours(place, kind, folder, boxes));
  Launch launch;
  launch.program = "/usr/bin/python3";
  launch.arguments = python_arguments(their_program(kind, nginx.port()));
  launch.environment = plain_environment();
  Turns turns{name, "calls/s", place.samples, 7, milliseconds{10'000}, Better::kMore};
  if (place.quick) turns.least = 1, turns.each_peer = milliseconds{1000};
  const Arm arm{"casemate", isolation_of(boxes), [&] { return take_ours(place, kind, ours); }};
  const Arm peer{"nginx", "none", [&] { return take_theirs(launch, kind); }};
  for (Row& row : TRY(take_turns(turns, arm, {peer}))) place.report->rows.push_back(std::move(row));
  return {};
}

}  // namespace casemate::bench
