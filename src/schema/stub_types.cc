#include "schema/stub_types.h"

#include <algorithm>
#include <array>
#include <utility>

#include "json/utf8.h"
#include "schema/explain.h"
#include "schema/python_name.h"
#include "schema/stub.h"

namespace casemate::schema {
namespace {

using json::Value;
using Kind = Value::Kind;

constexpr std::array<std::string_view, 6> kBuiltins = {"bool", "dict", "float", "int", "list", "str"};
constexpr std::array<std::string_view, 4> kTyping = {"Any", "Literal", "NotRequired", "TypedDict"};
constexpr std::size_t kLiteralValuesMax = 20;
constexpr std::size_t kLiteralBytesMax = 400;
constexpr std::size_t kLiteralDigitsMax = 18;
constexpr std::size_t kAlternativesMax = 8;
constexpr std::size_t kCommentMax = 100;

template <std::size_t Count>
bool is_in(const std::array<std::string_view, Count>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

// In the body of a class, a field hides what its name meant outside, and "__x" is another name. Such objects
// are written as a call.
bool fits_in_class(const Field& field) {
  return is_python_name(field.name) && is_lower(field.name.front()) && !is_in(kBuiltins, field.name) &&
         field.name != "typing" && field.name != "builtins" && field.name != "decimal";
}

const Value* member_of(const Program& program, NodeId id, std::string_view keyword) {
  return program.nodes[id].source->find(keyword);
}

}  // namespace

std::string StubModule::spelling(std::string_view type) const {
  if (type != function_) return std::string(type);
  return (is_in(kBuiltins, type) ? "builtins."
          : type == "Decimal"    ? "decimal."
                                 : "typing.") +
         std::string(type);
}

std::string StubModule::spell(std::string_view type) {
  if (is_in(kBuiltins, type)) {
    builtins_ = builtins_ || type == function_;
  } else if (type == "Decimal") {
    decimal_ = true;
  } else {
    typing_.emplace(type);
  }
  return spelling(type);
}

std::string StubModule::imports() const {
  std::string text;
  if (builtins_) text += "import builtins\n";
  if (decimal_) text += function_ == "Decimal" ? "import decimal\n" : "from decimal import Decimal\n";
  std::vector<std::string> direct;
  for (const std::string& name : typing_) {
    if (name == function_) {
      text += "import typing\n";
    } else {
      direct.push_back(name);
    }
  }
  if (!direct.empty()) text += "from typing import " + listed(direct, ", ", direct.size()) + "\n";
  return text;
}

std::optional<std::string> StubModule::add_class(std::string_view like) {
  if (names_.size() > kStubClassesMax) return std::nullopt;
  std::string name(like);
  for (std::size_t n = 2; is_in(kTyping, name) || name == "Decimal" || !names_.insert(name).second; ++n) {
    name = std::string(like) + std::to_string(n);
  }
  return name;
}

std::string class_name(std::string_view text) {
  constexpr std::size_t kClassNameMax = 40;
  std::string name;
  bool starts_word = true;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_lower(c) && !(c >= 'A' && c <= 'Z') && !is_digit) {
      starts_word = true;
      continue;
    }
    if (name.empty() && is_digit) name = "Of";
    name += starts_word && is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c;
    starts_word = false;
    if (name.size() == kClassNameMax) break;
  }
  if (name.empty() || name == "None" || name == "True" || name == "False") name += "Value";
  return name;
}

std::string TypeWriter::joined(std::vector<std::string> types) {
  std::vector<std::string> once;
  for (std::string& type : types) {
    if (std::find(once.begin(), once.end(), type) == once.end()) once.push_back(std::move(type));
  }
  if (once.empty() || std::find(once.begin(), once.end(), module_.spelling("Any")) != once.end()) {
    return module_.spell("Any");
  }
  // None last, as people write it.
  std::stable_partition(once.begin(), once.end(), [](const std::string& type) { return type != "None"; });
  std::string text;
  for (const std::string& type : once) text += (text.empty() ? "" : " | ") + type;
  return text;
}

