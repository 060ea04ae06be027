#include "policy/flow.h"

#include <utility>

#include "base/limits.h"

namespace casemate::policy {
namespace {

std::string_view text_of(const Token& token) {
  return token.kind == Token::Kind::kString ? std::string_view(token.text) : token.raw;
}

bool is_word(const Token& token) {
  return (token.kind == Token::Kind::kName || token.kind == Token::Kind::kString) && is_label(text_of(token));
}

// `sink == external`, `effect != spend`, from the sign on.
Result<FlowTest> parse_word_test(Tokens& tokens, FlowTest::Kind kind) {
  FlowTest test;
  test.kind = kind;
  test.negated = tokens.peek().is("!=");
  if (!tokens.take_if("!=")) TRY(tokens.expect("=="));
  const Token token = tokens.take();
  if (!is_word(token)) return tokens.fail_at(token, "a word of small letters is due here");
  test.word = text_of(token);
  test.offset = token.offset;
  if (kind == FlowTest::Kind::kSink) return test;
  const auto effect = effect_of(test.word);
  if (!effect) {
    return tokens.fail_at(token,
                          "an effect is due here: spend, message, external, irreversible or regulated");
  }
  test.effect = *effect;
  return test;
}

Result<FlowTest> parse_test(Tokens& tokens) {
  const Token token = tokens.take();
  if (token.is("sink")) return parse_word_test(tokens, FlowTest::Kind::kSink);
  if (token.is("effect")) return parse_word_test(tokens, FlowTest::Kind::kEffect);
  if (!is_word(token)) return tokens.fail_at(token, "a label, `sink` or `effect` is due here");
  FlowTest test;
  test.word = text_of(token);
  test.offset = token.offset;
  test.negated = tokens.take_if("not");
  TRY(tokens.expect("in"));
  TRY(tokens.expect("run"));
  return test;
}

}  // namespace

Result<FlowCondition> FlowCondition::parse(std::string_view text, std::size_t& fault_offset) {
  fault_offset = 0;
  if (text.size() > kPatternMax) {
    return fail(ErrorCode::kExhausted, "a condition has more than " + std::to_string(kPatternMax) + " bytes");
  }
  FlowCondition condition;
  Tokens tokens(text);
  auto formula = parse_formula(tokens, [&]() -> Result<std::size_t> {
    condition.tests_.push_back(TRY(parse_test(tokens)));
    return condition.tests_.size() - 1;
  });
  if (!formula) {
    fault_offset = tokens.fault_offset();
    return tl::unexpected(formula.error());
  }
  condition.formula_ = std::move(*formula);
  return condition;
}

bool FlowCondition::holds(const Labels& run, const Passage& passage) const {
  if (run.overflow() || holds_with(run, passage, passage.effects)) return true;
  Effects all = passage.effects;
  all.add(passage.warned);
  return holds_with(run, passage, all);
}

bool FlowCondition::holds_with(const Labels& run, const Passage& passage, Effects effects) const {
  const auto answer = evaluate(formula_, [&](std::size_t number) {
    const FlowTest& test = tests_[number];
    bool truth = false;
    switch (test.kind) {
      case FlowTest::Kind::kLabel: truth = run.has(test.word); break;
      case FlowTest::Kind::kSink: truth = passage.sinks.find(test.word) != passage.sinks.end(); break;
      case FlowTest::Kind::kEffect: truth = effects.has(test.effect); break;
    }
    return Answer::of(truth != test.negated);
  });
  return answer.truth == Truth::kTrue;
}

}  // namespace casemate::policy
