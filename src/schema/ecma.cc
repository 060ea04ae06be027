#include "schema/ecma.h"

#include <array>
#include <cstdint>
#include <optional>

#include "json/utf8.h"

namespace casemate::schema {
namespace {

// ECMA-262: WhiteSpace and LineTerminator, and all other code points. As contents of a class.
constexpr std::string_view kSpaces =
    "\\x{9}-\\x{d}\\x{20}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{"
    "feff}";
constexpr std::string_view kNoSpaces =
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{"
    "202a}-\\x{202e}"
    "\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}";
constexpr std::string_view kNotALineEnd = "[^\\x{a}\\x{d}\\x{2028}\\x{2029}]";
constexpr std::string_view kAnything = "(?s:.)";
constexpr std::string_view kNothing = "[^\\x{0}-\\x{10ffff}]";

// General categories by their long names (Unicode 14, PropertyValueAliases.txt). RE2 knows the short ones.
struct Category {
  std::string_view name;
  std::string_view short_name;
};
constexpr std::array kCategories = {
    Category{"Letter", "L"},
    Category{"Cased_Letter", "LC"},
    Category{"Uppercase_Letter", "Lu"},
    Category{"Lowercase_Letter", "Ll"},
    Category{"Titlecase_Letter", "Lt"},
    Category{"Modifier_Letter", "Lm"},
    Category{"Other_Letter", "Lo"},
    Category{"Mark", "M"},
    Category{"Nonspacing_Mark", "Mn"},
    Category{"Spacing_Mark", "Mc"},
    Category{"Enclosing_Mark", "Me"},
    Category{"Number", "N"},
    Category{"Decimal_Number", "Nd"},
    Category{"digit", "Nd"},
    Category{"Letter_Number", "Nl"},
    Category{"Other_Number", "No"},
    Category{"Punctuation", "P"},
    Category{"punct", "P"},
    Category{"Symbol", "S"},
    Category{"Math_Symbol", "Sm"},
    Category{"Currency_Symbol", "Sc"},
    Category{"Separator", "Z"},
    Category{"Space_Separator", "Zs"},
    Category{"Control", "Cc"},
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
std::optional<unsigned> hex_digit(char c) {
  if (is_digit(c)) return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

class Respeller {
 public:
  explicit Respeller(std::string_view pattern) : pattern_(pattern) {}

  Result<std::string> run() {
    while (!rest().empty()) {
      if (in_class_) {
        TRY(class_step());
      } else {
        TRY(step());
      }
    }
    if (in_class_) return refuse("the class that begins with \"[\" does not end");
    return std::move(out_);
  }

 private:
  std::string_view rest() const { return pattern_.substr(at_); }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0';
  }
  tl::unexpected<Error> refuse(const std::string& what) const {
    return fail(ErrorCode::kInvalid, "at byte " + std::to_string(at_) + ": " + what);
  }
  void put(std::string_view text, std::size_t taken) {
    out_ += text;
    at_ += taken;
  }
  void put_code(std::uint32_t code) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string hex;
    do hex.insert(hex.begin(), kDigits[code & 0xF]);
    while ((code >>= 4) != 0);
    out_ += "\\x{" + hex + "}";
  }

  // One thing outside of a class.
  Result<void> step() {
    switch (peek()) {
      case '\\': return escape();
      case '.': put(kNotALineEnd, 1); return {};
      case '(': return group();
      case '[':
        if (rest().starts_with("[^]")) {
          put(kAnything, 3);
        } else if (rest().starts_with("[]")) {
          put(kNothing, 2);
        } else {
          in_class_ = true;
          const bool negated = peek(1) == '^';
          put(negated ? "[^" : "[", negated ? 2 : 1);
        }
        return {};
      default: literal(); return {};
    }
  }

  // One thing inside of a class. "[" is itself here; to RE2 it may begin [:alpha:].
  Result<void> class_step() {
    switch (peek()) {
      case '\\': return escape();
      case '[': put("\\[", 1); return {};
      case '^': put("\\^", 1); return {};
      case ']':
        in_class_ = false;
        put("]", 1);
        return {};
      default: literal(); return {};
    }
  }

  // A character that both read alike; one beyond ASCII is copied whole.
  void literal() {
    const std::size_t size = json::decode(rest()).size;
    put(rest().substr(0, size), size);
  }

  Result<void> group() {
    if (peek(1) != '?') {
      put("(?:", 1);  // what it captured is never asked for
      return {};
    }
    if (peek(2) == ':') {
      put("(?:", 3);
      return {};
    }
    if (peek(2) == '=' || peek(2) == '!')
      return refuse("looking ahead, \"(?=\" or \"(?!\", is not supported");
    if (peek(2) == '<' && (peek(3) == '=' || peek(3) == '!')) {
      return refuse("looking behind, \"(?<=\" or \"(?<!\", is not supported");
    }
    if (peek(2) == '<') {
      const std::size_t end = rest().find('>');
      if (end == std::string_view::npos || end == 3) return refuse("the group's name does not end");
      for (const char c : rest().substr(3, end - 3)) {
        if (!is_letter(c) && !is_digit(c) && c != '_')
          return refuse("a group's name is letters, digits and \"_\"");
      }
      put("(?:", end + 1);
      return {};
    }
    return refuse("after \"(?\" only \":\" or \"<name>\" may follow");
  }

  Result<void> escape() {
    const char c = peek(1);
    switch (c) {
      case 'd':
      case 'D':
      case 'w':
      case 'W': return put_class(rest().substr(0, 2), 2);
      case 's': return put_class(kSpaces, 2);
      case 'S': return put_class(kNoSpaces, 2);
      case 'b': put(in_class_ ? "\\x{8}" : "\\b", 2); return {};
      case 'B':
        if (in_class_) return refuse("\"\\B\" has no meaning in a class");
        put("\\B", 2);
        return {};
      case 't':
      case 'n':
      case 'v':
      case 'f':
      case 'r': put(rest().substr(0, 2), 2); return {};
      case 'p':
      case 'P': return property();
      case 'c':
        if (!is_letter(peek(2))) return refuse("a letter is due after \"\\c\"");
        put_code(static_cast<unsigned char>(peek(2)) & 0x1FU);
        at_ += 3;
        return {};
      case 'x': return hex(2, 2);
      case 'u': return unicode();
      case '0':
        if (is_digit(peek(2))) return refuse("octal escapes are not supported");
        put("\\x{0}", 2);
        return {};
      default: break;
    }
    if (is_digit(c) || c == 'k') return refuse("references back to a group are not supported");
    if (c == '\0' || is_letter(c)) return refuse("no such escape");
    return escaped_literal();
  }

  // A backslash before what is no letter and no digit: the character itself.
  Result<void> escaped_literal() {
    ++at_;
    if (static_cast<unsigned char>(peek()) >= 0x80) {
      literal();
      return {};
    }
    put_code(static_cast<unsigned char>(peek()));
    ++at_;
    return {};
  }

  // What stands for several characters. It cannot be an end of a range: [\w-.] has three members, a hyphen
  // too.
  Result<void> put_class(std::string_view contents, std::size_t taken) {
    if (!in_class_) {
      out_ += '[';
      put(contents, taken);
      out_ += ']';
      return {};
    }
    if (out_.ends_with('-') && !out_.ends_with("[-") && !out_.ends_with("[^-")) {
      return refuse("a range ends with one character, not with a class");
    }
    put(contents, taken);
    if (peek() == '-' && peek(1) != ']') {
      put_code('-');
      ++at_;
    }
    return {};
  }

  std::optional<std::uint32_t> hex_at(std::size_t from, std::size_t count) const {
    std::uint32_t code = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::optional<unsigned> digit = hex_digit(peek(from + i));
      if (!digit) return std::nullopt;
      code = code << 4 | *digit;
    }
    return code;
  }

  Result<void> hex(std::size_t from, std::size_t count) {
    const std::optional<std::uint32_t> code = hex_at(from, count);
    if (!code) return refuse(std::to_string(count) + " hex digits are due here");
    put_code(*code);
    at_ += from + count;
    return {};
  }

  // \uXXXX, a pair of them for what is beyond the first plane, \u{X…}.
  Result<void> unicode() {
    if (peek(2) == '{') {
      const std::size_t end = rest().find('}');
      if (end == std::string_view::npos || end == 3 || end > 9)
        return refuse("one to six hex digits are due in \"\\u{}\"");
      const std::optional<std::uint32_t> code = hex_at(3, end - 3);
      if (!code || *code > 0x10FFFF) return refuse("there is no such character");
      put_code(*code);
      at_ += end + 1;
      return {};
    }
    const std::optional<std::uint32_t> code = hex_at(2, 4);
    if (!code) return refuse("four hex digits are due after \"\\u\"");
    if (*code < 0xD800 || *code > 0xDFFF) return hex(2, 4);
    const std::optional<std::uint32_t> low = hex_at(8, 4);
    if (*code > 0xDBFF || peek(6) != '\\' || peek(7) != 'u' || !low || *low < 0xDC00 || *low > 0xDFFF) {
      return refuse("half of a surrogate pair stands alone");
    }
    put_code(0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00));
    at_ += 12;
    return {};
  }

