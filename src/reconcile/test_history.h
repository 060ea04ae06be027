// For tests: random histories of runs, whole ones, as a log and as others saw them; and ways to damage them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "reconcile/reconcile.h"

namespace casemate::reconcile {

using Random = std::mt19937_64;
using Kind = Record::Kind;

struct Artifact {
  std::string run, id, fault;
};

// What a log says and what others saw, as it is told to a Reconciler.
struct History {
  std::vector<Record> records;
  std::vector<Effect> effects;
  std::vector<Box> boxes;
  std::vector<OutcomeFacts> outcomes;
  std::vector<Artifact> artifacts;
  Scope scope;

  Report report() const {
    auto to = Reconciler::make(scope);
    EXPECT_TRUE(to);
    for (const Record& record : records) EXPECT_TRUE(to->add(record));
    for (const Effect& effect : effects) EXPECT_TRUE(to->add(effect));
    for (const Box& box : boxes) EXPECT_TRUE(to->add(box));
    for (const OutcomeFacts& outcome : outcomes) EXPECT_TRUE(to->add(outcome));
    for (const Artifact& one : artifacts) EXPECT_TRUE(to->add_artifact(one.run, one.id, one.fault));
    auto report = to->finish();
    EXPECT_TRUE(report) << report.error().message;
    return *report;
  }
};

inline std::uint64_t pick(Random& random, std::uint64_t below) { return random() % below; }

template <typename T>
T& one_of(Random& random, std::vector<T>& all) {
  return all.at(pick(random, all.size()));
}

class Maker {
 public:
  explicit Maker(Random& random) : random_(random) {}

  History make() {
    const std::uint64_t runs = 1 + pick(random_, 6);
    for (std::uint64_t i = 1; i <= runs; ++i) add_run("run_" + std::to_string(i));
    // Observers write in whatever order they like.
    std::shuffle(made_.effects.begin(), made_.effects.end(), random_);
    std::shuffle(made_.boxes.begin(), made_.boxes.end(), random_);
    made_.scope.boxes_of_these = true;
    return std::move(made_);
  }

 private:
  Record& add(Kind kind, const std::string& run) {
    Record record;
    record.kind = kind;
    record.run = run;
    record.at = Time(microseconds(now_ += 1'000 + static_cast<std::int64_t>(pick(random_, 5'000))));
    made_.records.push_back(record);
    return made_.records.back();
  }
  Record& add_step(Kind kind, const std::string& run) {
    Record& record = add(kind, run);
    record.box = "box of " + run;
    record.volume = "vol of " + run;
    return record;
  }
  void add_run(const std::string& run) {
    add_step(Kind::kAllocated, run);
    const std::uint64_t calls = 2 + pick(random_, 6);
    for (std::uint64_t i = 1; i <= calls; ++i) add_call(run, run + "-" + std::to_string(i), i);
    const std::uint64_t artifacts = pick(random_, 3);
    Record& executed = add_step(Kind::kExecuted, run);
    executed.word = "ok";
    executed.artifacts = artifacts;
    add_step(Kind::kTornDown, run).word = "destroyed";
    made_.boxes.push_back({run, "box of " + run, "vol of " + run, "destroyed", true, {}, "boxes:1"});
    made_.outcomes.push_back({run, "box of " + run, "ok", artifacts, "outcomes:1"});
    for (std::uint64_t i = 0; i < artifacts; ++i)
      made_.artifacts.push_back({run, "art " + std::to_string(i), ""});
  }
  // The first call of each run is allowed and made, the second is denied; others are as it comes.
  void add_call(const std::string& run, const std::string& call, std::uint64_t number) {
    const std::uint64_t way = number == 1 ? 0 : number == 2 ? 1 : pick(random_, 5);
    const std::string capability = "tool." + std::to_string(pick(random_, 3));
    const auto of_call = [&](Kind kind, const char* word) {
      Record& record = add(kind, run);
      record.call = call;
      record.capability = capability;
      record.word = word;
      if (kind == Kind::kVerdict) record.key = call;
    };
    of_call(Kind::kVerdict, way == 1 ? "deny" : way == 2 ? "ask" : "allow");
    if (way == 2) of_call(Kind::kApproval, pick(random_, 2) == 0 ? "allow" : "deny");
    if (made_.records.back().word != "allow") return;
    const char* const ends[] = {"ok", "error", "unavailable", "unknown"};
    const std::string status = ends[number == 1 ? 0 : pick(random_, 4)];
    // The observer's clock may be behind by what is tolerated.
    const auto behind = microseconds(pick(random_, 1'000'000));
    if (status != "unavailable" && (status != "unknown" || pick(random_, 2) == 0))
      made_.effects.push_back({call, capability, run, made_.records.back().at - behind, "effects:1"});
    of_call(Kind::kResult, status.c_str());
  }

  Random& random_;
  History made_;
  std::int64_t now_ = 1'785'000'000'000'000;
};

// Does damage; answers the id that has to be named.
struct Damage {
  Question question;
  const char* kind;
  std::function<std::string(Random&, History&)> wreak;
};

// Every kind of damage. damages_test.cc
const std::vector<Damage>& damages();

}  // namespace casemate::reconcile
