// A path into the arguments of a call: `to`, `to.address`, `items[*].price`, `'odd key'.x`.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "policy/tokens.h"

namespace casemate::policy {

struct Step {
  std::string member;  // unless `each`
  bool each = false;   // `[*]`: every item of a list
};

// Where one way along a path ends.
struct Reached {
  enum class End : unsigned char {
    kThere,    // `value` is not null
    kMissing,  // an object on the way has no such member
    kEmpty,    // a list on the way has no items
    kOther,    // on the way is something of another kind
  };
  End end = End::kMissing;
  const json::Value* value = nullptr;
  const json::Value* holder = nullptr;  // the object that `value` is a member of; nullptr: it is an item
  std::string why;                      // unless kThere: "`to.address` is missing"
};

// Immutable; copies.
class Path {
 public:
  // From the next token on. Errors: invalid, exhausted (more than kArgumentPathMax steps).
  static Result<Path> parse(Tokens& tokens);

  // All ends, in the order of the document: one, unless the path has `[*]`. Takes time linear in the
  // arguments. They must outlive what is reached.
  std::vector<Reached> reach(const json::Value& arguments) const;

  // Does it have `[*]`?
  bool many() const;
  bool ends_in_item() const { return steps_.back().each; }
  // As it was written, without blanks.
  const std::string& text() const { return text_; }

 private:
  void walk(const json::Value& value, const json::Value* holder, std::size_t step,
            std::vector<Reached>& out) const;

  std::vector<Step> steps_;  // at least one; the first is a member
  std::string text_;
};

}  // namespace casemate::policy
