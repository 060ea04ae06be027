#include "schema/canonical.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "json/reader.h"
#include "schema/number.h"

namespace casemate::schema {
namespace {

using json::Member;
using json::Value;
using Kind = Value::Kind;

constexpr std::uint64_t kBytesPerStep = 64;

tl::unexpected<Error> too_deep() {
  return fail(ErrorCode::kExhausted,
              "more than " + std::to_string(json::kReaderDepthMax) + " levels of arrays and objects");
}

// Each value's text tells its own end, so that no two lists of values have the same text.
class Canonical {
 public:
  Canonical(std::uint64_t& steps, std::uint64_t steps_max) : steps_(steps), steps_max_(steps_max) {}

  Result<void> write(const Value& value, std::size_t depth) {
    if (depth > json::kReaderDepthMax) return too_deep();
    steps_ += 1 + (out_.size() - charged_) / kBytesPerStep;
    charged_ = out_.size();
    if (steps_ > steps_max_) return fail(ErrorCode::kExhausted, "too many steps");
    switch (value.kind()) {
      case Kind::kNull: out_ += 'n'; return {};
      case Kind::kBoolean: out_ += *value.as_boolean() ? 't' : 'f'; return {};
      case Kind::kNumber: out_ += TRY(Decimal::parse(*value.as_number_text())).canonical() + ';'; return {};
      case Kind::kString: text(*value.as_string()); return {};
      case Kind::kArray:
        out_ += '[';
        for (const Value& item : value.items()) TRY(write(item, depth + 1));
        out_ += ']';
        return {};
      case Kind::kObject: return object(value, depth);
    }
    return {};
  }

  std::string take() { return std::move(out_); }

 private:
  void text(std::string_view bytes) {
    out_ += '"';
    out_ += std::to_string(bytes.size());
    out_ += ':';
    out_ += bytes;
  }

  Result<void> object(const Value& value, std::size_t depth) {
    std::vector<const Member*> sorted;
    sorted.reserve(value.members().size());
    for (const Member& member : value.members()) sorted.push_back(&member);
    std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->key < b->key; });
    out_ += '{';
    for (const Member* member : sorted) {
      text(member->key);
      TRY(write(member->value, depth + 1));
    }
    out_ += '}';
    return {};
  }

  std::uint64_t& steps_;
  std::uint64_t steps_max_;
  std::size_t charged_ = 0;
  std::string out_;
};

Result<Value> copy_at(const Value& value, std::size_t& values_left, std::size_t depth) {
  if (depth > json::kReaderDepthMax) return too_deep();
  const std::size_t values = 1 + value.members().size();
  if (values > values_left) return fail(ErrorCode::kExhausted, "too many values");
  values_left -= values;
  switch (value.kind()) {
    case Kind::kNull: return Value();
    case Kind::kBoolean: return Value::boolean(*value.as_boolean());
    case Kind::kNumber: return Value::number(std::string(*value.as_number_text()));
    case Kind::kString: return Value::string(std::string(*value.as_string()));
    case Kind::kArray: {
      std::vector<Value> items;
      items.reserve(value.items().size());
      for (const Value& item : value.items()) items.push_back(TRY(copy_at(item, values_left, depth + 1)));
      return Value::array(std::move(items));
    }
    case Kind::kObject: {
      std::vector<Member> members;
      members.reserve(value.members().size());
      for (const Member& member : value.members()) {
        members.push_back({member.key, TRY(copy_at(member.value, values_left, depth + 1))});
      }
      return Value::object(std::move(members));
    }
  }
  return Value();
}

}  // namespace

Result<std::string> canonical(const Value& value, std::uint64_t& steps, std::uint64_t steps_max) {
  Canonical writer(steps, steps_max);
  TRY(writer.write(value, 0));
  std::string text = writer.take();
  return text;
}

Result<Value> copy(const Value& value, std::size_t values_max) { return copy_at(value, values_max, 0); }

}  // namespace casemate::schema