std::string TypeWriter::type(NodeId id, const std::string& like, std::size_t depth) {
  if (visits_ == 0 || depth > kStubDepthMax) return module_.spell("Any");
  --visits_;
  const Node& node = program_.nodes[id];
  if (node.boolean) return module_.spell("Any");
  if (const auto values = literal(node)) return *values;
  if (node.decimal) {
    std::vector<std::string> types = {module_.spell("Decimal")};
    if ((node.types & kTypeNull) != 0) types.emplace_back("None");
    return joined(std::move(types));
  }
  if (node.types != 0) return by_kind(id, like, depth);
  if (node.logic) {
    if (node.logic->ref) return type(*node.logic->ref, like, depth);
    for (const auto* branches : {&node.logic->any_of, &node.logic->one_of}) {
      if (branches->empty() || node.object) continue;
      if (branches->size() > kAlternativesMax) return module_.spell("Any");
      std::vector<std::string> types;
      for (const NodeId branch : *branches) types.push_back(type(branch, like, depth));
      return joined(std::move(types));
    }
  }
  // Without a type it may be anything else too; but this is what its author had in mind.
  std::size_t visits = visits_;
  if (shape_of(program_, id, visits).is_object()) return object(id, like, depth);
  if (node.array) return array(node, like, depth);
  if (node.logic && !node.logic->all_of.empty()) return type(node.logic->all_of.front(), like, depth);
  return module_.spell("Any");
}

std::string TypeWriter::by_kind(NodeId id, const std::string& like, std::size_t depth) {
  const Node& node = program_.nodes[id];
  const auto has = [&](Type type) { return (node.types & type) != 0; };
  std::vector<std::string> types;
  if (has(kTypeString)) types.push_back(module_.spell("str"));
  if (has(kTypeNumber)) types.push_back(module_.spell("float"));
  if (has(kTypeInteger) && !has(kTypeNumber)) types.push_back(module_.spell("int"));
  if (has(kTypeBoolean)) types.push_back(module_.spell("bool"));
  if (has(kTypeArray)) types.push_back(array(node, like, depth));
  if (has(kTypeObject)) types.push_back(object(id, like, depth));
  if (has(kTypeNull)) types.emplace_back("None");
  return joined(std::move(types));
}

std::string TypeWriter::array(const Node& node, const std::string& like, std::size_t depth) {
  std::vector<std::string> items;
  if (node.array && node.array->prefix.size() <= kAlternativesMax) {
    for (const NodeId id : node.array->prefix) items.push_back(type(id, like + "Item", depth + 1));
    const auto& others = node.array->items;
    const bool none = others && program_.nodes[*others].boolean == std::optional(false);
    if (others && !none) items.push_back(type(*others, like + "Item", depth + 1));
    if (!others && !node.array->prefix.empty()) items.push_back(module_.spell("Any"));
  }
  const std::string of = joined(std::move(items));
  const bool plain = detail_ == Detail::kBrief && of == module_.spelling("Any");
  return module_.spell("list") + (plain ? "" : "[" + of + "]");
}

std::string TypeWriter::object(NodeId id, const std::string& like, std::size_t depth) {
  if (detail_ == Detail::kBrief) return module_.spell("dict");
  const auto known = classes_.find(id);
  if (known != classes_.end()) return known->second;
  const Shape shape = shape_of(program_, id, visits_);
  if (shape.fields.empty()) {
    const std::string value =
        shape.additional ? type(*shape.additional, like + "Value", depth + 1) : module_.spell("Any");
    return module_.spell("dict") + "[" + module_.spell("str") + ", " + value + "]";
  }
  return class_of(id, shape, like, depth);
}

