// Random histories: whole ones are complete, and each kind of damage is named, with its first offender.
#include "reconcile/reconcile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace casemate::reconcile {
namespace {

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

std::uint64_t pick(Random& random, std::uint64_t below) { return random() % below; }

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

// The place of a record: the `number`-th of this kind (and word), by chance.
std::size_t a_record(Random& random, const History& history, Kind kind, std::string_view word = "") {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < history.records.size(); ++i) {
    const Record& record = history.records[i];
    if (record.kind == kind && (word.empty() || record.word == word)) places.push_back(i);
  }
  return places.at(pick(random, places.size()));
}

void remove_record(History& history, std::size_t place) {
  history.records.erase(history.records.begin() + static_cast<std::ptrdiff_t>(place));
}

// An effect whose call said "ok".
std::size_t a_made_effect(Random& random, const History& history) {
  const std::string call = history.records.at(a_record(random, history, Kind::kResult, "ok")).call;
  const auto found = std::find_if(history.effects.begin(), history.effects.end(),
                                  [&](const Effect& effect) { return effect.key == call; });
  return static_cast<std::size_t>(found - history.effects.begin());
}

// Does damage; answers the id that has to be named.
struct Damage {
  Question question;
  const char* kind;
  std::function<std::string(Random&, History&)> wreak;
};

Effect& made(Random& random, History& history) { return history.effects[a_made_effect(random, history)]; }

