// Typed, strict reading of one table: every key is asked for, and what nobody asked for is a mistake.
//
//     Table file(root, "", mistakes);
//     const auto level = file.text("level");       // absent: nothing, and no mistake
//     file.finish();                               // "unknown key 'levle'; there are level"
//     if (!mistakes.empty()) …                     // everything that is wrong, together
//
// A key that is absent and one whose value is wrong both give nothing; the second is a mistake too, so a
// reader goes on and looks at the mistakes in the end. Absent, empty and present lists differ: nothing, an
// empty vector, items.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "toml/document.h"

namespace casemate::toml {

struct Integer {
  std::int64_t value = 0;
  Place place;
};

struct Truth {
  bool value = false;
  Place place;
};

// A list that is there; its items may be none.
struct Texts {
  std::vector<Text> items;
  Place place;
};

// One thread. The node and the mistakes must outlive it.
class Table {
 public:
  // `name` is how messages call it: "permissions"; "" for the file itself.
  Table(const Node& node, std::string name, Mistakes& mistakes);

  std::optional<Text> text(std::string_view key);
  // One of the words; any other is a mistake that lists them.
  std::optional<Text> word(std::string_view key, const std::vector<std::string_view>& words);
  std::optional<Integer> integer(std::string_view key, std::int64_t min, std::int64_t max);
  std::optional<Truth> boolean(std::string_view key);
  // A list of strings with at most `items_max` of them. Has those that are strings, when others are mistakes.
  std::optional<Texts> texts(std::string_view key, std::size_t items_max);
  std::optional<Table> table(std::string_view key);
  // A list of tables, `[[key]]`. None when it is absent.
  std::vector<Table> tables(std::string_view key, std::size_t items_max);

  // Of any kind; nullptr when it is absent.
  const Node* value(std::string_view key);
  bool has(std::string_view key) const;

  // For a table whose keys are data: all of them, in the order of the file, which finish() then knows.
  const std::vector<Entry>& entries();

  // A mistake when the key is absent.
  void need(std::string_view key);
  // A mistake for every key that was not asked for.
  void finish();

  const std::string& name() const { return name_; }
  Place place() const { return node_.place; }
  Mistakes& mistakes() { return mistakes_; }

 private:
  const Node* find(std::string_view key, Node::Kind wanted);

  const Node& node_;
  std::string name_;
  Mistakes& mistakes_;
  std::set<std::string, std::less<>> asked_;
  bool all_asked_ = false;
};

// The strings of a list, or one string by itself as a list of one. `what` begins a mistake:
// "labels.sources.\"web.*\"".
std::optional<Texts> one_or_more_texts(const Node& node, const std::string& what, std::size_t items_max,
                                       Mistakes& mistakes);

}  // namespace casemate::toml
