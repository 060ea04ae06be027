// Schemas that apply to the same value: all of them, some of them, or one depending on another.
//
// That no alternative fits is no help by itself. Where only one of them is for such a value at all, what is
// wrong is told as though it stood there alone.
#include <algorithm>
#include <utility>

#include "schema/checker.h"
#include "schema/explain.h"

namespace casemate::schema {
namespace {

constexpr std::size_t kBranchesTriedMax = 16;
constexpr std::size_t kFaultsOfBranch = 4;
constexpr std::size_t kBranchesShownMax = 5;

// Whether a fault says that the schema is for other values: by their type, or by a property that tells which.
bool is_for_others(const Fault& fault, const std::string& here) {
  const bool chooses = fault.keyword == "const" || fault.keyword == "enum";
  if (fault.place == here) return chooses || fault.keyword == "type" || fault.keyword == "false";
  return chooses && fault.place.starts_with(here + "/") &&
         fault.place.find('/', here.size() + 1) == std::string::npos;
}

}  // namespace

bool Checker::logic(const Logic& logic, const Value& value) {
  bool held = true;
  const auto also = [&](bool next) {
    held = next && held;
    return held || goes_on();
  };
  if (logic.ref && !also(accepts(*logic.ref, value))) return false;
  for (const NodeId id : logic.all_of) {
    if (!also(accepts(id, value))) return false;
  }
  if (!logic.any_of.empty() && !also(any_of(logic.any_of, value))) return false;
  if (!logic.one_of.empty() && !also(one_of(logic.one_of, value))) return false;
  if (logic.negated && accepts_quietly(*logic.negated, value) && !also(fault("not", [&] {
        return "should not be " + expectation(program_, *logic.negated) + ", is " + shown(value);
      }))) {
    return false;
  }
  // Without `if` there is nothing to decide on (core 10.2.2.2).
  if (logic.condition && (logic.then || logic.otherwise)) {
    const bool holds = accepts_quietly(*logic.condition, value);
    const std::optional<NodeId>& next = holds ? logic.then : logic.otherwise;
    if (next && !also(accepts(*next, value))) return false;
  }
  return held && !gave_up_;
}

bool Checker::any_of(const std::vector<NodeId>& branches, const Value& value) {
  for (const NodeId id : branches) {
    if (accepts_quietly(id, value)) return true;
    if (gave_up_) return false;
  }
  return no_branch("anyOf", branches, value);
}

bool Checker::one_of(const std::vector<NodeId>& branches, const Value& value) {
  std::size_t first = 0;
  bool found = false;
  for (std::size_t i = 0; i < branches.size(); ++i) {
    const bool fits = accepts_quietly(branches[i], value);
    if (gave_up_) return false;
    if (fits && found) {
      return fault("oneOf", [&] {
        return "should fit exactly one of " + std::to_string(branches.size()) +
               " alternatives, fits those at " + std::to_string(first) + " and " + std::to_string(i) + ": " +
               expectation(program_, branches[first]) + ", " + expectation(program_, branches[i]);
      });
    }
    if (fits) {
      found = true;
      first = i;
    }
  }
  return found || no_branch("oneOf", branches, value);
}

bool Checker::no_branch(std::string_view keyword, const std::vector<NodeId>& branches, const Value& value) {
  if (!goes_on()) return fault(keyword, [] { return std::string(); });
  const std::string here = place_.pointer();
  std::vector<Fault> meant;
  std::size_t candidates = 0;
  for (const NodeId id : branches) {
    if (branches.size() > kBranchesTriedMax) break;
    List list{{}, kFaultsOfBranch};
    {
      const Listening listening(*this, &list);
      (void)accepts(id, value);
    }
    if (gave_up_) return false;
    if (std::any_of(list.faults.begin(), list.faults.end(),
                    [&](const Fault& one) { return is_for_others(one, here); })) {
      continue;
    }
    ++candidates;
    meant = std::move(list.faults);
  }
  if (candidates == 1 && !meant.empty()) {
    for (Fault& one : meant) {
      if (list_->faults.size() >= list_->most) {
        list_->more = true;
        break;
      }
      list_->faults.push_back(std::move(one));
    }
    return false;
  }
  return fault(keyword, [&] {
    std::vector<std::string> parts;
    for (const NodeId id : branches) {
      parts.push_back(expectation(program_, id));
      if (parts.size() > kBranchesShownMax) break;
    }
    return "should be " + listed(parts, " or ", kBranchesShownMax) + ", is " + shown(value);
  });
}

}  // namespace casemate::schema
