// One run's calls in every order that threads of a guest can bring about, with a second opinion beside the
// policy.
//
// The guest has several threads. Each asks for a call and waits for its answer; calls are judged, asked
// about, answered with results or errors, and lost, in any order. What the guest knows is what was delivered
// to it; that is noted here independently of RunState, from the tables of this world and not from the
// policy's file.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policy/judge.h"
#include "seeds.h"

namespace casemate::sim {

class PolicyWorld {
 public:
  explicit PolicyWorld(Random& random);

  // One thing happens. Fails the test if a verdict does not follow from what the guest knew and used.
  void step();

  std::size_t denied() const { return denied_; }
  std::size_t admitted() const { return admitted_; }
  std::size_t asked() const { return asked_; }
  std::size_t held_back() const { return held_back_; }

 private:
  enum class State { kAsked, kInFlight };
  struct Pending {
    State state = State::kInFlight;
    std::string capability;
    std::string to;
    int cents = 0;
  };

  void begin_call();
  void answer_ask(std::size_t index);
  void end_call(std::size_t index);
  void check_sink();
  // Judges a call and, when it is admitted, charges it: one step, as the bridge does it.
  policy::Decision judge_and_charge(const Pending& call, bool approved);
  policy::Decision expected(const Pending& call) const;
  void note_admitted(const Pending& call);

  Random& random_;
  policy::Policy policy_;
  policy::RunState run_;
  std::vector<Pending> pending_;

  std::set<std::string> knows_;  // labels of everything that the guest was given
  std::size_t sends_ = 0;
  std::set<std::string> recipients_;
  int cents_ = 0;

  std::size_t denied_ = 0;
  std::size_t admitted_ = 0;
  std::size_t asked_ = 0;
  std::size_t held_back_ = 0;  // sends that were not allowed because of a label
};

}  // namespace casemate::sim
