#include "policy/glob.h"

#include <algorithm>

#include "json/utf8.h"

namespace casemate::policy {
namespace {

struct Item {
  enum class Kind : unsigned char { kCharacter, kOne, kMany };
  Kind kind = Kind::kCharacter;
  char32_t character = 0;
};

Result<std::vector<Item>> items_of(std::string_view pattern) {
  std::vector<Item> items;
  while (!pattern.empty()) {
    if (pattern.front() == '*' || pattern.front() == '?') {
      const bool many = pattern.front() == '*';
      pattern.remove_prefix(1);
      // Two stars say what one says.
      if (many && !items.empty() && items.back().kind == Item::Kind::kMany) continue;
      items.push_back({many ? Item::Kind::kMany : Item::Kind::kOne, 0});
    } else {
      if (pattern.front() == '\\') {
        pattern.remove_prefix(1);
        if (pattern.empty() || std::string_view("*?\\").find(pattern.front()) == std::string_view::npos) {
          return fail(ErrorCode::kInvalid, "a backslash stands before *, ? or another backslash only");
        }
      }
      const json::Char next = json::decode(pattern);
      if (next.kind != json::Char::Kind::kValid) return fail(ErrorCode::kInvalid, "a pattern is not UTF-8");
      pattern.remove_prefix(next.size);
      items.push_back({Item::Kind::kCharacter, next.code});
    }
    if (items.size() > kGlobMax) {
      return fail(ErrorCode::kExhausted,
                  "a pattern has more than " + std::to_string(kGlobMax) + " characters");
    }
  }
  return items;
}

}  // namespace

const Glob::States Glob::kNone;

Glob Glob::literal(std::string_view text) {
  Glob glob;
  glob.prefix_ = text;
  return glob;
}

Result<Glob> Glob::parse(std::string_view pattern) {
  const std::vector<Item> items = TRY(items_of(pattern));
  const auto wild = [](const Item& item) { return item.kind != Item::Kind::kCharacter; };
  const auto first = std::find_if(items.begin(), items.end(), wild);
  const auto last = std::find_if(items.rbegin(), items.rend(), wild).base();  // behind the last wildcard
  Glob glob;
  for (auto item = items.begin(); item != first; ++item) json::append_utf8(glob.prefix_, item->character);
  if (first == items.end()) return glob;
  glob.literal_ = false;
  for (auto item = last; item != items.end(); ++item) json::append_utf8(glob.suffix_, item->character);
  for (auto item = first; item != last; ++item) {
    if (item->kind == Item::Kind::kMany) {
      glob.stays_.set(glob.length_);
      continue;
    }
    if (item->kind == Item::Kind::kOne) {
      glob.any_.set(glob.length_);
    } else {
      const auto at = std::lower_bound(glob.by_character_.begin(), glob.by_character_.end(), item->character,
                                       [](const auto& entry, char32_t code) { return entry.first < code; });
      const bool there = at != glob.by_character_.end() && at->first == item->character;
      const auto entry = there ? at : glob.by_character_.insert(at, {item->character, States()});
      entry->second.set(glob.length_);
    }
    ++glob.length_;
  }
  return glob;
}

const Glob::States& Glob::follows(char32_t character) const {
  const auto at = std::lower_bound(by_character_.begin(), by_character_.end(), character,
                                   [](const auto& entry, char32_t code) { return entry.first < code; });
  return at != by_character_.end() && at->first == character ? at->second : kNone;
}

bool Glob::matches(std::string_view text) const {
  if (literal_) return text == prefix_;
  if (text.size() < prefix_.size() + suffix_.size()) return false;
  if (!text.starts_with(prefix_) || !text.ends_with(suffix_)) return false;
  text.remove_prefix(prefix_.size());
  text.remove_suffix(suffix_.size());
  if (length_ == 0) return true;  // a star alone
  States states;
  states.set(0);
  while (!text.empty() && states.any()) {
    const json::Char next = json::decode(text);
    text.remove_prefix(next.size);
    states = ((states & (follows(next.code) | any_)) << 1) | (states & stays_);
  }
  return states.test(length_);
}

}  // namespace casemate::policy
