#include "policy/tokens.h"

#include <algorithm>
#include <array>
#include <utility>

#include "json/utf8.h"

namespace casemate::policy {
namespace {

constexpr std::size_t kShownMax = 40;
// Longer ones first.
constexpr std::array<std::string_view, 20> kSigns = {"==", "!=", "<=", ">=", "!~", "<", ">", "~", "=", "(",
                                                     ")",  "[",  "]",  "{",  "}",  ",", ".", "*", ":", "@"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits_from(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

// Where the number ends that begins the text. What follows is looked at no further: "5EUR" is 5 and a name.
std::size_t number_size(std::string_view text) {
  std::size_t end = digits_from(text, text.front() == '-' ? 1 : 0);
  if (end + 1 < text.size() && text[end] == '.' && is_digit(text[end + 1])) end = digits_from(text, end + 1);
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    std::size_t exponent = end + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
    if (exponent < text.size() && is_digit(text[exponent])) end = digits_from(text, exponent);
  }
  return end;
}

}  // namespace

Tokens::Tokens(std::string_view text, std::size_t base) : text_(text), base_(base) { advance(); }

Token Tokens::take() {
  Token token = std::move(next_);
  advance();
  return token;
}

bool Tokens::take_if(std::string_view sign_or_name) {
  if (!next_.is(sign_or_name)) return false;
  advance();
  return true;
}

Result<void> Tokens::expect(std::string_view sign) {
  if (take_if(sign)) return {};
  return fail_at(next_, "`" + std::string(sign) + "` is due here");
}

Result<void> Tokens::expect_end() {
  if (next_.kind == Token::Kind::kEnd && broken_.empty()) return {};
  return fail_at(next_, "nothing may follow here");
}

tl::unexpected<Error> Tokens::fail_at(const Token& token, const std::string& what) {
  const bool about_broken = !broken_.empty() && token.offset >= broken_offset_;
  fault_offset_ = about_broken ? broken_offset_ : token.offset;
  if (about_broken) return fail(ErrorCode::kInvalid, broken_);
  const std::string found =
      token.kind == Token::Kind::kEnd ? "the end" : "`" + json::one_line(token.raw, kShownMax) + "`";
  return fail(ErrorCode::kInvalid, what + ", not " + found);
}

void Tokens::advance() {
  while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  next_ = read_one();
}

Token Tokens::broken(std::size_t offset, std::string what) {
  if (broken_.empty()) {
    broken_ = std::move(what);
    broken_offset_ = base_ + offset;
  }
  at_ = text_.size();
  return Token{Token::Kind::kEnd, {}, {}, base_ + offset};
}

Token Tokens::read_one() {
  Token token;
  token.offset = base_ + at_;
  if (at_ == text_.size()) return token;
  const std::string_view rest = text_.substr(at_);
  const char c = rest.front();
  if (c == '\'' || c == '"') return read_string();
  if (is_letter(c)) {
    const auto end = std::find_if_not(
        rest.begin(), rest.end(), [](char next) { return is_letter(next) || is_digit(next) || next == '-'; });
    token.kind = Token::Kind::kName;
    token.raw = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
  } else if (is_digit(c) || (c == '-' && rest.size() > 1 && is_digit(rest[1]))) {
    token.kind = Token::Kind::kNumber;
    token.raw = rest.substr(0, number_size(rest));
  } else {
    const auto* const sign = std::find_if(kSigns.begin(), kSigns.end(),
                                          [&](std::string_view known) { return rest.starts_with(known); });
    if (sign == kSigns.end()) {
      const json::Char shown = json::decode(rest);
      return broken(at_,
                    "`" + json::one_line(rest.substr(0, shown.size), kShownMax) + "` means nothing here");
    }
    token.kind = Token::Kind::kSign;
    token.raw = rest.substr(0, sign->size());
  }
  at_ += token.raw.size();
  return token;
}

Token Tokens::read_string() {
  const std::size_t begin = at_;
  const char quote = text_[at_++];
  Token token{Token::Kind::kString, {}, {}, base_ + begin};
  while (at_ < text_.size()) {
    const std::size_t end = std::min(text_.find(quote, at_), text_.size());
    token.text += text_.substr(at_, end - at_);
    at_ = std::min(end + 1, text_.size());
    if (end == text_.size()) break;
    if (at_ == text_.size() || text_[at_] != quote) {
      token.raw = text_.substr(begin, at_ - begin);
      return token;
    }
    token.text += quote;  // written twice
    ++at_;
  }
  return broken(begin, "the string that begins here does not end");
}

}  // namespace casemate::policy
