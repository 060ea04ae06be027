// The ways out of a run that are no calls: its output, its result, its products.
//
// Each is judged at the moment that something is about to leave, with the labels that the run has by then:
// what is read from a box before a label joined was written before the guest had one byte of what brought it.
// Once something of a sink was withheld, so is the rest. What nobody is there to be asked about is withheld
// too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bridge/bridge.h"
#include "outcome/outcome.h"
#include "policy/policy.h"
#include "policy/vocabulary.h"

namespace casemate::engine {

// One run's. One thread.
class Sinks {
 public:
  // `grants`: everything may leave without, as there is no policy.
  Sinks(std::shared_ptr<const bridge::Grants> grants, const std::string& run);

  // Whether so much may leave now; the first that may not is recorded.
  bool lets(policy::PseudoSink sink, const policy::Labels& labels, std::uint64_t bytes);

  // What was withheld, for the outcome.
  std::vector<outcome::Withheld> withheld() const;

 private:
  using Withheld = std::array<outcome::Withheld, policy::kPseudoSinks.size()>;

  std::shared_ptr<const bridge::Grants> grants_;  // nullptr: no rule speaks of sinks
  const std::string& run_;
  Withheld withheld_{};  // those with a name are closed
};

}  // namespace casemate::engine