  // \p{L}, \p{Letter}, \p{General_Category=Letter}, \p{Script=Greek}; \P likewise.
  Result<void> property() {
    const std::size_t end = rest().find('}');
    if (peek(2) != '{' || end == std::string_view::npos || end == 3) {
      return refuse("the name of a property is due in braces: \"\\p{L}\"");
    }
    std::string_view name = rest().substr(3, end - 3);
    for (const std::string_view prefix : {"General_Category=", "gc=", "Script=", "sc="}) {
      if (name.starts_with(prefix)) {
        name.remove_prefix(prefix.size());
        break;
      }
    }
    for (const Category& category : kCategories) {
      if (name == category.name) {
        name = category.short_name;
        break;
      }
    }
    for (const char c : name) {
      if (!is_letter(c) && c != '_') return refuse("no such property");
    }
    std::string spelled = name == "LC" ? "\\p{Lu}\\p{Ll}\\p{Lt}" : "\\p{" + std::string(name) + "}";
    if (peek(1) == 'P' && name == "LC") return refuse("\"\\P{LC}\" is not supported");
    if (peek(1) == 'P') spelled[1] = 'P';
    return put_class(spelled, end + 1);
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  bool in_class_ = false;
  std::string out_;
};

}  // namespace

Result<std::string> respell_for_re2(std::string_view pattern) { return Respeller(pattern).run(); }

}  // namespace casemate::schema