const std::vector<Damage>& damages() {
  static const std::vector<Damage> all = {
      {Question::kEffects, "unknown_effect",
       [](Random& random, History& h) { return made(random, h).key = "forged"; }},
      {Question::kEffects, "observed_twice",
       [](Random& random, History& h) {
         h.effects.push_back(Effect(made(random, h)));
         return h.effects.back().key;
       }},
      {Question::kEffects, "other_run",
       [](Random& random, History& h) {
         Effect& effect = made(random, h);
         effect.run = "run_of_another";
         return effect.key;
       }},
      {Question::kEffects, "other_capability",
       [](Random& random, History& h) {
         Effect& effect = made(random, h);
         effect.capability = "tool.other";
         return effect.key;
       }},
      {Question::kEffects, "before_its_verdict",
       [](Random& random, History& h) {
         Effect& effect = made(random, h);
         effect.at -= microseconds(2'100'000);
         return effect.key;
       }},
      {Question::kEffects, "not_allowed",
       [](Random& random, History& h) {
         const Record& denied = h.records[a_record(random, h, Kind::kVerdict, "deny")];
         h.effects.push_back({denied.key, denied.capability, denied.run, denied.at, "effects:9"});
         return denied.key;
       }},
      {Question::kEffects, "said_not_made",
       [](Random& random, History& h) {
         Record& result = h.records[a_record(random, h, Kind::kResult, "ok")];
         result.word = "unavailable";
         return result.call;
       }},
      {Question::kCalls, "not_observed",
       [](Random& random, History& h) {
         const std::size_t place = a_made_effect(random, h);
         std::string key = h.effects[place].key;
         h.effects.erase(h.effects.begin() + static_cast<std::ptrdiff_t>(place));
         return key;
       }},
      {Question::kEffects, "unknown_effect",
       [](Random& random, History& h) {
         const std::string call = h.records[a_record(random, h, Kind::kResult, "ok")].call;
         std::erase_if(h.records, [&](const Record& record) { return record.call == call; });
         return call;
       }},
      {Question::kVerdicts, "no_verdict",
       [](Random& random, History& h) {
         const std::string call = h.records[a_record(random, h, Kind::kResult, "ok")].call;
         std::erase_if(h.records, [&](const Record& record) {
           return record.call == call && record.kind != Kind::kResult;
         });
         return call;
       }},
      {Question::kVerdicts, "no_result",
       [](Random& random, History& h) {
         const std::size_t place = a_record(random, h, Kind::kResult);
         std::string call = h.records[place].call;
         remove_record(h, place);
         return call;
       }},
      {Question::kVerdicts, "verdict_twice",
       [](Random& random, History& h) {
         h.records.push_back(Record(h.records[a_record(random, h, Kind::kVerdict)]));
         return h.records.back().call;
       }},
      {Question::kVerdicts, "before_its_run",
       [](Random& random, History& h) {
         const Record record = h.records[a_record(random, h, Kind::kVerdict)];
         h.records.insert(h.records.begin(), record);
         const auto later = std::find_if(h.records.begin() + 1, h.records.end(), [&](const Record& other) {
           return other.call == record.call && other.kind == Kind::kVerdict;
         });
         h.records.erase(later);
         // The first run's verdicts can be first of all without being before it only if nothing is.
         return record.call;
       }},
      {Question::kVerdicts, "run_not_recorded",
       [](Random& random, History& h) {
         const std::size_t place = a_record(random, h, Kind::kAllocated);
         std::string call = h.records[place].run + "-1";
         remove_record(h, place);
         return call;
       }},
      {Question::kRuns, "not_allocated",
       [](Random& random, History& h) {
         const std::size_t place = a_record(random, h, Kind::kAllocated);
         std::string run = h.records[place].run;
         remove_record(h, place);
         return run;
       }},
      {Question::kRuns, "no_box",
       [](Random& random, History& h) {
         const std::size_t place = pick(random, h.boxes.size());
         std::string run = h.boxes[place].run;
         h.boxes.erase(h.boxes.begin() + static_cast<std::ptrdiff_t>(place));
         return run;
       }},
      {Question::kRuns, "boxes",
       [](Random& random, History& h) {
         h.boxes.push_back(Box(one_of(random, h.boxes)));
         return h.boxes.back().run;
       }},
      {Question::kRuns, "other_box",
       [](Random& random, History& h) {
         Box& box = one_of(random, h.boxes);
         box.box = "box of nobody";
         return box.run;
       }},
      {Question::kRuns, "unknown_box",
       [](Random& random, History& h) {
         h.boxes.push_back(Box(one_of(random, h.boxes)));
         h.boxes.back().run = "run_unknown";
         return h.boxes.back().box;
       }},
      {Question::kEnds, "no_end",
       [](Random& random, History& h) {
         const std::string run = h.records[a_record(random, h, Kind::kAllocated)].run;
         std::erase_if(h.records, [&](const Record& record) {
           return record.run == run && (record.kind == Kind::kExecuted || record.kind == Kind::kTornDown);
         });
         return run;
       }},
      {Question::kEnds, "no_teardown",
       [](Random& random, History& h) {
         const std::size_t place = a_record(random, h, Kind::kTornDown);
         std::string run = h.records[place].run;
         remove_record(h, place);
         return run;
       }},
      {Question::kEnds, "out_of_order",
       [](Random& random, History& h) {
         const std::size_t place = a_record(random, h, Kind::kTornDown);
         std::swap(h.records[place], h.records[place - 1]);  // executed before it
         return h.records[place].run;
       }},
      {Question::kEnds, "out_of_order",
       [](Random& random, History& h) {
         const std::size_t place = a_record(random, h, Kind::kAllocated);
         const Record record = h.records[place];
         remove_record(h, place);
         h.records.push_back(record);
         return record.run;
       }},
      {Question::kEnds, "out_of_order",
       [](Random& random, History& h) {
         Record& record = h.records[a_record(random, h, Kind::kTornDown)];
         record.volume = "vol of nobody";
         return record.run;
       }},
      {Question::kVerdicts, "out_of_order",
       [](Random& random, History& h) {
         Record& record = h.records[a_record(random, h, Kind::kResult)];
         record.capability = "tool.other";
         return record.call;
       }},
      {Question::kVerdicts, "out_of_order",
       [](Random& random, History& h) {
         Record record = h.records[a_record(random, h, Kind::kVerdict, "deny")];
         record.kind = Kind::kApproval;
         record.word = "deny";
         h.records.push_back(record);
         return record.call;
       }},
      {Question::kVerdicts, "out_of_order",
       [](Random& random, History& h) {
         const std::size_t result = a_record(random, h, Kind::kResult, "ok");
         if (h.records[result - 1].kind == Kind::kApproval) h.records[result - 2].word = "allow";
         if (h.records[result - 1].kind == Kind::kApproval) remove_record(h, result - 1);
         std::size_t place = 0;
         while (h.records[place].call != h.records[result - 1].call) ++place;
         std::swap(h.records[place], h.records[place + 1]);  // the result before its verdict
         return h.records[place].call;
       }},
      {Question::kVerdicts, "result_of_denied",
       [](Random& random, History& h) {
         Record record = h.records[a_record(random, h, Kind::kVerdict, "deny")];
         record.kind = Kind::kResult;
         record.word = "ok";
         h.records.push_back(record);
         return record.call;
       }},
      {Question::kEnds, "step_twice",
       [](Random& random, History& h) {
         h.records.push_back(Record(h.records[a_record(random, h, Kind::kTornDown)]));
         return h.records.back().run;
       }},
      {Question::kEnds, "other_outcome",
       [](Random& random, History& h) {
         OutcomeFacts& outcome = one_of(random, h.outcomes);
         outcome.status = "error";
         return outcome.run;
       }},
      {Question::kLayers, "other_verdict",
       [](Random& random, History& h) {
         Box& box = one_of(random, h.boxes);
         box.verdict = "quarantined";
         return box.volume;
       }},
      {Question::kArtifacts, "other_count",
       [](Random& random, History& h) {
         OutcomeFacts& outcome = one_of(random, h.outcomes);
         ++outcome.artifacts;
         return outcome.run;
       }},
      {Question::kArtifacts, "not_terminal",
       [](Random& random, History& h) {
         const std::string& run = one_of(random, h.outcomes).run;
         h.artifacts.push_back({run, "art_x", "it is pending"});
         return std::string("art_x");
       }},
  };
  return all;
}