std::string TypeWriter::class_of(NodeId id, const Shape& shape, const std::string& like, std::size_t depth) {
  const std::optional<std::string> name = depth >= kStubDepthMax ? std::nullopt : module_.add_class(like);
  if (!name) return module_.spell("dict") + "[" + module_.spell("str") + ", " + module_.spell("Any") + "]";
  classes_.emplace(id, *name);  // first, for a field that is of this class again
  const std::size_t count = std::min(shape.fields.size(), kStubFieldsMax);
  const bool as_class = std::all_of(shape.fields.begin(),
                                    shape.fields.begin() + static_cast<std::ptrdiff_t>(count), fits_in_class);
  const std::string base = module_.spell("TypedDict");
  std::string text = as_class ? "class " + *name + "(" + base + "):\n"
                              : *name + " = " + base + "(" + python_string(*name) + ", {\n";
  for (std::size_t i = 0; i < count; ++i) {
    const Field& field = shape.fields[i];
    std::string of = field.id ? type(*field.id, class_name(*name + "_" + std::string(field.name)), depth + 1)
                              : module_.spell("Any");
    if (!field.required) of = module_.spell("NotRequired") + "[" + of + "]";
    text += "    " + (as_class ? std::string(field.name) : python_string(field.name)) + ": " + of +
            (as_class ? "" : ",");
    const std::string remark =
        field.id ? python_comment(remarks(program_, *field.id, kCommentMax), kCommentMax) : "";
    text += (remark.empty() ? "" : "  # " + remark) + "\n";
  }
  if (count < shape.fields.size()) {
    text += "    # and " + std::to_string(shape.fields.size() - count) + " others, not shown\n";
  }
  module_.define(text + (as_class ? "" : "})\n"));
  return *name;
}

// Of enum and const, when all values are short and Literal can have them.
std::optional<std::string> TypeWriter::literal(const Node& node) {
  if (!node.enumeration && !node.constant) return std::nullopt;
  std::vector<const Value*> values;
  if (node.constant) {
    values.push_back(node.source->find("const"));
  } else {
    for (const Value& value : node.source->find("enum")->items()) values.push_back(&value);
  }
  if (values.empty() || values.size() > kLiteralValuesMax) return std::nullopt;
  std::string text;
  for (const Value* value : values) {
    if (!text.empty()) text += ", ";
    const auto number = value->as_number_text();
    if (const auto string = value->as_string()) {
      text += python_string(*string);
    } else if (number && number->size() <= kLiteralDigitsMax && value->as_int64() && *number != "-0") {
      text += *number;
    } else if (const auto truth = value->as_boolean()) {
      text += *truth ? "True" : "False";
    } else if (value->kind() == Kind::kNull) {
      text += "None";
    } else {
      return std::nullopt;
    }
    if (text.size() > kLiteralBytesMax) return std::nullopt;
  }
  return module_.spell("Literal") + "[" + text + "]";
}

std::string remarks(const Program& program, NodeId id, std::size_t bytes_max) {
  struct Bound {
    std::string_view keyword;
    std::string_view words;
  };
  constexpr std::array kBounds = {
      Bound{"minimum", "at least "},
      Bound{"exclusiveMinimum", "above "},
      Bound{"maximum", "at most "},
      Bound{"exclusiveMaximum", "below "},
      Bound{"multipleOf", "a multiple of "},
      Bound{"minLength", "characters: at least "},
      Bound{"maxLength", "characters: at most "},
      Bound{"minItems", "items: at least "},
      Bound{"maxItems", "items: at most "},
      Bound{"pattern", "like "},
      Bound{"format", "format "},
      Bound{"default", "default "},
  };
  if (program.nodes[id].boolean) return "";
  std::string text;
  const Value* description = member_of(program, id, "description");
  if (description == nullptr) description = member_of(program, id, "title");
  if (description != nullptr) {
    const std::string_view said = *description->as_string();
    text = said.substr(0, said.find("\n\n"));
    std::replace(text.begin(), text.end(), '\n', ' ');
  }
  std::vector<std::string> bounds;
  for (const Bound& bound : kBounds) {
    const Value* value = member_of(program, id, bound.keyword);
    if (value == nullptr || (bound.keyword == "format" && *value->as_string() == "decimal")) continue;
    const auto format = value->as_string();
    bounds.push_back(std::string(bound.words) +
                     (bound.keyword == "format" ? std::string(*format) : shown_literal(*value)));
  }
  if (!bounds.empty())
    text += (text.empty() ? "" : " (") + listed(bounds, ", ", bounds.size()) + (text.empty() ? "" : ")");
  return text.empty() ? text : json::one_line(text, bytes_max);
}

}  // namespace casemate::schema
