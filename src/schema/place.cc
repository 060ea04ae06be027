#include "schema/place.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "json/utf8.h"

namespace casemate::schema {
namespace {

constexpr std::size_t kSearchedMax = 16;  // members of an object that is not sorted
constexpr std::string_view kEllipsis = "…";

// "~0" is "~" and "~1" is "/". nullopt for any other "~".
std::optional<std::string> unescape(std::string_view token) {
  std::string key;
  key.reserve(token.size());
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') {
      key += token[i];
      continue;
    }
    ++i;
    if (i == token.size() || (token[i] != '0' && token[i] != '1')) return std::nullopt;
    key += token[i] == '0' ? '~' : '/';
  }
  return key;
}

const json::Value* item_at(const json::Value& array, std::string_view token) {
  if (token.empty() || (token.size() > 1 && token.front() == '0')) return nullptr;
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
  if (error != std::errc{} || end != token.data() + token.size()) return nullptr;
  return index < array.items().size() ? &array.items()[index] : nullptr;
}

}  // namespace

void append_key(std::string& pointer, std::string_view key) {
  pointer += '/';
  for (const char c : key) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
}

std::string Place::pointer() const {
  std::string text;
  for (const Part& part : steps_) {
    if (part.is_index) {
      text += '/' + std::to_string(part.index);
    } else {
      append_key(text, json::cut_text(part.key, kPointerMax));
    }
    if (text.size() > kPointerMax) {
      return std::string(json::cut_text(text, kPointerMax - kEllipsis.size())).append(kEllipsis);
    }
  }
  return text;
}

const json::Value* Members::find(std::string_view key) {
  const auto members = object_.members();
  if (members.size() <= kSearchedMax) return object_.find(key);
  if (sorted_.empty()) {
    sorted_.reserve(members.size());
    for (const json::Member& member : members) sorted_.push_back(&member);
    std::sort(sorted_.begin(), sorted_.end(), [](const auto* a, const auto* b) { return a->key < b->key; });
  }
  const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), key,
                                      [](const json::Member* member, std::string_view wanted) {
                                        return std::string_view(member->key) < wanted;
                                      });
  return found != sorted_.end() && (*found)->key == key ? &(*found)->value : nullptr;
}

const json::Value* Follower::follow(std::string_view pointer) {
  const json::Value* at = &document_;
  while (!pointer.empty()) {
    if (pointer.front() != '/') return nullptr;
    pointer.remove_prefix(1);
    const std::string_view token = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(token.size());
    if (at->kind() == json::Value::Kind::kArray) {
      at = item_at(*at, token);
    } else if (const std::optional<std::string> key = unescape(token)) {
      at = members_.try_emplace(at, *at).first->second.find(*key);
    } else {
      return nullptr;
    }
    if (at == nullptr) return nullptr;
  }
  return at;
}

}  // namespace casemate::schema
