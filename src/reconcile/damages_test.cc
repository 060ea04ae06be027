// What can be wrong with a history: of each kind one, done at random.
#include <iterator>
#include <utility>

#include "reconcile/test_history.h"

namespace casemate::reconcile {
namespace {

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

Effect& made(Random& random, History& history) { return history.effects[a_made_effect(random, history)]; }

std::vector<Damage> of_effects() {
  return {
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
  };
}

std::vector<Damage> of_verdicts() {
  return {
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
  };
}

std::vector<Damage> of_runs() {
  return {
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
  };
}

std::vector<Damage> of_ends() {
  return {
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
  };
}

std::vector<Damage> of_the_order_of_verdicts() {
  return {
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
  };
}

std::vector<Damage> of_layers_and_artifacts() {
  return {
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
}

}  // namespace

const std::vector<Damage>& damages() {
  static const std::vector<Damage> all = [] {
    std::vector<Damage> found;
    for (std::vector<Damage>& some :
         std::vector<std::vector<Damage>>{of_effects(), of_verdicts(), of_runs(), of_ends(),
                                          of_the_order_of_verdicts(), of_layers_and_artifacts()})
      std::move(some.begin(), some.end(), std::back_inserter(found));
    return found;
  }();
  return all;
}

}  // namespace casemate::reconcile
