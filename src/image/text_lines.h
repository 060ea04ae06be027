// Reading strict text line by line. Private to the image library.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace casemate::image {

// Hands out the lines of a text, each of which must end with a line feed.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  // Nothing at the end. A last line without a line feed sets unfinished() and is not handed out.
  std::optional<std::string_view> next() {
    if (rest_.empty()) return std::nullopt;
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) {
      unfinished_ = true;
      return std::nullopt;
    }
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    ++number_;
    return line;
  }
  std::size_t number() const { return number_; }  // of the line handed out last, from 1
  bool unfinished() const { return unfinished_; }

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
  bool unfinished_ = false;
};

// Splits at single spaces into exactly N non-empty fields.
template <std::size_t N>
std::optional<std::array<std::string_view, N>> split_fields(std::string_view line) {
  std::array<std::string_view, N> fields;
  for (std::size_t i = 0; i < N; ++i) {
    const std::size_t end = line.find(' ');
    const bool last = i + 1 == N;
    if (last != (end == std::string_view::npos)) return std::nullopt;
    fields[i] = line.substr(0, end);
    if (fields[i].empty()) return std::nullopt;
    if (!last) line.remove_prefix(end + 1);
  }
  return fields;
}

// A whole number as std::to_string writes it, at most `most`.
inline std::optional<std::uint64_t> parse_whole(std::string_view text, std::uint64_t most) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || after != end || value > most) return std::nullopt;
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  return value;
}

}  // namespace casemate::image
