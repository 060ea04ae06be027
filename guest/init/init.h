// What casemate-init finds where its launcher has put it.
#pragma once

namespace casemate::guest {

// The program's standard input, if it has any; removed when it is open. In the layer.
inline constexpr const char* kInput = "/vol/run/stdin";

}  // namespace casemate::guest
