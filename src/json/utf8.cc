#include "json/utf8.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "base/check.h"

namespace casemate::json {
namespace {

constexpr std::string_view kReplacementBytes = "\xEF\xBF\xBD";
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";

unsigned byte_at(std::string_view bytes, std::size_t at) { return static_cast<unsigned char>(bytes[at]); }

// How many ASCII bytes the text begins with. Eight at a time: most output is ASCII.
std::size_t ascii_prefix(std::string_view bytes) {
  std::size_t at = 0;
  while (at + 8 <= bytes.size()) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    if ((word & 0x8080808080808080u) != 0) break;
    at += 8;
  }
  while (at < bytes.size() && byte_at(bytes, at) < 0x80) ++at;
  return at;
}

// The lead byte's row of table 3-7: length, and the range of the second byte.
struct Lead {
  std::size_t length = 0;  // 0: cannot begin a character
  unsigned second_min = 0x80;
  unsigned second_max = 0xBF;
};

Lead lead_of(unsigned first) {
  if (first >= 0xC2 && first <= 0xDF) return {2};
  if (first == 0xE0) return {3, 0xA0, 0xBF};  // overlong below
  if (first == 0xED) return {3, 0x80, 0x9F};  // surrogates above
  if (first >= 0xE1 && first <= 0xEF) return {3};
  if (first == 0xF0) return {4, 0x90, 0xBF};  // overlong below
  if (first >= 0xF1 && first <= 0xF3) return {4};
  if (first == 0xF4) return {4, 0x80, 0x8F};  // beyond U+10FFFF above
  return {};
}

// Characters that are shown by their number instead of being passed on.
bool must_show(char32_t code) {
  if (code < 0x20) return code != '\n' && code != '\t';
  return (code >= 0x7F && code <= 0x9F) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069) || (code >= 0xE0000 && code <= 0xE007F);
}

void show(char32_t code, std::string& out) {
  std::array<char, 16> buffer{};
  const char* form = code < 0x80 ? "\\x%02x" : code < 0x10000 ? "\\u%04x" : "\\U%08x";
  const int size = std::snprintf(buffer.data(), buffer.size(), form, static_cast<unsigned>(code));
  out.append(buffer.data(), static_cast<std::size_t>(size));
}

}  // namespace

Char decode(std::string_view bytes) {
  CHECK(!bytes.empty());
  const unsigned first = byte_at(bytes, 0);
  if (first < 0x80) return {first, 1, Char::Kind::kValid};
  const Lead lead = lead_of(first);
  if (lead.length == 0) return {kReplacement, 1, Char::Kind::kInvalid};
  char32_t code = first & (0x7Fu >> lead.length);
  for (std::size_t i = 1; i < lead.length; ++i) {
    if (i == bytes.size()) return {kReplacement, i, Char::Kind::kUnfinished};
    const unsigned next = byte_at(bytes, i);
    const unsigned low = i == 1 ? lead.second_min : 0x80;
    const unsigned high = i == 1 ? lead.second_max : 0xBF;
    if (next < low || next > high) return {kReplacement, i, Char::Kind::kInvalid};
    code = (code << 6) | (next & 0x3F);
  }
  return {code, lead.length, Char::Kind::kValid};
}

void append_utf8(std::string& out, char32_t code) {
  CHECK(code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF));
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  const auto rest = [&](int shift) { put(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0 | (code >> 6));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    rest(6);
  } else {
    put(0xF0 | (code >> 18));
    rest(12);
    rest(6);
  }
  rest(0);
}

bool is_valid_utf8(std::string_view bytes) {
  while (true) {
    bytes.remove_prefix(ascii_prefix(bytes));
    if (bytes.empty()) return true;
    const Char next = decode(bytes);
    if (next.kind != Char::Kind::kValid) return false;
    bytes.remove_prefix(next.size);
  }
}

Text to_text(std::string_view bytes) {
  Text result;
  result.text.reserve(bytes.size());
  TextStream stream;
  stream.feed(bytes, result.text);
  stream.finish(result.text);
  result.lossy = stream.lossy();
  return result;
}

std::size_t complete_prefix(std::string_view bytes) {
  // An unfinished character is one lead byte and at most two more, so only the last three matter.
  const std::size_t from = bytes.size() > 3 ? bytes.size() - 3 : 0;
  for (std::size_t at = from; at < bytes.size(); ++at) {
    if (byte_at(bytes, at) < 0xC2) continue;
    if (decode(bytes.substr(at)).kind == Char::Kind::kUnfinished) return at;
  }
  return bytes.size();
}

void TextStream::feed(std::string_view bytes, std::string& out) {
  // Completes what is held, a byte at a time: at most three steps.
  while (!held_.empty() && !bytes.empty()) {
    held_.push_back(bytes.front());
    const Char next = decode(held_);
    if (next.kind == Char::Kind::kUnfinished) {
      bytes.remove_prefix(1);
      continue;
    }
    if (next.kind == Char::Kind::kValid) {
      out.append(held_);
      bytes.remove_prefix(1);
    } else {  // the new byte does not belong to it and is looked at again
      out.append(kReplacementBytes);
      lossy_ = true;
    }
    held_.clear();
  }
  std::size_t good = 0;  // bytes at the front that are valid and not yet appended
  while (good < bytes.size()) {
    good += ascii_prefix(bytes.substr(good));
    if (good == bytes.size()) break;
    const Char next = decode(bytes.substr(good));
    if (next.kind == Char::Kind::kValid) {
      good += next.size;
      continue;
    }
    out.append(bytes.substr(0, good));
    bytes.remove_prefix(good);
    good = 0;
    if (next.kind == Char::Kind::kUnfinished) {
      held_.assign(bytes);
      return;
    }
    out.append(kReplacementBytes);
    lossy_ = true;
    bytes.remove_prefix(next.size);
  }
  out.append(bytes.substr(0, good));
}

