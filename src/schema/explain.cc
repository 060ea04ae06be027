#include "schema/explain.h"

#include <algorithm>
#include <array>

#include "json/utf8.h"

namespace casemate::schema {
namespace {

using json::Value;
using Kind = Value::Kind;

constexpr std::size_t kShownMax = 60;
constexpr std::size_t kPartsMax = 5;
constexpr std::size_t kLevelsMax = 3;  // of schemas in schemas, when one is put into words

struct TypeWord {
  Type type;
  const char* word;
};
constexpr std::array kTypeWords = {
    TypeWord{kTypeBoolean, "a boolean"}, TypeWord{kTypeInteger, "an integer"},
    TypeWord{kTypeNumber, "a number"},   TypeWord{kTypeString, "a string"},
    TypeWord{kTypeArray, "an array"},    TypeWord{kTypeObject, "an object"},
    TypeWord{kTypeNull, "null"},
};

std::string words_for_object(const Node& node) {
  std::string text = words_for_types(node.types);
  if (node.types == kTypeObject && node.object && !node.object->required.empty()) {
    std::vector<std::string> names;
    for (const std::string_view name : node.object->required) {
      names.push_back(quoted(name));
      if (names.size() > kPartsMax) break;
    }
    text += " with " + listed(names, " and ", kPartsMax);
  }
  return text;
}

std::string words_for(const Program& program, NodeId id, std::size_t level) {
  const Node& node = program.nodes[id];
  if (node.boolean) return *node.boolean ? "anything" : "nothing";
  if (node.constant) return shown_literal(*node.source->find("const"));
  if (node.enumeration) return words_for_choices(*node.source->find("enum"));
  if (node.decimal) return "an exact decimal such as \"12.50\"";
  if (node.types != 0) return words_for_object(node);
  if (level < kLevelsMax && node.logic) {
    if (node.logic->ref) return words_for(program, *node.logic->ref, level + 1);
    for (const auto* branches : {&node.logic->any_of, &node.logic->one_of}) {
      if (branches->empty()) continue;
      std::vector<std::string> parts;
      for (const NodeId branch : *branches) {
        if (parts.size() > kPartsMax) break;
        parts.push_back(words_for(program, branch, level + 1));
      }
      return listed(parts, " or ", kPartsMax);
    }
    if (!node.logic->all_of.empty()) return words_for(program, node.logic->all_of.front(), level + 1);
    if (node.logic->negated) return "anything but " + words_for(program, *node.logic->negated, level + 1);
  }
  if (node.object && !node.object->required.empty()) {
    return "something with " + quoted(node.object->required.front());
  }
  if (node.string && node.string->pattern) {
    return "text like " + quoted(*node.source->find("pattern")->as_string());
  }
  return "what its schema says";
}

}  // namespace

std::string quoted(std::string_view text) { return '"' + json::one_line(text, kShownMax) + '"'; }

std::string shown(const Value& value) {
  switch (value.kind()) {
    case Kind::kNumber: return "the number " + shown_literal(value);
    case Kind::kString: return "the string " + shown_literal(value);
    case Kind::kArray:
    case Kind::kObject: return json::kind_name(value.kind());
    default: return shown_literal(value);
  }
}

std::string shown_literal(const Value& value) {
  switch (value.kind()) {
    case Kind::kNull: return "null";
    case Kind::kBoolean: return *value.as_boolean() ? "true" : "false";
    case Kind::kNumber: return json::one_line(*value.as_number_text(), kShownMax);
    case Kind::kString: return quoted(*value.as_string());
    case Kind::kArray: return "an array of " + std::to_string(value.items().size());
    case Kind::kObject: return "an object of " + std::to_string(value.members().size());
  }
  return "";
}

std::string listed(const std::vector<std::string>& parts, std::string_view last, std::size_t most) {
  std::string text;
  const std::size_t count = std::min(parts.size(), most);
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text += i + 1 == count && count == parts.size() ? last : ", ";
    text += parts[i];
  }
  if (parts.size() > count) text += " …";
  return text;
}

std::string words_for_types(unsigned types) {
  std::vector<std::string> words;
  for (const TypeWord& known : kTypeWords) {
    if ((types & known.type) != 0) words.emplace_back(known.word);
  }
  return listed(words, " or ", words.size());
}

std::string words_for_choices(const Value& values) {
  std::vector<std::string> parts;
  for (const Value& value : values.items()) {
    if (parts.size() == kPartsMax) break;
    parts.push_back(shown_literal(value));
  }
  if (parts.empty()) return "nothing";
  if (values.items().size() == 1) return parts.front();
  std::string text = listed(parts, ", ", kPartsMax);
  if (values.items().size() > parts.size()) {
    text += " and " + std::to_string(values.items().size() - parts.size()) + " others";
  }
  return "one of " + text;
}

std::string expectation(const Program& program, NodeId id) { return words_for(program, id, 0); }

}  // namespace casemate::schema
