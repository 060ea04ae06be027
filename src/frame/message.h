// Fixed structures as messages: their bytes, and the texts in them.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.h"

namespace casemate::frame {

inline constexpr std::size_t kMessageMax = 6 << 10;

// The bytes of a structure, for sending.
template <typename T>
std::string_view bytes_of(const T& value) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kMessageMax);
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

// Copies a message into its structure. Errors: invalid (another size than the structure's).
template <typename T>
Result<T> parse_message(std::string_view message) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  if (message.size() != sizeof(T)) return fail(ErrorCode::kInvalid, "a warden message has a wrong size");
  std::memcpy(&value, message.data(), sizeof(T));
  return value;
}

// Copies text into a fixed array, ended by NUL; cuts what does not fit.
template <std::size_t N>
void put_text(std::array<char, N>& out, std::string_view text) {
  const std::size_t count = text.size() < N ? text.size() : N - 1;
  std::memcpy(out.data(), text.data(), count);
  out[count] = '\0';
}
template <std::size_t N>
std::string get_text(const std::array<char, N>& in) {
  return std::string(in.data(), ::strnlen(in.data(), N));
}

}  // namespace casemate::frame
