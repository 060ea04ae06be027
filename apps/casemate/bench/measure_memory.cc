// memory_hot_slot and live_1000: what slots that wait cost, in memory and in the time of the next run.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <thread>

#include "bench/hot_slots.h"
#include "bench/place.h"
#include "bench/process_tree.h"
#include "sys/process.h"

namespace casemate::bench {
namespace {

constexpr std::size_t kHot = 2;
constexpr double kKibPerMib = 1024;
constexpr milliseconds kStartTime{60'000};
constexpr milliseconds kManyTime{900'000};
// What a bare interpreter takes at most, to know beforehand whether so many fit.
constexpr double kInterpreterMib = 12;
// Of what is measured, that MemAvailable may have moved by itself.
constexpr double kDriftMax = 0.25;

// Bare interpreters that have run a program and wait.
class Waiting {
 public:
  // Errors: internal (one printed something else), system, deadline.
  static Result<Waiting> start(const Peer& python, const Program& program, std::size_t count) {
    Waiting waiting;
    const std::string text = std::string(program.text) + "import sys\nsys.stdout.flush()\nsys.stdin.read()\n";
    // As many at once as there are processors.
    const std::size_t at_once = std::max(1U, std::thread::hardware_concurrency());
    for (std::size_t begun = 0; begun < count;) {
      const std::size_t until = std::min(count, begun + at_once);
      for (std::size_t i = begun; i < until; ++i) waiting.all_.push_back(TRY(start_one(python, text)));
      for (; begun < until; ++begun) TRY(waiting.all_[begun].expect(program.expected));
    }
    return waiting;
  }
  // Lets them go. Errors: internal (one failed).
  Result<void> end() {
    for (One& one : all_) one.in.reset();
    for (One& one : all_) {
      if (TRY(one.child.wait(Deadline::in(kStartTime))).code != 0)
        return fail(ErrorCode::kInternal, "python3: an interpreter that waited failed");
    }
    all_.clear();
    return {};
  }

 private:
  struct One {
    sys::Child child;
    sys::Fd in, out;

    Result<void> expect(const std::string& expected) const {
      std::vector<char> buffer(expected.size() + 1);
      std::string text;
      while (text.size() < expected.size()) {
        if (!TRY(sys::wait_readable(out, Deadline::in(kStartTime)))) break;
        const std::size_t got = TRY(sys::read_some(out, buffer));
        if (got == 0) break;
        text.append(buffer.data(), got);
      }
      if (text == expected) return {};
      return fail(ErrorCode::kInternal, "python3: a wrong sample: " + text);
    }
  };

  static Result<One> start_one(const Peer& python, const std::string& text) {
    sys::Pair in = TRY(sys::make_pipe());
    sys::Pair out = TRY(sys::make_pipe());
    sys::SpawnOptions spawn;
    spawn.program = python.program;
    spawn.arguments = python_arguments(text);
    spawn.environment = plain_environment();
    spawn.fds = {in.first.get(), out.second.get(), STDERR_FILENO};
    sys::Child child = TRY(sys::spawn(spawn));
    return One{std::move(child), std::move(in.second), std::move(out.first)};
  }

  std::vector<One> all_;
};

const Peer* python_of(const Place& place) {
  const auto found = std::find_if(place.peers.begin(), place.peers.end(),
                                  [](const Peer& one) { return one.name == "python3"; });
  return found == place.peers.end() ? nullptr : &*found;
}

// MemAvailable, once what has ended was given back.
Result<double> available_mib(const Place& place) {
  return TRY(available_kib(milliseconds{place.quick ? 1000 : 5000})) / kKibPerMib;
}

// MemAvailable is of the whole machine. What others did on it meanwhile shows when what has ended gave back
// something else than it took.
struct Fall {
  double mib = 0;
  double drift_mib = 0;

  bool believable() const { return mib > 0 && std::fabs(drift_mib) <= kDriftMax * mib; }
};

// By how much MemAvailable falls while so many bare interpreters wait.
Result<Fall> fall_by_interpreters(const Place& place, const Peer& python, std::size_t count) {
  const double before = TRY(available_mib(place));
  Waiting waiting = TRY(Waiting::start(python, kPrint, count));
  const double during = TRY(available_mib(place));
  TRY(waiting.end());
  const double after = TRY(available_mib(place));
  return Fall{(before + after) / 2 - during, before - after};
}

// What so many more slots cost: an engine has as many and is given these, of another class but of the same
// zygote. live_1000 charges everything.
Result<Fall> fall_by_slots(const Place& place, Boxes boxes, std::size_t count) {
  const double at_first = TRY(available_mib(place));
  double before = 0;
  double during = 0;
  {
    HotSlots slots = TRY(HotSlots::start(place, count));
    engine::Request request = request_of(kPrint, boxes);
    TRY(slots.ready(request, count, Deadline::in(kManyTime)));
    before = TRY(available_mib(place));
    request.limits.memory = Bytes{request.limits.memory.count + mib(1).count};
    TRY(slots.ready(request, count, Deadline::in(kManyTime)));
    during = TRY(available_mib(place));
  }
  return Fall{before - during, at_first - TRY(available_mib(place))};
}

// The first that can be believed, of a few.
Result<std::optional<double>> believable(const Place& place, const std::function<Result<Fall>()>& take) {
  for (int tries = place.quick ? 2 : 4; tries > 0; --tries) {
    const Fall fall = TRY(take());
    if (fall.believable()) return std::optional(fall.mib);
  }
  return std::optional<double>();
}

// Adds the milliseconds of so many runs, each when all slots are ready.
Result<void> add_runs(HotSlots& slots, std::size_t hot, std::size_t count, std::vector<double>& to) {
  const engine::Request request = request_of(kPrint);
  for (std::size_t i = 0; i <= count; ++i) {
    TRY(slots.ready(request, hot, Deadline::in(kManyTime)));
    const HotSlots::Ran ran = TRY(slots.run(request, kPrint, HotSlots::Wanted::kHot));
    if (i > 0) to.push_back(ran.ms);
  }
  return {};
}

Result<void> add_runs_of_few(const Place& place, std::size_t count, std::vector<double>& to) {
  HotSlots slots = TRY(HotSlots::start(place, kHot));
  return add_runs(slots, kHot, count, to);
}

// Starts so many slots, takes runs among them, ends them. The fall of MemAvailable while they waited, all
// that belongs to them included. Errors: exhausted (too few open files).
Result<Fall> runs_among_many(const Place& place, std::size_t count, std::size_t runs,
                             std::vector<double>& to) {
  const double before = TRY(available_mib(place));
  double during = 0;
  {
    HotSlots slots = TRY(HotSlots::start(place, count));
    TRY(slots.ready(request_of(kPrint), count, Deadline::in(kManyTime)));
    during = TRY(available_mib(place));
    TRY(add_runs(slots, count, runs, to));
  }
  const double after = TRY(available_mib(place));
  return Fall{(before + after) / 2 - during, before - after};
}

// Why so many cannot be measured here; empty when they can.
Result<std::string> too_many(const Place& place, std::size_t count) {
  if (::geteuid() != 0)
    return std::string("an ordinary user has outside ids for 63 boxes at once; root has 2047");
  const double needed = kInterpreterMib * static_cast<double>(count) + kKibPerMib;
  const double there = TRY(available_mib(place));
  if (there >= needed) return std::string();
  return "so many bare interpreters may need " + std::to_string(static_cast<int>(needed)) + " MiB, and " +
         std::to_string(static_cast<int>(there)) + " MiB are available";
}

constexpr const char* kDrifted = "others on this machine took or gave back memory meanwhile";

Result<void> measure_slots(const Place& place, const char* name, Boxes boxes, std::size_t count) {
  const Peer* python = python_of(place);
  if (python == nullptr) {
    place.report->skipped.push_back({name, "", "its only peer is python3"});
    return {};
  }
  Row row{name, "python3", {}, {}, "MiB", Better::kLess, isolation_of(boxes), python->isolation, {}, count};
  for (std::size_t round = 0; round < (place.quick ? 1 : 5); ++round) {
    const auto theirs = TRY(believable(place, [&] { return fall_by_interpreters(place, *python, count); }));
    if (!theirs) break;
    const auto ours = TRY(believable(place, [&] { return fall_by_slots(place, boxes, count); }));
    if (!ours) break;
    row.theirs.push_back(*theirs / static_cast<double>(count));
    row.ours.push_back(*ours / static_cast<double>(count));
  }
  if (row.ours.empty())
    place.report->skipped.push_back({row.measure, row.peer, kDrifted});
  else
    place.report->rows.push_back(std::move(row));
  return {};
}

}  // namespace

Result<void> measure_memory(const Place& place, const char* name, Boxes boxes) {
  std::size_t count = ::geteuid() == 0 ? 50 : 24;
  // Few, since each is reckoned with at twice what it takes, twice over, in the pool's budget of a gibibyte.
  if (boxes.rung == engine::Isolation::kGvisor) count = 7;
  if (boxes.rung == engine::Isolation::kMicrovm) count = 5;
  return measure_slots(place, name, boxes, count);
}

Result<void> measure_live_1000(const Place& place, const char* name, Boxes) {
  const std::size_t count = place.quick ? 100 : 1000;
  const std::size_t runs = place.quick ? 10 : 50;  // each time twice
  const std::string why = TRY(too_many(place, count));
  if (!why.empty()) {
    place.report->skipped.push_back({name, "", why});
    return {};
  }
  const Peer* python = python_of(place);
  std::optional<double> theirs;
  if (python != nullptr)
    theirs = TRY(believable(place, [&] { return fall_by_interpreters(place, *python, count); }));
  // Before and after, so that what changes on the machine meanwhile is in both.
  Row time{name, "none_live", {}, {}, "ms", Better::kLess, kJail, kJail, {}, count};
  TRY(add_runs_of_few(place, runs, time.theirs));
  const auto ours = runs_among_many(place, count, 2 * runs, time.ours);
  if (!ours && ours.error().code == ErrorCode::kExhausted) {
    place.report->skipped.push_back({name, "", ours.error().message});
    return {};
  }
  if (!ours) return tl::unexpected<Error>(ours.error());
  TRY(add_runs_of_few(place, runs, time.theirs));
  if (theirs && ours->believable()) {
    place.report->rows.push_back(
        {name, "python3", {ours->mib}, {*theirs}, "MiB", Better::kLess, kJail, python->isolation, {}, count});
  } else if (python != nullptr) {
    place.report->skipped.push_back({name, "python3", kDrifted});
  }
  place.report->rows.push_back(std::move(time));
  return {};
}

}  // namespace casemate::bench
