#include "bench/hot_slots.h"

#include <algorithm>

#include "base/limits.h"

namespace casemate::bench {

const Program kPrint = {"import builtins\nprint(1, hasattr(builtins, 'left'))\nbuiltins.left = 1\n",
                        "1 False\n"};

const Program kPandas = {
    "import builtins\n"
    "import pandas\n"
    "frame = pandas.DataFrame({'region': ['n', 's', 'n', 'w'] * 250, 'amount': range(1000)})\n"
    "print(frame.groupby('region').amount.sum().to_dict(), hasattr(builtins, 'left'))\n"
    "builtins.left = 1\n",
    "{'n': 249500, 's': 124750, 'w': 125250} False\n"};

const char* isolation_of(Boxes boxes) {
  if (boxes.sandbox == engine::Sandbox::kShared) return kGvisorShared;
  switch (boxes.rung) {
    case engine::Isolation::kGvisor: return kGvisor;
    case engine::Isolation::kMicrovm: return kMicrovm;
    case engine::Isolation::kAuto:
    case engine::Isolation::kJail: break;
  }
  return kJail;
}

const std::string& missing_rung(const Place& place, engine::Isolation rung) {
  static const std::string kNothing;
  if (rung == engine::Isolation::kGvisor) return place.parts.rungs.no_gvisor;
  return rung == engine::Isolation::kMicrovm ? place.parts.rungs.no_microvm : kNothing;
}

engine::Request request_of(const Program& program, Boxes boxes) {
  engine::Request request;
  request.isolation = boxes.rung;
  request.sandbox = boxes.sandbox;
  request.program = program.text;
  request.trust = engine::Trust::kTrusted;
  return request;
}

Result<HotSlots> HotSlots::start(const Place& place, std::size_t hot) {
  auto engine = TRY(engine::Engine::start(place.parts, {}));
  pool::PoolConfig config;
  // Two classes at most, each with a slot that is being made or taken apart.
  config.slots_max = std::min(2 * hot + config.slots_max, kPoolSlotsMax);
  config.memory_budget = Bytes{config.memory_budget.count + 2 * hot * pool::SlotClass{}.slot_cost.count};
  // None of so many is to be replaced while they are measured.
  config.slot_age_max = milliseconds{3'600'000};
  TRY(engine.use_slots(config, hot));
  return HotSlots(std::move(engine), place.image);
}

Result<void> HotSlots::ready(const engine::Request& request, std::size_t hot, Deadline deadline) {
  return engine_.prepare(request, image_, hot, deadline);
}

Result<void> HotSlots::any_ready(const engine::Request& request, std::size_t count, Deadline deadline) {
  return engine_.await_slots(request, image_, count, deadline);
}

Result<HotSlots::Ran> HotSlots::run(const engine::Request& request, const Program& program, Wanted wanted) {
  auto products = TRY(engine::Products::open({"casemate-out/bench", false, gib(1)}));  // there will be none
  Ran ran;
  const Instant begun = now();
  outcome::Outcome result = engine_.run(request, image_, products, {});
  ran.ms = std::chrono::duration<double, std::milli>(now() - begun).count();
  if (result.stdout_text.text != program.expected || result.ending.status != outcome::Status::kOk)
    return fail(ErrorCode::kInternal, "casemate: a wrong sample: " + result.report);
  if (result.timing.start == outcome::Start::kCold || !result.timing.start)
    return fail(ErrorCode::kInternal, "casemate: a run had no slot: " + engine_.cold_reason());
  if (wanted == Wanted::kHot && result.timing.start != outcome::Start::kHot)
    return fail(ErrorCode::kInternal, "casemate: a run had a slot that was not hot");
  engine_.settle(result, Deadline::in(kPrepareTime));
  if (result.teardown != outcome::TeardownVerdict::kDestroyed)
    return fail(ErrorCode::kInternal, "casemate: a slot was not shown to be destroyed");
  ran.faults = static_cast<double>(result.usage.minor_faults);
  return ran;
}

}  // namespace casemate::bench