void TextStream::finish(std::string& out) {
  if (held_.empty()) return;
  out.append(kReplacementBytes);
  lossy_ = true;
  held_.clear();
}

void ControlEscaper::feed(std::string_view text, std::string& out) {
  if (out.empty()) line_start_ = 0;
  while (!text.empty()) {
    const Char next = decode(text);
    const bool valid = next.kind == Char::Kind::kValid;
    const std::string_view bytes = valid ? text.substr(0, next.size) : kReplacementBytes;
    if (state_ == State::kGround || !in_sequence(next.code, bytes, out)) ground(next.code, bytes, out);
    text.remove_prefix(next.size);
  }
}

void ControlEscaper::ground(char32_t code, std::string_view bytes, std::string& out) {
  if (code == 0x1B) {
    state_ = State::kEscape;
    held_.assign(1, '\x1b');
    return;
  }
  if (code == '\r') {
    if (returns_ == CarriageReturn::kPass) {
      out.push_back('\r');
    } else {
      returned_ = true;
    }
    return;
  }
  if (returned_) {
    returned_ = false;
    if (code != '\n') out.resize(line_start_);  // what comes overwrites the line
  }
  if (must_show(code)) {
    show(code, out);
  } else {
    out.append(bytes);
  }
  if (code == '\n') line_start_ = out.size();
}

// Takes a character of a sequence that has begun. False when the character is no part of it: the
// sequence is over, shown as text, and the character stands for itself.
bool ControlEscaper::in_sequence(char32_t code, std::string_view bytes, std::string& out) {
  const auto take = [&](State next) {
    held_.append(bytes);
    state_ = next;
    return true;
  };
  const auto drop = [&] {
    held_.clear();
    state_ = State::kGround;
    return true;
  };
  if (held_.size() + bytes.size() <= kSequenceMax) {
    switch (state_) {
      case State::kGround: break;
      case State::kEscape:
        if (held_.size() == 1) {
          if (code == '[') return take(State::kCsi);
          if (code == ']' || code == 'P' || code == 'X' || code == '^' || code == '_')
            return take(State::kString);
        }
        if (code >= 0x20 && code <= 0x2F) return take(State::kEscape);  // intermediates, as in ESC ( B
        if (code >= 0x30 && code <= 0x7E) return drop();
        break;
      case State::kCsi:
        if (code >= 0x40 && code <= 0x7E) return drop();
        if (code >= 0x20 && code <= 0x3F) return take(State::kCsi);
        break;
      case State::kString:
        if (code == 0x07) return drop();
        if (code == 0x1B) return take(State::kStringEscape);
        if (code >= 0x20) return take(State::kString);
        break;
      case State::kStringEscape:
        if (code == '\\') return drop();
        held_.pop_back();  // the escape begins a sequence of its own
        show_held(out);
        ground(0x1B, "\x1b", out);
        return in_sequence(code, bytes, out);
    }
  }
  show_held(out);
  return false;
}

void ControlEscaper::show_held(std::string& out) {
  state_ = State::kGround;
  if (held_.empty()) return;
  if (returned_) {
    returned_ = false;
    out.resize(line_start_);
  }
  for (std::string_view rest = held_; !rest.empty();) {
    const Char next = decode(rest);
    if (must_show(next.code)) {
      show(next.code, out);
    } else {
      out.append(rest.substr(0, next.size));
    }
    rest.remove_prefix(next.size);
  }
  held_.clear();
}

void ControlEscaper::finish(std::string& out) {
  show_held(out);
  returned_ = false;  // nothing overwrote the line
}

std::string escape_control(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  ControlEscaper escaper(CarriageReturn::kFinalState);
  escaper.feed(text, out);
  escaper.finish(out);
  return out;
}

std::string_view cut_text(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  const std::string_view cut = text.substr(0, bytes_max);
  return cut.substr(0, complete_prefix(cut));
}

std::string one_line(std::string_view bytes, std::size_t bytes_max) {
  CHECK(bytes_max >= kEllipsis.size());
  // A character shown by its number grows, never shrinks; so the input needed is bounded too. The
  // few bytes more than bytes_max tell whether something is cut.
  const bool cut_before = bytes.size() > bytes_max + 4;
  const Text text = to_text(bytes.substr(0, bytes_max + 4));
  std::string line;
  for (std::string_view rest = text.text; !rest.empty();) {
    const Char next = decode(rest);
    if (next.code == '\n') {
      line.append("\\n");
    } else if (next.code == '\t') {
      line.append("\\t");
    } else if (next.code == '\r') {
      line.append("\\r");
    } else if (must_show(next.code)) {
      show(next.code, line);
    } else {
      line.append(rest.substr(0, next.size));
    }
    rest.remove_prefix(next.size);
  }
  if (line.size() <= bytes_max && !cut_before) return line;
  std::string result(cut_text(line, bytes_max - kEllipsis.size()));
  result.append(kEllipsis);
  return result;
}

}  // namespace casemate::json
