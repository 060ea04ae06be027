// A guess, from a program's text, at what a zygote should have imported for it.
#pragma once

#include <string_view>

#include "pool/preload.h"

namespace casemate::pool {

// The largest set that an import statement of the program asks for, in its first kImportScanMax bytes.
// The text is hostile: it is read once, left to right, and nothing of it is kept. A wrong guess costs
// time only, since the program imports what it needs anyway; so no grammar is checked, __import__() and
// importlib are not seen, and a statement that never runs counts.
PreloadSet preload_for(std::string_view program);

}  // namespace casemate::pool
