#include "catalog/words.h"

#include <algorithm>
#include <array>
#include <utility>

#include "json/utf8.h"

namespace casemate::catalog {
namespace {

constexpr std::array<std::string_view, 24> kCommon = {
    "a",  "an", "and", "are", "as", "at",   "be",  "by",   "do", "for", "from",  "in",
    "is", "it", "of",  "on",  "or", "that", "the", "this", "to", "was", "which", "with"};
static_assert(std::is_sorted(kCommon.begin(), kCommon.end()));

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_of_word(char c) {
  return is_lower(c) || is_upper(c) || is_digit(c) || static_cast<unsigned char>(c) >= 0x80;
}

// "createPull" and "HTTPServer" are two words each.
bool begins_word(std::string_view text, std::size_t at) {
  if (at == 0 || !is_upper(text[at])) return false;
  if (is_lower(text[at - 1]) || is_digit(text[at - 1])) return true;
  return is_upper(text[at - 1]) && at + 1 < text.size() && is_lower(text[at + 1]);
}

void add(std::string word, std::vector<std::string>& words) {
  const auto ends = [&](std::string_view end) { return word.ends_with(end); };
  // "entries" meets "entry", "accounts" meets "account"; "address" and "status" stay what they are.
  if (word.size() > 4 && ends("ies")) {
    word.replace(word.size() - 3, 3, "y");
  } else if (word.size() > 3 && ends("s") && !ends("ss") && !ends("us") && !ends("is")) {
    word.pop_back();
  }
  if (!std::binary_search(kCommon.begin(), kCommon.end(), std::string_view(word)))
    words.push_back(std::move(word));
}

}  // namespace

std::vector<std::string> words_of(std::string_view text, std::size_t most) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size() && words.size() < most;) {
    if (!is_of_word(text[at])) {
      ++at;
      continue;
    }
    const std::size_t from = at;
    do ++at;
    while (at < text.size() && is_of_word(text[at]) && !begins_word(text, at));
    std::string word(json::cut_text(text.substr(from, at - from), kWordMax));
    for (char& c : word) {
      if (is_upper(c)) c = static_cast<char>(c - 'A' + 'a');
    }
    if (!word.empty()) add(std::move(word), words);
  }
  return words;
}

}  // namespace casemate::catalog
