// Cutting text at a separator. Not by std::istringstream, which brings up the locales of a program that
// has no other use for them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace casemate {

// The parts between separators; one that ends the text begins no further part. Nothing for no text.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace casemate
