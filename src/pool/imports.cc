#include "pool/imports.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/limits.h"

namespace casemate::pool {
namespace {

struct Known {
  std::string_view module;
  PreloadSet set;
};
// Top-level modules that need a set's packages: these themselves, and what imports them first thing.
constexpr std::array kKnown = {
    Known{"numpy", PreloadSet::kNumpy},        Known{"matplotlib", PreloadSet::kNumpy},
    Known{"pylab", PreloadSet::kNumpy},        Known{"scipy", PreloadSet::kNumpy},
    Known{"sklearn", PreloadSet::kNumpy},      Known{"skimage", PreloadSet::kNumpy},
    Known{"cv2", PreloadSet::kNumpy},          Known{"numexpr", PreloadSet::kNumpy},
    Known{"pandas", PreloadSet::kPandas},      Known{"seaborn", PreloadSet::kPandas},
    Known{"statsmodels", PreloadSet::kPandas}, Known{"geopandas", PreloadSet::kPandas},
    Known{"xarray", PreloadSet::kPandas},
};

// Of a name, as far as this scanner cares: every byte beyond ASCII is part of one.
bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Statements begin at a line, after a semicolon or a colon, outside of brackets; in brackets there are
// none. Strings and comments are passed over. An f-string is passed over like any other string: where
// one of Python 3.12 has its own quote inside braces, it is taken for two strings with a name between.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  PreloadSet scan() {
    while (at_ < text_.size() && found_ != PreloadSet::kPandas) {
      statement();
      pass_statement();
    }
    return found_;
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool at_line_end() const { return at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r'); }

  // A backslash and the byte or line end after it.
  void pass_escaped() {
    const std::size_t count = text_.substr(at_ + 1).starts_with("\r\n") ? 3u : 2u;
    at_ = std::min(at_ + count, text_.size());
  }

  // Blanks, and line ends after a backslash.
  void pass_blanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\f') {
        ++at_;
      } else if (c == '\\' && at_ + 1 < text_.size() && (text_[at_ + 1] == '\n' || text_[at_ + 1] == '\r')) {
        pass_escaped();
      } else {
        return;
      }
    }
  }

  std::string_view name() {
    const std::size_t from = at_;
    while (at_ < text_.size() && is_name_byte(text_[at_])) ++at_;
    return text_.substr(from, at_ - from);
  }

  // "a.b.c"; yields "a". Empty when there is none, also for a relative ".a".
  std::string_view module() {
    const std::string_view first = name();
    pass_blanks();
    while (peek() == '.') {
      ++at_;
      pass_blanks();
      (void)name();  // only the first part says which package it is
      pass_blanks();
    }
    return first;
  }

  void statement() {
    pass_blanks();
    const std::string_view keyword = name();
    if (keyword == "import") {
      do {
        pass_blanks();
        note(module());
        if (name() == "as") {
          pass_blanks();
          (void)name();  // what it is called here does not matter
          pass_blanks();
        }
      } while (take(','));
    } else if (keyword == "from") {
      pass_blanks();
      const std::string_view source = module();
      if (name() == "import") note(source);
    }
  }

  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  void note(std::string_view module) {
    for (const Known& known : kKnown) {
      if (known.module == module) found_ = std::max(found_, known.set);
    }
  }

  // To the beginning of the next statement.
  void pass_statement() {
    std::size_t depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && !at_line_end()) ++at_;
        continue;
      }
      if (c == '\'' || c == '"') {
        pass_string(c);
        continue;
      }
      if (c == '\\') {
        pass_escaped();
        continue;
      }
      ++at_;
      if (c == '(' || c == '[' || c == '{') {
        ++depth;
      } else if (c == ')' || c == ']' || c == '}') {
        if (depth > 0) --depth;
      } else if (depth == 0 && (c == '\n' || c == '\r' || c == ';' || c == ':')) {
        return;
      }
    }
  }

  // A backslash keeps the next byte from ending it, in a raw string too. One that is not triple ends with
  // its line, closed or not.
  void pass_string(char quote) {
    const bool triple = text_.size() - at_ >= 3 && text_[at_ + 1] == quote && text_[at_ + 2] == quote;
    at_ += triple ? 3 : 1;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\') {
        pass_escaped();
      } else if (c == quote && !triple) {
        ++at_;
        return;
      } else if (c == quote && text_.substr(at_ + 1).starts_with(quote) &&
                 text_.substr(at_ + 2).starts_with(quote)) {
        at_ += 3;
        return;
      } else if (!triple && at_line_end()) {
        return;
      } else {
        ++at_;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  PreloadSet found_ = PreloadSet::kBare;
};

}  // namespace

PreloadSet preload_for(std::string_view program) {
  std::string_view text = program.substr(0, kImportScanMax);
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return Scanner(text).scan();
}

}  // namespace casemate::pool
