// Compiled by the tests proof_of_record_*: what a connector is given can be handed on, and only a log can
// make it.
#include <utility>

#include "audit/log.h"

using casemate::audit::Asked;
using casemate::audit::Position;
using casemate::audit::Recorded;

static std::uint64_t call_connector(Recorded proof) { return proof.sequence(); }

// As it is meant.
std::uint64_t call(casemate::audit::Log& log, const casemate::audit::Verdict& verdict,
                   casemate::Deadline deadline);
std::uint64_t call(casemate::audit::Log& log, const casemate::audit::Verdict& verdict,
                   casemate::Deadline deadline) {
  auto judged = log.record(verdict, casemate::audit::Durability::kDurable, deadline);
  if (!judged || !std::holds_alternative<Recorded>(*judged)) return 0;
  return call_connector(std::get<Recorded>(std::move(*judged)));
}

#ifdef FORGE
std::uint64_t forge() { return call_connector(Recorded("run", "call", "capability", Position{1, "digest"})); }
#endif
#ifdef DEFAULT
std::uint64_t make_empty() { return call_connector(Recorded{}); }
#endif
#ifdef TWICE
std::uint64_t use_twice(const Recorded& proof) { return call_connector(proof); }
#endif
#ifdef CONVERT
std::uint64_t take_question(Asked asked) { return call_connector(std::move(asked)); }
#endif
#ifdef DERIVE
struct Forged : Recorded {};
#endif