TEST(Reconcile, WholeHistoriesAreComplete) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    const Report report = Maker(random).make().report();
    EXPECT_TRUE(report.ok()) << "seed " << seed << "\n" << report_text(report);
    EXPECT_GT(report.of(Question::kEffects).whole, 0U);
  }
}

TEST(Reconcile, EachKindOfDamageIsNamed) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    for (const Damage& damage : damages()) {
      Random random(seed);
      History history = Maker(random).make();
      const std::string id = damage.wreak(random, history);
      const Report report = history.report();
      EXPECT_FALSE(report.ok());
      const std::vector<Offender>& first = report.of(damage.question).first;
      const bool named = std::any_of(first.begin(), first.end(), [&](const Offender& offender) {
        return offender.kind == damage.kind && offender.id == id;
      });
      EXPECT_TRUE(named) << "seed " << seed << ": " << damage.kind << " of " << id << "\n"
                         << report_text(report);
    }
  }
}

TEST(Reconcile, NothingIsNotComplete) {
  EXPECT_FALSE(History{}.report().ok());
  Random random(1);
  History history = Maker(random).make();
  history.scope.run = "run_of_nobody";
  EXPECT_FALSE(history.report().ok());
}

TEST(Reconcile, OneRunIsLookedAtAlone) {
  Random random(3);
  History history = Maker(random).make();
  ASSERT_GT(history.boxes.size(), 1U);
  const std::string other = history.outcomes.back().run;
  std::erase_if(history.boxes, [&](const Box& box) { return box.run == other; });
  EXPECT_FALSE(history.report().ok());
  history.scope.run = history.outcomes.front().run;
  const Report report = history.report();
  EXPECT_TRUE(report.ok()) << report_text(report);
  EXPECT_EQ(report.runs, 1U);
}

TEST(Reconcile, RunsBeforeTheTimeAreLeftOutWithTheirEffects) {
  Random random(3);
  History history = Maker(random).make();
  ASSERT_GT(history.outcomes.size(), 1U);
  std::erase_if(history.boxes, [](const Box& box) { return box.run == "run_1"; });
  const auto second = std::find_if(history.records.begin(), history.records.end(),
                                   [](const Record& record) { return record.run == "run_2"; });
  history.scope.since = second->at;
  const Report report = history.report();
  EXPECT_TRUE(report.ok()) << report_text(report);
  EXPECT_EQ(report.runs, history.outcomes.size() - 1);
}

TEST(Reconcile, ACallWithoutAKeyCannotBeObserved) {
  Random random(1);
  History history = Maker(random).make();
  for (Record& record : history.records) record.key.clear();
  EXPECT_GT(history.report().of(Question::kCalls).kinds.at("not_observed"), 0U);
}

TEST(Reconcile, OnlyTheFirstOfAKindAreKept) {
  Random random(1);
  History history = Maker(random).make();
  for (int i = 0; i < 1000; ++i)
    history.effects.push_back({"k" + std::to_string(i), "c", "r", Time{}, "f:1"});
  const Report report = history.report();
  EXPECT_EQ(report.of(Question::kEffects).kinds.at("unknown_effect"), 1000U);
  EXPECT_EQ(report.of(Question::kEffects).first.size(), kOffendersShown);
}

TEST(Percent, IsNeverAllForLess) {
  EXPECT_EQ(percent(0, 0), "none");
  EXPECT_EQ(percent(28, 28), "100 %");
  EXPECT_EQ(percent(27, 28), "96.42 %");
  EXPECT_EQ(percent(999'999, 1'000'000), "99.99 %");
  EXPECT_EQ(percent(1, 2000), "0.05 %");
}

}  // namespace
}  // namespace casemate::reconcile
