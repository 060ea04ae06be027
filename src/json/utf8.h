// Bytes that a guest wrote, made into text that is safe to hand on.
//
// Three steps, and each caller takes the ones that it needs: to_text() makes valid UTF-8 and says
// whether something was lost; escape_control() makes text that neither moves a terminal's cursor
// nor hides characters from a reader; one_line() makes one bounded line. All of them take linear
// time and memory, whatever the input.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace casemate::json {

inline constexpr char32_t kReplacement = 0xFFFD;

// The first character of some bytes, by table 3-7 of the Unicode Standard: no surrogates, nothing
// overlong, nothing above U+10FFFF.
struct Char {
  enum class Kind : unsigned char {
    kValid,
    kInvalid,     // `size` bytes are a maximal subpart: they become one U+FFFD together
    kUnfinished,  // all the bytes there are, and more could complete them
  };
  char32_t code = kReplacement;
  std::size_t size = 0;  // at least 1
  Kind kind = Kind::kInvalid;
};

// `bytes` must not be empty.
Char decode(std::string_view bytes);
// `code` must be a scalar value: not a surrogate and at most U+10FFFF.
void append_utf8(std::string& out, char32_t code);

bool is_valid_utf8(std::string_view bytes);

struct Text {
  std::string text;    // always valid UTF-8
  bool lossy = false;  // something was replaced: the exact bytes are not in `text`
};

// Each maximal subpart of an ill-formed sequence becomes one U+FFFD (Unicode 15, section 3.9, "best
// practice"; what Python, browsers and the WHATWG decoder do too).
Text to_text(std::string_view bytes);

// How many of the bytes can be decoded now without looking at what follows: all but an unfinished
// character at the end (0 to 3 bytes). Bytes that nothing can complete count as ready.
std::size_t complete_prefix(std::string_view bytes);

// Decodes a stream that arrives in pieces of any size. The pieces' texts put together are
// to_text() of the whole, so a character split over two reads is never damaged.
// One thread. Holds at most three bytes.
class TextStream {
 public:
  // Appends what can be said now.
  void feed(std::string_view bytes, std::string& out);
  // The stream has ended: what is still held cannot be completed any more.
  void finish(std::string& out);
  bool lossy() const { return lossy_; }

 private:
  std::string held_;
  bool lossy_ = false;
};

// What a carriage return that no newline follows means.
enum class CarriageReturn {
  kFinalState,  // a progress line is overwritten: only what the line says in the end is kept
  kPass,        // it is passed on, for a live terminal
};

// Takes the power out of text, piece by piece.
//
// Removed: well-formed terminal sequences (ECMA-48 CSI, OSC, DCS, SOS, PM, APC and two-character
// escapes). Kept: newline and tab. Shown as \x1b, \u202e, \U000e0041: every other control character,
// an escape that begins nothing well-formed, the line and paragraph separators, the bidirectional
// overrides (Trojan Source, CVE-2021-42574), and the tag characters, which a model reads and a
// person does not see. A sequence that does not end within kSequenceMax bytes is shown, not hidden.
// One thread. Holds at most kSequenceMax bytes.
class ControlEscaper {
 public:
  static constexpr std::size_t kSequenceMax = 1024;

  explicit ControlEscaper(CarriageReturn returns) : returns_(returns) {}

  // `text` is whole characters; bytes that are not UTF-8 become U+FFFD. With kFinalState `out` must
  // be the same string, untouched in between, until finish().
  void feed(std::string_view text, std::string& out);
  void finish(std::string& out);

 private:
  enum class State : unsigned char { kGround, kEscape, kCsi, kString, kStringEscape };

  void ground(char32_t code, std::string_view bytes, std::string& out);
  bool in_sequence(char32_t code, std::string_view bytes, std::string& out);
  void show_held(std::string& out);

  CarriageReturn returns_;
  State state_ = State::kGround;
  bool returned_ = false;       // a carriage return waits for the character that tells its meaning
  std::size_t line_start_ = 0;  // where the current line begins in `out`
  std::string held_;            // a sequence that has begun, its ESC included
};

// The whole of a text at once, overwritten lines in their final state.
std::string escape_control(std::string_view text);

// One line for a list or a label: valid UTF-8, controls escaped (newline and tab too), at most
// `bytes_max` bytes; when cut, it ends in "…". `bytes_max` must be at least 3.
std::string one_line(std::string_view bytes, std::size_t bytes_max);

// Cuts text to at most `bytes_max` bytes, between two characters.
std::string_view cut_text(std::string_view text, std::size_t bytes_max);

}  // namespace casemate::json
