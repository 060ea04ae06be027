#include "toml/table.h"

#include <algorithm>
#include <utility>

namespace casemate::toml {
namespace {

std::string list_of(const auto& words) {
  std::string list;
  for (const auto& word : words) {
    if (!list.empty()) list += ", ";
    list += word;
  }
  return list;
}

std::optional<Texts> texts_of(const Node& list, const std::string& what, std::size_t items_max,
                              Mistakes& mistakes) {
  Texts texts;
  texts.place = list.place;
  if (list.items.size() > items_max) {
    mistakes.add(list.place, what + " has more than " + std::to_string(items_max) + " items");
    return std::nullopt;
  }
  for (const Node& item : list.items) {
    if (item.kind == Node::Kind::kString) {
      texts.items.push_back(item.text);
    } else {
      mistakes.add(item.place, what + " should be a list of strings, this is " + kind_name(item.kind));
    }
  }
  return texts;
}

}  // namespace

Table::Table(const Node& node, std::string name, Mistakes& mistakes)
    : node_(node), name_(std::move(name)), mistakes_(mistakes) {}

const Node* Table::value(std::string_view key) {
  asked_.emplace(key);
  const auto found = std::find_if(node_.entries.begin(), node_.entries.end(),
                                  [&](const Entry& entry) { return entry.key.text == key; });
  return found == node_.entries.end() ? nullptr : &found->value;
}

bool Table::has(std::string_view key) const {
  return std::any_of(node_.entries.begin(), node_.entries.end(),
                     [&](const Entry& entry) { return entry.key.text == key; });
}

const Node* Table::find(std::string_view key, Node::Kind wanted) {
  const Node* found = value(key);
  if (found == nullptr || found->kind == wanted) return found;
  mistakes_.add(found->place,
                std::string(key) + " should be " + kind_name(wanted) + ", is " + kind_name(found->kind));
  return nullptr;
}

std::optional<Text> Table::text(std::string_view key) {
  const Node* node = find(key, Node::Kind::kString);
  return node == nullptr ? std::nullopt : std::optional(node->text);
}

std::optional<Text> Table::word(std::string_view key, const std::vector<std::string_view>& words) {
  auto found = text(key);
  if (found && std::find(words.begin(), words.end(), found->text) == words.end()) {
    mistakes_.add(found->place, std::string(key) + " should be one of " + list_of(words) + ", is \"" +
                                    shown(found->text) + "\"");
    return std::nullopt;
  }
  return found;
}

std::optional<Integer> Table::integer(std::string_view key, std::int64_t min, std::int64_t max) {
  const Node* node = find(key, Node::Kind::kInteger);
  if (node == nullptr) return std::nullopt;
  if (node->integer < min || node->integer > max) {
    mistakes_.add(node->place, std::string(key) + " should be between " + std::to_string(min) + " and " +
                                   std::to_string(max) + ", is " + std::to_string(node->integer));
    return std::nullopt;
  }
  return Integer{node->integer, node->place};
}

std::optional<Truth> Table::boolean(std::string_view key) {
  const Node* node = find(key, Node::Kind::kBoolean);
  return node == nullptr ? std::nullopt : std::optional(Truth{node->truth, node->place});
}

std::optional<Texts> Table::texts(std::string_view key, std::size_t items_max) {
  const Node* node = find(key, Node::Kind::kArray);
  if (node == nullptr) return std::nullopt;
  return texts_of(*node, std::string(key), items_max, mistakes_);
}

std::optional<Table> Table::table(std::string_view key) {
  const Node* node = find(key, Node::Kind::kTable);
  if (node == nullptr) return std::nullopt;
  return Table(*node, name_.empty() ? std::string(key) : name_ + "." + std::string(key), mistakes_);
}

std::vector<Table> Table::tables(std::string_view key, std::size_t items_max) {
  std::vector<Table> all;
  const Node* node = find(key, Node::Kind::kArray);
  if (node == nullptr) return all;
  if (node->items.size() > items_max) {
    mistakes_.add(node->place, "more than " + std::to_string(items_max) + " of [[" + std::string(key) + "]]");
    return all;
  }
  for (const Node& item : node->items) {
    if (item.kind == Node::Kind::kTable) {
      all.emplace_back(item, name_.empty() ? std::string(key) : name_ + "." + std::string(key), mistakes_);
    } else {
      mistakes_.add(item.place,
                    std::string(key) + " should be a list of tables, this is " + kind_name(item.kind));
    }
  }
  return all;
}

const std::vector<Entry>& Table::entries() {
  all_asked_ = true;
  return node_.entries;
}

void Table::need(std::string_view key) {
  if (!has(key)) mistakes_.add(node_.place, "[[" + name_ + "]] has no " + std::string(key));
}

void Table::finish() {
  if (all_asked_) return;
  for (const Entry& entry : node_.entries) {
    if (asked_.contains(entry.key.text)) continue;
    mistakes_.add(entry.key.place, "unknown key \"" + shown(entry.key.text) + "\"" +
                                       (name_.empty() ? "" : " in " + name_) + "; there are " +
                                       list_of(asked_));
  }
}

std::optional<Texts> one_or_more_texts(const Node& node, const std::string& what, std::size_t items_max,
                                       Mistakes& mistakes) {
  if (node.kind == Node::Kind::kString) return Texts{{node.text}, node.place};
  if (node.kind == Node::Kind::kArray) return texts_of(node, what, items_max, mistakes);
  mistakes.add(node.place, what + " should be a string or a list of strings, is " + kind_name(node.kind));
  return std::nullopt;
}

}  // namespace casemate::toml
