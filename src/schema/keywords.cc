// What each keyword means to the compiler. The table at the end is the subset.
#include <algorithm>
#include <array>
#include <limits>

#include "base/near_names.h"
#include "schema/canonical.h"
#include "schema/compiler.h"
#include "schema/explain.h"

namespace casemate::schema {
namespace {

using json::Value;
using Kind = Value::Kind;

template <typename T>
T& rules(std::unique_ptr<T>& group) {
  if (!group) group = std::make_unique<T>();
  return *group;
}

struct NamedType {
  std::string_view name;
  Type type;
};
constexpr std::array kTypes = {
    NamedType{"null", kTypeNull},     NamedType{"boolean", kTypeBoolean}, NamedType{"integer", kTypeInteger},
    NamedType{"number", kTypeNumber}, NamedType{"string", kTypeString},   NamedType{"array", kTypeArray},
    NamedType{"object", kTypeObject},
};

// Keywords that others know and this subset does not, and what to do.
struct Unsupported {
  std::string_view name;
  std::string_view advice;
};
constexpr std::array kUnsupported = {
    Unsupported{"unevaluatedProperties",
                "use \"additionalProperties\" in a schema that names all properties"},
    Unsupported{"unevaluatedItems", "use \"items\" after \"prefixItems\""},
    Unsupported{"$dynamicRef", "use \"$ref\""},
    Unsupported{"$dynamicAnchor", "use \"$anchor\""},
    Unsupported{"$recursiveRef", "use \"$ref\""},
    Unsupported{"$recursiveAnchor", "use \"$anchor\""},
    Unsupported{"$vocabulary", "it is for meta-schemas"},
    Unsupported{"contentSchema", "what a string encodes is not looked at"},
    Unsupported{"additionalItems", "use \"prefixItems\" and \"items\""},
    Unsupported{"dependencies", "use \"dependentRequired\" or \"dependentSchemas\""},
    Unsupported{"extends", "use \"allOf\""},
    Unsupported{"divisibleBy", "use \"multipleOf\""},
    Unsupported{"id", "use \"$id\""},
    Unsupported{"nullable", "use \"type\": [..., \"null\"]"},
};

}  // namespace

void Compiler::unknown(std::string_view name) {
  if (name.starts_with("x-")) return;
  for (const Unsupported& unsupported : kUnsupported) {
    if (name == unsupported.name) {
      fault(name, quoted(name) + " is not supported: " + std::string(unsupported.advice));
      return;
    }
  }
  constexpr std::array<std::string_view, 26> kOften = {
      "type",        "properties", "required",    "additionalProperties",
      "items",       "enum",       "description", "title",
      "default",     "minimum",    "maximum",     "minLength",
      "maxLength",   "pattern",    "minItems",    "maxItems",
      "format",      "const",      "anyOf",       "oneOf",
      "allOf",       "$ref",       "$defs",       "examples",
      "uniqueItems", "multipleOf"};
  const std::vector<std::string> near = near_names(name, kOften, 1);
  fault(name, quoted(name) + " is no keyword known here" +
                  (near.empty() ? ": a name that begins with \"x-\" is passed over"
                                : "; did you mean " + quoted(near.front()) + "?"));
}

bool Compiler::expect(const Value& value, Kind kind) {
  if (value.kind() == kind) return true;
  fault(keyword_,
        quoted(keyword_) + " should be " + json::kind_name(kind) + ", is " + json::kind_name(value.kind()));
  return false;
}

std::optional<Decimal> Compiler::decimal(const Value& value) {
  if (!expect(value, Kind::kNumber)) return std::nullopt;
  Result<Decimal> number = Decimal::parse(*value.as_number_text());
  if (number) return std::move(*number);
  fault(keyword_, number.error().message);
  return std::nullopt;
}

std::optional<Count> Compiler::count(const Value& value) {
  const std::optional<Decimal> number = decimal(value);
  if (!number) return std::nullopt;
  const std::optional<Count> count = number->as_count();
  if (!count) fault(keyword_, quoted(keyword_) + " should be an integer that is not negative");
  return count;
}

std::optional<std::string> Compiler::equal_text(const Value& value) {
  std::uint64_t steps = 0;
  Result<std::string> text = canonical(value, steps, std::numeric_limits<std::uint64_t>::max());
  if (text) return std::move(*text);
  fault(keyword_, text.error().message);
  return std::nullopt;
}

std::optional<std::size_t> Compiler::compile_pattern(std::string_view text) {
  const auto known = patterns_.find(text);
  if (known != patterns_.end()) return known->second;
  if (program_.patterns.size() >= kSchemaPatternsMax) {
    fault(keyword_, "a schema may have " + std::to_string(kSchemaPatternsMax) + " patterns");
    return std::nullopt;
  }
  Result<Pattern> pattern = Pattern::compile(text);
  if (!pattern) {
    fault(keyword_, "the pattern " + quoted(text) + " cannot be used: " + pattern.error().message);
    return std::nullopt;
  }
  patterns_size_ += pattern->size();
  if (patterns_size_ > kPatternSizeSumMax) {
    fault(keyword_, "the patterns of this schema are too large together");
    return std::nullopt;
  }
  program_.patterns.push_back(std::move(*pattern));
  patterns_.emplace(text, program_.patterns.size() - 1);
  return program_.patterns.size() - 1;
}

std::optional<std::vector<std::string_view>> Compiler::names(const Value& value) {
  if (!expect(value, Kind::kArray)) return std::nullopt;
  std::vector<std::string_view> found;
  for (const Value& item : value.items()) {
    const auto name = item.as_string();
    if (!name) {
      fault(keyword_,
            std::string("each name here should be a string; there is ") + json::kind_name(item.kind()));
      return std::nullopt;
    }
    found.push_back(*name);
  }
  std::vector<std::string_view> sorted = found;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return found;
  fault(keyword_, quoted(*twice) + " is named twice");
  return std::nullopt;
}

std::vector<NodeId> Compiler::schemas(const Value& value) {
  std::vector<NodeId> found;
  if (!expect(value, Kind::kArray)) return found;
  if (value.items().empty()) fault(keyword_, quoted(keyword_) + " should have at least one schema");
  for (std::size_t i = 0; i < value.items().size() && !is_full(); ++i) {
    const Place::Step step(place_, i);
    found.push_back(schema(value.items()[i]));
  }
  return found;
}

std::vector<std::pair<std::string_view, NodeId>> Compiler::named_schemas(const Value& value) {
  std::vector<std::pair<std::string_view, NodeId>> found;
  if (!expect(value, Kind::kObject)) return found;
  for (const json::Member& member : value.members()) {
    if (is_full()) break;
    const Place::Step step(place_, member.key);
    found.emplace_back(member.key, schema(member.value));
  }
  return found;
}

void Compiler::ignore(Node&, const Value&) {}
void Compiler::annotation_text(Node&, const Value& value) { (void)expect(value, Kind::kString); }
void Compiler::definitions(Node&, const Value& value) { (void)named_schemas(value); }

void Compiler::type(Node& node, const Value& value) {
  const auto add = [&](const Value& name) {
    const auto text = name.as_string();
    for (const NamedType& known : kTypes) {
      if (text && *text == known.name) {
        node.types |= known.type;
        return;
      }
    }
    fault("type", (text ? quoted(*text) : std::string(json::kind_name(name.kind()))) +
                      " is no type: they are null, boolean, integer, number, string, array and object");
  };
  if (value.kind() != Kind::kArray) return add(value);
  if (value.items().empty()) fault("type", "the list of types is empty: nothing would be valid");
  for (const Value& name : value.items()) add(name);
}

void Compiler::enumeration(Node& node, const Value& value) {
  if (!expect(value, Kind::kArray)) return;
  std::vector<std::string> texts;
  for (const Value& item : value.items()) {
    std::optional<std::string> text = equal_text(item);
    if (!text) return;
    texts.push_back(std::move(*text));
  }
  std::sort(texts.begin(), texts.end());
  node.enumeration = std::move(texts);
}

void Compiler::constant(Node& node, const Value& value) { node.constant = equal_text(value); }

void Compiler::format(Node& node, const Value& value) {
  if (expect(value, Kind::kString)) node.decimal = *value.as_string() == "decimal";
}

void Compiler::multiple_of(Node& node, const Value& value) {
  std::optional<Decimal> divisor = decimal(value);
  if (!divisor) return;
  if (divisor->is_zero() || divisor->is_negative()) {
    fault("multipleOf", "\"multipleOf\" should be above zero");
  } else if (divisor->digits() > kDivisorDigitsMax) {
    fault("multipleOf", "\"multipleOf\" may have " + std::to_string(kDivisorDigitsMax) + " digits");
  } else {
    rules(node.number).multiple_of = std::move(divisor);
  }
}

template <std::optional<Decimal> NumberRules::*Member>
void Compiler::bound(Node& node, const Value& value) {
  rules(node.number).*Member = decimal(value);
}
template <std::optional<Count> StringRules::*Member>
void Compiler::length(Node& node, const Value& value) {
  rules(node.string).*Member = count(value);
}
template <std::optional<Count> ArrayRules::*Member>
void Compiler::array_count(Node& node, const Value& value) {
  rules(node.array).*Member = count(value);
}
template <std::optional<Count> ObjectRules::*Member>
void Compiler::object_count(Node& node, const Value& value) {
  rules(node.object).*Member = count(value);
}
template <std::optional<NodeId> ObjectRules::*Member>
void Compiler::object_schema(Node& node, const Value& value) {
  rules(node.object).*Member = schema(value);
}
template <std::vector<NodeId> Logic::*Member>
void Compiler::branches(Node& node, const Value& value) {
  rules(node.logic).*Member = schemas(value);
}
template <std::optional<NodeId> Logic::*Member>
void Compiler::branch(Node& node, const Value& value) {
  rules(node.logic).*Member = schema(value);
}

void Compiler::pattern(Node& node, const Value& value) {
  if (expect(value, Kind::kString)) rules(node.string).pattern = compile_pattern(*value.as_string());
}

void Compiler::items(Node& node, const Value& value) {
  if (value.kind() == Kind::kArray) {
    fault("items", "a list of schemas, one for each place, is \"prefixItems\" in draft 2020-12");
    return;
  }
  rules(node.array).items = schema(value);
}

void Compiler::prefix_items(Node& node, const Value& value) { rules(node.array).prefix = schemas(value); }
void Compiler::contains(Node& node, const Value& value) { rules(node.array).contains = schema(value); }
void Compiler::unique_items(Node& node, const Value& value) {
  if (expect(value, Kind::kBoolean)) rules(node.array).unique = *value.as_boolean();
}

void Compiler::properties(Node& node, const Value& value) {
  auto found = named_schemas(value);
  std::sort(found.begin(), found.end());
  rules(node.object).properties = std::move(found);
}

void Compiler::pattern_properties(Node& node, const Value& value) {
  for (const auto& [text, id] : named_schemas(value)) {
    const Place::Step step(place_, text);
    if (const auto pattern = compile_pattern(text)) rules(node.object).patterns.emplace_back(*pattern, id);
  }
}

void Compiler::required(Node& node, const Value& value) {
  if (auto found = names(value)) rules(node.object).required = std::move(*found);
}

void Compiler::dependent_required(Node& node, const Value& value) {
  if (!expect(value, Kind::kObject)) return;
  for (const json::Member& member : value.members()) {
    const Place::Step step(place_, member.key);
    if (auto found = names(member.value)) {
      rules(node.object).dependent_required.emplace_back(member.key, std::move(*found));
    }
  }
}

void Compiler::dependent_schemas(Node& node, const Value& value) {
  rules(node.object).dependent_schemas = named_schemas(value);
}

const Compiler::Keyword* Compiler::find_keyword(std::string_view name) {
  using C = Compiler;
  constexpr bool kIn07 = true;
  static constexpr std::array kKeywords = {
      Keyword{"$schema", &C::dialect, kIn07},
      Keyword{"$id", &C::id, kIn07},
      Keyword{"$ref", &C::ref, kIn07},
      Keyword{"$anchor", &C::anchor},
      Keyword{"$defs", &C::definitions, kIn07},
      Keyword{"definitions", &C::definitions, kIn07},
      Keyword{"$comment", &C::annotation_text, kIn07},
      Keyword{"title", &C::annotation_text, kIn07},
      Keyword{"description", &C::annotation_text, kIn07},
      Keyword{"contentEncoding", &C::annotation_text, kIn07},
      Keyword{"contentMediaType", &C::annotation_text, kIn07},
      Keyword{"default", &C::ignore, kIn07},
      Keyword{"examples", &C::ignore, kIn07},
      Keyword{"deprecated", &C::ignore, kIn07},
      Keyword{"readOnly", &C::ignore, kIn07},
      Keyword{"writeOnly", &C::ignore, kIn07},
      Keyword{"type", &C::type, kIn07},
      Keyword{"enum", &C::enumeration, kIn07},
      Keyword{"const", &C::constant, kIn07},
      Keyword{"format", &C::format, kIn07},
      Keyword{"multipleOf", &C::multiple_of, kIn07},
      Keyword{"minimum", &C::bound<&NumberRules::minimum>, kIn07},
      Keyword{"maximum", &C::bound<&NumberRules::maximum>, kIn07},
      Keyword{"exclusiveMinimum", &C::bound<&NumberRules::exclusive_minimum>, kIn07},
      Keyword{"exclusiveMaximum", &C::bound<&NumberRules::exclusive_maximum>, kIn07},
      Keyword{"minLength", &C::length<&StringRules::min_length>, kIn07},
      Keyword{"maxLength", &C::length<&StringRules::max_length>, kIn07},
      Keyword{"pattern", &C::pattern, kIn07},
      Keyword{"items", &C::items, kIn07},
      Keyword{"prefixItems", &C::prefix_items},
      Keyword{"uniqueItems", &C::unique_items, kIn07},
      Keyword{"minItems", &C::array_count<&ArrayRules::min_items>, kIn07},
      Keyword{"maxItems", &C::array_count<&ArrayRules::max_items>, kIn07},
      Keyword{"contains", &C::contains, kIn07},
      Keyword{"minContains", &C::array_count<&ArrayRules::min_contains>},
      Keyword{"maxContains", &C::array_count<&ArrayRules::max_contains>},
      Keyword{"properties", &C::properties, kIn07},
      Keyword{"patternProperties", &C::pattern_properties, kIn07},
      Keyword{"additionalProperties", &C::object_schema<&ObjectRules::additional>, kIn07},
      Keyword{"propertyNames", &C::object_schema<&ObjectRules::names>, kIn07},
      Keyword{"required", &C::required, kIn07},
      Keyword{"minProperties", &C::object_count<&ObjectRules::min_properties>, kIn07},
      Keyword{"maxProperties", &C::object_count<&ObjectRules::max_properties>, kIn07},
      Keyword{"dependentRequired", &C::dependent_required},
      Keyword{"dependentSchemas", &C::dependent_schemas},
      Keyword{"allOf", &C::branches<&Logic::all_of>, kIn07},
      Keyword{"anyOf", &C::branches<&Logic::any_of>, kIn07},
      Keyword{"oneOf", &C::branches<&Logic::one_of>, kIn07},
      Keyword{"not", &C::branch<&Logic::negated>, kIn07},
      Keyword{"if", &C::branch<&Logic::condition>, kIn07},
      Keyword{"then", &C::branch<&Logic::then>, kIn07},
      Keyword{"else", &C::branch<&Logic::otherwise>, kIn07},
  };
  for (const Keyword& keyword : kKeywords) {
    if (keyword.name == name) return &keyword;
  }
  return nullptr;
}

}  // namespace casemate::schema
