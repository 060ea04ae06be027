// Text cut into words that can be compared.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace casemate::catalog {

inline constexpr std::size_t kWordMax = 40;  // bytes; a longer one is cut

// Lower case, in the order of the text: "createPullRequest v2" is "create", "pull", "request", "v2". A word
// is letters and digits of ASCII or characters beyond it; only ASCII letters change their case. The commonest
// English words that tell nothing apart ("the", "of") are left out. A plural in -s loses its s. At most
// `most` words.
std::vector<std::string> words_of(std::string_view text, std::size_t most);

}  // namespace casemate::catalog
