#include "policy/call_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "json/reader.h"
#include "policy/tokens.h"
#include "policy/vocabulary.h"

namespace casemate::policy {
namespace {

class Parser {
 public:
  explicit Parser(Tokens& tokens) : tokens_(tokens) {}

  // From behind the opening bracket up to and with the closing one.
  Result<json::Value> arguments(std::string_view close) {
    std::vector<json::Member> members;
    if (tokens_.take_if(close)) return json::Value::object(std::move(members));
    do {
      const Token key = tokens_.take();
      if (key.kind != Token::Kind::kName && key.kind != Token::Kind::kString) {
        return tokens_.fail_at(key, "the name of an argument is due here");
      }
      std::string name = key.kind == Token::Kind::kString ? key.text : std::string(key.raw);
      const bool twice = std::any_of(members.begin(), members.end(),
                                     [&](const json::Member& member) { return member.key == name; });
      if (twice) return tokens_.fail_at(key, "an argument is given once");
      TRY(tokens_.expect("="));
      json::Value content = TRY(value());  // not in the braces below: leaving them by an error leaks the name
      members.push_back({std::move(name), std::move(content)});
    } while (tokens_.take_if(","));
    TRY(tokens_.expect(close));
    return json::Value::object(std::move(members));
  }

 private:
  Result<json::Value> value() {
    const Token token = tokens_.take();
    if (token.kind == Token::Kind::kString) return json::Value::string(token.text);
    if (token.kind == Token::Kind::kNumber) return number(token);
    if (token.is("true") || token.is("false")) return json::Value::boolean(token.is("true"));
    if (token.is("null")) return json::Value();
    if (!token.is("[") && !token.is("{")) return tokens_.fail_at(token, "a value is due here");
    if (++depth_ > kConditionDepthMax) return tokens_.fail_at(token, "too many lists in each other");
    auto inner = token.is("[") ? list() : arguments("}");
    --depth_;
    return inner;
  }

  Result<json::Value> number(const Token& token) {
    const auto read = json::read(token.raw);
    if (!read) return tokens_.fail_at(token, "a number as JSON spells it is due here");
    return json::Value::number(std::string(token.raw));
  }

  Result<json::Value> list() {
    std::vector<json::Value> items;
    if (tokens_.take_if("]")) return json::Value::array(std::move(items));
    do {
      items.push_back(TRY(value()));
    } while (tokens_.take_if(","));
    TRY(tokens_.expect("]"));
    return json::Value::array(std::move(items));
  }

  Tokens& tokens_;
  std::size_t depth_ = 0;
};

}  // namespace

Result<CallText> parse_call(std::string_view text, std::size_t& fault_offset) {
  fault_offset = 0;
  if (text.size() > kPatternMax) {
    return fail(ErrorCode::kExhausted, "a call has more than " + std::to_string(kPatternMax) + " bytes");
  }
  const std::size_t bracket = std::min(text.find('('), text.size());
  CallText call;
  call.capability = text.substr(0, bracket);
  if (!is_capability_name(call.capability)) {
    return fail(ErrorCode::kInvalid, "the name of a capability is due at the beginning of a call");
  }
  if (bracket == text.size()) {
    fault_offset = bracket;
    return fail(ErrorCode::kInvalid, "`(` is due here");
  }
  const std::string_view inside = text.substr(bracket + 1);
  if (inside.find_first_not_of(' ') == inside.find('{') && inside.find('{') != std::string_view::npos) {
    fault_offset = bracket + 1;
    if (inside.back() != ')') return fail(ErrorCode::kInvalid, "`)` is due at the end");
    call.arguments = TRY(json::read(inside.substr(0, inside.size() - 1), {.depth_max = kConditionDepthMax}));
    return call;
  }
  Tokens tokens(inside, bracket + 1);
  auto arguments = Parser(tokens).arguments(")");
  auto ended = arguments ? tokens.expect_end() : Result<void>();
  if (!arguments || !ended) {
    fault_offset = tokens.fault_offset();
    return tl::unexpected(arguments ? ended.error() : arguments.error());
  }
  call.arguments = std::move(*arguments);
  return call;
}

}  // namespace casemate::policy
