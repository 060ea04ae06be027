// A second opinion on JSON text for fuzz_json: RFC 8259 read word by word, sharing no code with
// src/json. Slow and small; for tests only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace casemate::fuzz {

// Reads one JSON text. Keeps every string (keys too) and every number in the order of the text.
class JsonChecker {
 public:
  explicit JsonChecker(std::string_view text) : text_(text) {}

  // True when the text is one JSON value, white space around it allowed.
  bool check() {
    skip_space();
    if (!value(0)) return false;
    skip_space();
    return at_ == text_.size();
  }
  const std::vector<std::string>& strings() const { return strings_; }
  const std::vector<std::string>& numbers() const { return numbers_; }

 private:
  static constexpr int kDepthMax = 100;

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }

  bool value(int depth) {
    if (depth > kDepthMax) return false;
    switch (peek()) {
      case '{': return members('}', depth, true);
      case '[': return members(']', depth, false);
      case '"': return string();
      case 't': return take("true");
      case 'f': return take("false");
      case 'n': return take("null");
      default: return number();
    }
  }

  bool members(char end, int depth, bool keyed) {
    ++at_;
    skip_space();
    if (take(end)) return true;
    while (true) {
      skip_space();
      if (keyed) {
        if (!string()) return false;
        skip_space();
        if (!take(':')) return false;
        skip_space();
      }
      if (!value(depth + 1)) return false;
      skip_space();
      if (take(end)) return true;
      if (!take(',')) return false;
    }
  }

  bool digits() {
    const std::size_t begin = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ > begin;
  }

  bool number() {
    const std::size_t begin = at_;
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (!digits()) return false;
    }
    numbers_.emplace_back(text_.substr(begin, at_ - begin));
    return true;
  }

  bool hex4(unsigned& out) {
    out = 0;
    for (int i = 0; i < 4; ++i) {
      const std::size_t digit = std::string_view("0123456789abcdefABCDEF").find(peek());
      if (peek() == '\0' || digit == std::string_view::npos) return false;
      out = out * 16 + static_cast<unsigned>(digit < 16 ? digit : digit - 6);
      ++at_;
    }
    return true;
  }

  static void encode(std::string& out, unsigned code) {
    const auto put = [&](unsigned byte) { out.push_back(static_cast<char>(byte)); };
    if (code < 0x80) {
      put(code);
    } else if (code < 0x800) {
      put(0xc0 | (code >> 6));
      put(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      put(0xe0 | (code >> 12));
      put(0x80 | ((code >> 6) & 0x3f));
      put(0x80 | (code & 0x3f));
    } else {
      put(0xf0 | (code >> 18));
      put(0x80 | ((code >> 12) & 0x3f));
      put(0x80 | ((code >> 6) & 0x3f));
      put(0x80 | (code & 0x3f));
    }
  }

  // Behind a backslash. Surrogates come in pairs or not at all.
  bool escape(std::string& out) {
    const std::string_view names = "\"\\/bfnrt";
    const std::string_view means = "\"\\/\b\f\n\r\t";
    if (const std::size_t i = names.find(peek()); peek() != '\0' && i != std::string_view::npos) {
      out.push_back(means[i]);
      ++at_;
      return true;
    }
    unsigned code = 0;
    if (!take('u') || !hex4(code)) return false;
    if (code >= 0xdc00 && code <= 0xdfff) return false;
    if (code >= 0xd800 && code <= 0xdbff) {
      unsigned low = 0;
      if (!take("\\u") || !hex4(low) || low < 0xdc00 || low > 0xdfff) return false;
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    encode(out, code);
    return true;
  }

  // One character that stands for itself: its bytes must be what encode() makes of it.
  bool plain(std::string& out) {
    const auto lead = static_cast<unsigned char>(peek());
    if (lead < 0x20) return false;
    const std::size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (at_ + size > text_.size()) return false;
    unsigned code = size == 1 ? lead : lead & (0xffU >> (size + 1));
    for (std::size_t i = 1; i < size; ++i)
      code = code << 6 | (static_cast<unsigned char>(text_[at_ + i]) & 0x3f);
    std::string again;
    encode(again, code);
    if (again != text_.substr(at_, size) || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
      return false;
    out += again;
    at_ += size;
    return true;
  }

  bool string() {
    if (!take('"')) return false;
    std::string out;
    while (!take('"')) {
      if (at_ >= text_.size()) return false;
      if (!(take('\\') ? escape(out) : plain(out))) return false;
    }
    strings_.push_back(std::move(out));
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> strings_;
  std::vector<std::string> numbers_;
};

}  // namespace casemate::fuzz
