// pool::preload_for on any bytes taken as a program.
#include <string>
#include <string_view>

#include "base/limits.h"
#include "fuzz.h"
#include "pool/imports.h"

namespace casemate::pool {
namespace {

void check_program(std::string_view program) {
  const PreloadSet set = preload_for(program);
  const std::string text(program);
  // A guess has to come from somewhere.
  if (program.find("import") == std::string_view::npos) FUZZ_CHECK(set == PreloadSet::kBare);
  if (set == PreloadSet::kBare) return;
  if (text.size() + 32 > kImportScanMax) return;

  // What stands before or behind never takes a statement away, unless it swallows it.
  FUZZ_CHECK(preload_for("x = 'import numpy'  # \"\n" + text) == set || text.starts_with("\xef\xbb\xbf"));
  FUZZ_CHECK(preload_for(text + "\nimport numpy\n") >= set);
  FUZZ_CHECK(preload_for(text + "\nimport pandas\n") >= set);
  FUZZ_CHECK(preload_for("import pandas\n" + text) == PreloadSet::kPandas);
}

}  // namespace
}  // namespace casemate::pool

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  casemate::pool::check_program(casemate::fuzz::view(data, size));
  return 0;
}
