// A question as a person reads it. All of it is hostile text: what comes out has no control characters but
// line ends, drives no terminal, hides nothing, and is bounded.
#pragma once

#include <cstddef>
#include <string>

#include "approve/desk.h"

namespace casemate::approve {

inline constexpr std::size_t kArgumentsShownMax = std::size_t{4} << 10;

// Several lines, the last with its end: capability, rule, reason, labels with their sources, and the
// arguments indented. Of arguments that are longer than `arguments_max` bytes the size is said where they are
// cut.
std::string question_text(const Question& question, std::size_t arguments_max);

}  // namespace casemate::approve
