#include "schema/pattern.h"

#include <re2/re2.h>

#include <string>
#include <utility>

#include "json/utf8.h"
#include "schema/ecma.h"

namespace casemate::schema {
namespace {

// For one compiled expression and what its searches remember. RE2 gives the expression a part of it: some
// 21,000 instructions.
constexpr std::int64_t kMemoryMax = std::int64_t{2} << 20;
constexpr std::size_t kComplaintMax = 120;

}  // namespace

struct Pattern::Compiled {
  Compiled(const std::string& spelled, const re2::RE2::Options& options) : expression(spelled, options) {}
  re2::RE2 expression;
};

Pattern::Pattern(std::unique_ptr<Compiled> compiled)
    : compiled_(std::move(compiled)), size_(static_cast<std::size_t>(compiled_->expression.ProgramSize())) {}
Pattern::Pattern(Pattern&& other) noexcept = default;
Pattern& Pattern::operator=(Pattern&& other) noexcept = default;
Pattern::~Pattern() = default;

Result<Pattern> Pattern::compile(std::string_view text) {
  if (text.size() > kPatternBytesMax) {
    return fail(ErrorCode::kExhausted, "a pattern may have " + std::to_string(kPatternBytesMax) + " bytes");
  }
  const std::string spelled = TRY(respell_for_re2(text));
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMemoryMax);
  options.set_never_capture(true);
  auto compiled = std::make_unique<Compiled>(spelled, options);
  const re2::RE2& expression = compiled->expression;
  if (expression.error_code() == re2::RE2::ErrorPatternTooLarge ||
      expression.error_code() == re2::RE2::ErrorRepeatSize) {
    return fail(
        ErrorCode::kExhausted,
        "the pattern is too large: a repetition may be up to {1000}, and all together are bounded; minLength "
        "and maxLength have no such limit");
  }
  if (!expression.ok()) {
    return fail(ErrorCode::kInvalid, json::one_line(expression.error(), kComplaintMax));
  }
  Pattern pattern(std::move(compiled));
  if (pattern.size() > kPatternSizeMax) {
    return fail(ErrorCode::kExhausted, "the pattern is too large: it compiles to " +
                                           std::to_string(pattern.size()) + " instructions and may have " +
                                           std::to_string(kPatternSizeMax));
  }
  return pattern;
}

bool Pattern::is_found_in(std::string_view text) const {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), compiled_->expression);
}

}  // namespace casemate::schema
