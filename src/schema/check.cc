#include "schema/check.h"

#include <algorithm>
#include <utility>

#include "json/reader.h"
#include "json/utf8.h"
#include "schema/canonical.h"
#include "schema/checker.h"
#include "schema/explain.h"

namespace casemate::schema {
namespace {

using json::Value;
using Kind = Value::Kind;

// Each takes some 500 bytes of the stack.
constexpr std::size_t kDepthMax = 600;
constexpr std::uint64_t kBytesPerStep = 64;
constexpr std::uint64_t kInstructionsPerStep = 32;  // of a pattern, at one byte
constexpr std::size_t kNumberShownMax = 40;

bool is_plain_integer(std::string_view text) { return text.find_first_of(".eE") == std::string_view::npos; }

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// A keyword's number as its author wrote it.
std::string written(const Node& node, std::string_view keyword) {
  return shown_literal(*node.source->find(keyword));
}

}  // namespace

Result<Report> check(const Schema& schema, const Value& value, const CheckLimits& limits) {
  return Checker(schema.program(), limits).run(value);
}

Result<Report> Checker::run(const Value& value) {
  List list{{}, std::max<std::size_t>(limits_.faults_max, 1)};
  {
    const Listening listening(*this, &list);
    (void)accepts(0, value);
  }
  if (gave_up_) return tl::unexpected(*gave_up_);
  return Report{std::move(list.faults), list.more};
}

bool Checker::charge(std::uint64_t steps) {
  steps_ += steps;
  if (gave_up_) return false;
  if (steps_ <= limits_.steps_max) return true;
  return give_up({ErrorCode::kExhausted, "the schema and the value are too large together: no answer after " +
                                             std::to_string(limits_.steps_max) + " steps"});
}

bool Checker::give_up(Error error) {
  if (!gave_up_) gave_up_ = std::move(error);
  return false;
}

void Checker::add(std::string_view keyword, const std::string& message) {
  list_->faults.push_back(
      {place_.pointer(), std::string(keyword), json::one_line(message, kFaultMessageMax)});
}

bool Checker::accepts(NodeId id, const Value& value) {
  if (!charge(1)) return false;
  if (depth_ >= kDepthMax || place_.depth() > json::kReaderDepthMax) {
    return give_up({ErrorCode::kExhausted, "too many levels of schemas or values in each other"});
  }
  ++depth_;
  const bool accepted = node(program_.nodes[id], value);
  --depth_;
  return accepted && !gave_up_;
}

bool Checker::accepts_quietly(NodeId id, const Value& value) {
  const Listening quiet(*this, nullptr);
  return accepts(id, value);
}

bool Checker::node(const Node& node, const Value& value) {
  if (node.boolean) {
    return *node.boolean ||
           fault("false", [] { return std::string("should not be there: no value is allowed"); });
  }
  // What else is wrong with a value of another type is no help.
  if (node.types != 0 && !type(node, value)) return false;
  if (!equal(node, value)) return false;
  bool held = !node.decimal || decimal(value);
  const auto also = [&](bool next) {
    held = next && held;
    return held || goes_on();
  };
  if (!also(true)) return false;
  switch (value.kind()) {
    case Kind::kNumber:
      if (node.number && !also(number(node, value))) return false;
      break;
    case Kind::kString:
      if (node.string && !also(string(node, value))) return false;
      break;
    case Kind::kArray:
      if (node.array && !also(array(*node.array, value))) return false;
      break;
    case Kind::kObject:
      if (node.object && !also(object(*node.object, value))) return false;
      break;
    default: break;
  }
  return (!node.logic || logic(*node.logic, value)) && held;
}

bool Checker::type(const Node& node, const Value& value) {
  const auto has = [&](unsigned type) { return (node.types & type) != 0; };
  switch (value.kind()) {
    case Kind::kNull:
      if (has(kTypeNull)) return true;
      break;
    case Kind::kBoolean:
      if (has(kTypeBoolean)) return true;
      break;
    case Kind::kString:
      if (has(kTypeString)) return true;
      break;
    case Kind::kArray:
      if (has(kTypeArray)) return true;
      break;
    case Kind::kObject:
      if (has(kTypeObject)) return true;
      break;
    case Kind::kNumber: {
      if (has(kTypeNumber)) return true;
      if (!has(kTypeInteger)) break;
      const std::string_view text = *value.as_number_text();
      if (is_plain_integer(text)) return true;
      const Result<Decimal> number = Decimal::parse(text);
      if (!number) return give_up(number.error());
      if (number->is_integer()) return true;
      break;
    }
  }
  return fault("type", [&] {
    std::string message = "should be " + words_for_types(node.types) + ", is " + shown(value);
    const auto text = value.as_string();
    if (text && has(kTypeNumber | kTypeInteger) && text->size() <= kNumberShownMax && is_number_text(*text)) {
      message += ": write it without quotes";
    }
    return message;
  });
}

bool Checker::equal(const Node& node, const Value& value) {
  if (!node.enumeration && !node.constant) return true;
  const Result<std::string> text = canonical(value, steps_, limits_.steps_max);
  if (!text) return charge(0) && give_up(text.error());
  const auto message = [&](const std::string& choices) {
    return "should be " + choices + ", is " + shown(value);
  };
  if (node.constant && *node.constant != *text) {
    return fault("const", [&] { return message(shown_literal(*node.source->find("const"))); });
  }
  if (node.enumeration && !std::binary_search(node.enumeration->begin(), node.enumeration->end(), *text)) {
    return fault("enum", [&] { return message(words_for_choices(*node.source->find("enum"))); });
  }
  return true;
}

bool Checker::number(const Node& node, const Value& value) {
  const Result<Decimal> number = Decimal::parse(*value.as_number_text());
  if (!number) return give_up(number.error());
  charge(1 + number->digits() / kBytesPerStep);
  bool held = true;
  const auto demand = [&](bool is_so, std::string_view keyword, const char* words) {
    if (is_so) return;
    held = fault(keyword, [&] {
      return std::string("should be ") + words + " " + written(node, keyword) + ", is " +
             shown_literal(value);
    });
  };
  const NumberRules& rules = *node.number;
  if (rules.minimum) demand(*number >= *rules.minimum, "minimum", "at least");
  if (rules.maximum) demand(*number <= *rules.maximum, "maximum", "at most");
  if (rules.exclusive_minimum) demand(*number > *rules.exclusive_minimum, "exclusiveMinimum", "above");
  if (rules.exclusive_maximum) demand(*number < *rules.exclusive_maximum, "exclusiveMaximum", "below");
  if (rules.multiple_of) demand(number->is_multiple_of(*rules.multiple_of), "multipleOf", "a multiple of");
  return held;
}

bool Checker::string(const Node& node, const Value& value) {
  const std::string_view text = *value.as_string();
  const StringRules& rules = *node.string;
  bool held = true;
  if (rules.min_length || rules.max_length) {
    if (!charge(1 + text.size() / kBytesPerStep)) return false;
    const std::size_t length = code_points(text);
    const auto demand = [&](bool is_so, std::string_view keyword, const char* words) {
      if (is_so) return;
      held = fault(keyword, [&] {
        return std::string("should have ") + words + " " + written(node, keyword) + " characters, has " +
               std::to_string(length);
      });
    };
    if (rules.min_length) demand(length >= *rules.min_length, "minLength", "at least");
    if (rules.max_length) demand(length <= *rules.max_length, "maxLength", "at most");
    // What is too long is not searched: that is what the bound is for.
    if (rules.max_length && length > *rules.max_length) return false;
  }
  if (!rules.pattern || (!held && !goes_on()) || is_found(*rules.pattern, text)) return held;
  return fault("pattern", [&] {
    return "should match the pattern " + quoted(*node.source->find("pattern")->as_string()) + ", is " +
           quoted(text);
  });
}

bool Checker::decimal(const Value& value) {
  const auto text = value.kind() == Kind::kNumber ? value.as_number_text() : value.as_string();
  if (!text) return true;  // a format asks nothing of the other types
  if (!charge(1 + text->size() / kBytesPerStep)) return false;
  if (Decimal::parse(*text)) return true;
  return fault("format",
               [&] { return "should spell an exact decimal, such as \"12.50\", is " + shown(value); });
}

bool Checker::is_found(std::size_t pattern, std::string_view text) {
  const Pattern& compiled = program_.patterns[pattern];
  return charge(1 + text.size() * compiled.size() / kInstructionsPerStep) && compiled.is_found_in(text);
}

}  // namespace casemate::schema
