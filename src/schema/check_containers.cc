#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/near_names.h"
#include "schema/canonical.h"
#include "schema/checker.h"
#include "schema/explain.h"

namespace casemate::schema {
namespace {

using json::Member;

constexpr std::size_t kNamesShownMax = 8;
constexpr std::size_t kNamesComparedMax = 1000;  // when a name is looked for that is nearly this one

std::string count_of(std::size_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

// "1 property", "2 properties".
std::string properties_of(Count count) {
  return std::to_string(count) + (count == 1 ? " property" : " properties");
}

}  // namespace

bool Checker::array(const ArrayRules& rules, const Value& value) {
  const auto items = value.items();
  bool held = true;
  const auto also = [&](bool next) {
    held = next && held;
    return held || goes_on();
  };
  if (rules.min_items && items.size() < *rules.min_items && !also(fault("minItems", [&] {
        return "should have at least " + count_of(*rules.min_items, "item") + ", has " +
               std::to_string(items.size());
      }))) {
    return false;
  }
  if (rules.max_items && items.size() > *rules.max_items && !also(fault("maxItems", [&] {
        return "should have at most " + count_of(*rules.max_items, "item") + ", has " +
               std::to_string(items.size());
      }))) {
    return false;
  }
  const std::size_t end = rules.items ? items.size() : std::min(items.size(), rules.prefix.size());
  for (std::size_t i = 0; i < end; ++i) {
    const Place::Step step(place_, i);
    if (!also(accepts(i < rules.prefix.size() ? rules.prefix[i] : *rules.items, items[i]))) return false;
  }
  if (rules.unique && !also(unique(value))) return false;
  return (!rules.contains || contains(rules, value)) && held;
}

bool Checker::unique(const Value& value) {
  const auto items = value.items();
  std::vector<std::string> texts;
  texts.reserve(items.size());
  for (const Value& item : items) {
    Result<std::string> text = canonical(item, steps_, limits_.steps_max);
    if (!text) return charge(0) && give_up(text.error());
    texts.push_back(std::move(*text));
  }
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return std::tie(texts[a], a) < std::tie(texts[b], b); });
  const auto twice = std::adjacent_find(order.begin(), order.end(),
                                        [&](std::size_t a, std::size_t b) { return texts[a] == texts[b]; });
  if (twice == order.end()) return true;
  return fault("uniqueItems", [&] {
    return "each item should be another: " + std::to_string(*twice) + " and " +
           std::to_string(*std::next(twice)) + " are the same (" + shown_literal(items[*twice]) + ")";
  });
}

bool Checker::contains(const ArrayRules& rules, const Value& value) {
  const Count least = rules.min_contains.value_or(1);
  Count found = 0;
  for (std::size_t i = 0; i < value.items().size(); ++i) {
    const Place::Step step(place_, i);
    if (accepts_quietly(*rules.contains, value.items()[i])) ++found;
    if (gave_up_) return false;
    if (found >= least && !rules.max_contains) return true;
  }
  const auto message = [&](const char* words, Count count) {
    return std::string("should contain ") + words + " " + count_of(count, "item") + " like " +
           expectation(program_, *rules.contains) + ", contains " + std::to_string(found);
  };
  if (found < least) {
    return fault(rules.min_contains ? "minContains" : "contains", [&] { return message("at least", least); });
  }
  if (rules.max_contains && found > *rules.max_contains) {
    return fault("maxContains", [&] { return message("at most", *rules.max_contains); });
  }
  return true;
}

bool Checker::object(const ObjectRules& rules, const Value& value) {
  const auto members = value.members();
  bool held = true;
  const auto also = [&](bool next) {
    held = next && held;
    return held || goes_on();
  };
  if (rules.min_properties && members.size() < *rules.min_properties && !also(fault("minProperties", [&] {
        return "should have at least " + properties_of(*rules.min_properties) + ", has " +
               std::to_string(members.size());
      }))) {
    return false;
  }
  if (rules.max_properties && members.size() > *rules.max_properties && !also(fault("maxProperties", [&] {
        return "should have at most " + properties_of(*rules.max_properties) + ", has " +
               std::to_string(members.size());
      }))) {
    return false;
  }
  if (!also(needed(rules, value))) return false;
  if (rules.properties.empty() && rules.patterns.empty() && !rules.additional && !rules.names) return held;
  for (const Member& one : members) {
    if (rules.names && !also(name(rules, one.key))) return false;
    if (!also(member(rules, one))) return false;
  }
  return held;
}

