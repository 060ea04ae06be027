// Values as bytes and back, for rows that are put in order on the disk. What unpack() reads, pack() has made.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace casemate::reconcile {

namespace packed {

inline void put(std::string& out, std::string_view text) {
  out += std::to_string(text.size()) + ":";
  out += text;
}
template <typename T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>)
void put(std::string& out, T number) {
  put(out, std::string_view(std::to_string(static_cast<std::int64_t>(number))));
}

inline std::string_view take(std::string_view& bytes) {
  std::size_t size = 0;
  (void)std::from_chars(bytes.data(), bytes.data() + bytes.size(), size);
  bytes.remove_prefix(bytes.find(':') + 1);
  const std::string_view text = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return text;
}
inline void take(std::string_view& bytes, std::string& text) { text = take(bytes); }
template <typename T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>)
void take(std::string_view& bytes, T& number) {
  const std::string_view text = take(bytes);
  std::int64_t value = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), value);
  number = static_cast<T>(value);
}

}  // namespace packed

// Texts, integers and enumerations.
template <typename... T>
std::string pack(const T&... values) {
  std::string out;
  (packed::put(out, values), ...);
  return out;
}
template <typename... T>
void unpack(std::string_view bytes, T&... values) {
  (packed::take(bytes, values), ...);
}

}  // namespace casemate::reconcile
