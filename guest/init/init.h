// What casemate-init finds where its launcher has put it.
#pragma once

namespace casemate::guest {

// The program's standard input, if it has any; removed when it is open.
inline constexpr const char* kInput = "/run/stdin";
inline constexpr const char* kInputName = "stdin";  // in the guest's /run

}  // namespace casemate::guest