// What properties, patternProperties and additionalProperties say of one member.
bool Checker::member(const ObjectRules& rules, const Member& member) {
  bool held = true;
  bool known = false;
  const auto found =
      std::lower_bound(rules.properties.begin(), rules.properties.end(), member.key,
                       [](const auto& one, const std::string& key) { return one.first < key; });
  {
    const Place::Step step(place_, member.key);
    if (found != rules.properties.end() && found->first == member.key) {
      known = true;
      held = accepts(found->second, member.value);
    }
    for (const auto& [pattern, id] : rules.patterns) {
      if (!held && !goes_on()) return false;
      if (!is_found(pattern, member.key)) continue;
      known = true;
      held = accepts(id, member.value) && held;
    }
    if (known || !rules.additional || gave_up_) return held && !gave_up_;
    if (program_.nodes[*rules.additional].boolean != std::optional(false)) {
      return accepts(*rules.additional, member.value);
    }
  }
  return charge(1) && fault("additionalProperties", [&] { return not_known(rules, member.key); });
}

bool Checker::name(const ObjectRules& rules, std::string_view key) {
  const Value text = Value::string(std::string(key));
  if (accepts_quietly(*rules.names, text) || gave_up_) return !gave_up_;
  return fault("propertyNames", [&] {
    List reasons{{}, 1};
    {
      const Listening listening(*this, &reasons);
      (void)accepts(*rules.names, text);
    }
    return "the name " + quoted(key) + " of a property " +
           (reasons.faults.empty() ? "is not allowed" : reasons.faults.front().message);
  });
}

// required, dependentRequired, dependentSchemas.
bool Checker::needed(const ObjectRules& rules, const Value& value) {
  if (rules.required.empty() && rules.dependent_required.empty() && rules.dependent_schemas.empty())
    return true;
  if (!charge(1 + rules.required.size())) return false;
  const auto [found, is_new] = members_.try_emplace(&value, value);
  Members& members = found->second;
  if (is_new && !charge(value.members().size())) return false;  // it may be sorted
  bool held = true;
  const auto also = [&](bool next) {
    held = next && held;
    return held || goes_on();
  };
  for (const std::string_view key : rules.required) {
    if (members.find(key) == nullptr && !also(fault("required", [&] { return lacks(rules, key); })))
      return false;
  }
  for (const auto& [key, others] : rules.dependent_required) {
    if (!charge(1)) return false;
    if (members.find(key) == nullptr) continue;
    for (const std::string_view other : others) {
      if (!charge(1)) return false;
      if (members.find(other) != nullptr) continue;
      const auto message = [&] { return "lacks " + quoted(other) + ", which " + quoted(key) + " asks for"; };
      if (!also(fault("dependentRequired", message))) return false;
    }
  }
  for (const auto& [key, id] : rules.dependent_schemas) {
    if (!charge(1)) return false;
    if (members.find(key) != nullptr && !also(accepts(id, value))) return false;
  }
  return held;
}

std::string Checker::lacks(const ObjectRules& rules, std::string_view key) const {
  const auto found =
      std::lower_bound(rules.properties.begin(), rules.properties.end(), key,
                       [](const auto& one, std::string_view wanted) { return one.first < wanted; });
  std::string message = "lacks " + quoted(key) + ", which is required";
  if (found != rules.properties.end() && found->first == key) {
    message += ": " + expectation(program_, found->second);
  }
  return message;
}

std::string Checker::not_known(const ObjectRules& rules, std::string_view key) const {
  std::vector<std::string_view> names;
  for (const auto& [name, id] : rules.properties) {
    if (names.size() == kNamesComparedMax) break;
    names.push_back(name);
  }
  std::string message = "has " + quoted(key) + ", which is no property here";
  const std::vector<std::string> near = near_names(key, names, 1);
  if (!near.empty()) return message + "; did you mean " + quoted(near.front()) + "?";
  if (names.empty()) return message + "; there are none";
  std::vector<std::string> parts;
  for (const std::string_view name : names) {
    parts.push_back(quoted(name));
    if (parts.size() > kNamesShownMax) break;
  }
  return message + "; there are " + listed(parts, " and ", kNamesShownMax);
}

}  // namespace casemate::schema
