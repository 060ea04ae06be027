// What one run may use up: calls, distinct values of an argument, sums of an amount.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "json/decimal.h"
#include "json/value.h"
#include "policy/path.h"
#include "policy/pattern.h"
#include "policy/vocabulary.h"
#include "toml/document.h"

namespace casemate::policy {

// What a run has used of one budget. A value; the caller's.
struct Spent {
  std::uint64_t calls = 0;
  std::set<std::string, std::less<>> seen;                 // at most kDistinctMax
  std::map<std::string, json::Decimal, std::less<>> sums;  // by currency; "" when none is stated
  bool beyond = false;                                     // a sum that no Decimal holds: always beyond
};

struct Budget {
  enum class Kind : unsigned char { kCalls, kDistinct, kSum };

  Kind kind = Kind::kCalls;
  Pattern of;                    // without a condition
  std::uint64_t max = 0;         // kCalls, kDistinct
  std::optional<Path> argument;  // kDistinct, kSum
  std::optional<Path> currency;  // kSum: where the call states it; none: beside the amount
  std::map<std::string, json::Decimal, std::less<>>
      sums;  // kSum: at most so much, by currency; "" without one
  Decision beyond = Decision::kDeny;
  std::string reason;
  std::string text;  // as messages call it: "budgets.sum of payment.*"
  toml::Place place;
};

// Why the budget would not bear a call with these arguments, in one line; nothing: it bears it. What cannot
// be counted (an argument that is missing, of another type, too long, negative, in a currency without a sum)
// is beyond.
std::optional<std::string> beyond(const Budget& budget, const Spent& spent, const json::Value& arguments);

// Charges such a call, beyond or not.
void charge(const Budget& budget, const json::Value& arguments, Spent& spent);

}  // namespace casemate::policy
