// What a fuzz target is: one function that takes any bytes and must neither crash nor break one of
// the properties that it states with FUZZ_CHECK. libFuzzer calls it in the preset `fuzz`; in every
// other preset replay.cc calls it once for each file of its corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace casemate::fuzz {

inline std::string_view view(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

[[noreturn]] inline void property_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: property does not hold: %s\n", file, line, condition);
  std::abort();
}

}  // namespace casemate::fuzz

#define FUZZ_CHECK(condition)                          \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::casemate::fuzz::property_failed(__FILE__, __LINE__, #condition))
