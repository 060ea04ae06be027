// The pieces that conditions, flow rules, amounts and calls are written with: names, numbers, strings, signs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace casemate::policy {

struct Token {
  enum class Kind : unsigned char { kName, kNumber, kString, kSign, kEnd };
  Kind kind = Kind::kEnd;
  std::string_view raw;  // as it stands in the text; valid as long as that
  std::string text;      // of a string: what it says
  std::size_t offset = 0;

  bool is(std::string_view sign_or_name) const {
    return (kind == Kind::kSign || kind == Kind::kName) && raw == sign_or_name;
  }
};

// A name is a letter or "_", then letters, digits, "_" and "-". A number is spelled as in JSON. A string
// stands in single or double quotes, and in it its quote is written twice; a backslash means nothing. Signs
// are the operators, brackets, commas, colons and points. Blanks, tabs and line ends separate.
//
// One thread. Holds the text's place, nothing of its content; the text must outlive it.
class Tokens {
 public:
  // `base` is added to every offset: where `text` begins in what the caller was given.
  explicit Tokens(std::string_view text, std::size_t base = 0);

  // The next token. One that is malformed is the end, and fault() says why.
  const Token& peek() const { return next_; }
  Token take();
  // Takes the next one if it is this sign or bare name.
  bool take_if(std::string_view sign_or_name);
  // Errors: invalid; "`)` is due here".
  Result<void> expect(std::string_view sign);
  Result<void> expect_end();

  // An error about this token, whose offset is remembered: fault_offset(). If the text has a piece that is no
  // token, the error is about that.
  tl::unexpected<Error> fail_at(const Token& token, const std::string& what);
  std::size_t fault_offset() const { return fault_offset_; }

 private:
  void advance();
  Token read_one();
  Token read_string();
  Token broken(std::size_t offset, std::string what);

  std::string_view text_;
  std::size_t base_;
  std::size_t at_ = 0;
  Token next_;
  std::string broken_;  // why there is no token at broken_offset_; empty: there is
  std::size_t broken_offset_ = 0;
  std::size_t fault_offset_ = 0;
};

}  // namespace casemate::policy
