// What a guest sends as calls: whatever it is, it is a call within the bounds, or refused.
#include "base/limits.h"
#include "bridge/call_reader.h"
#include "fuzz.h"
#include "json/utf8.h"

namespace casemate {
namespace {

void read_calls(std::string_view input) {
  constexpr Bytes kArguments = kib(4);
  bridge::CallReader calls(kArguments);
  frame::Reader frames;
  if (!frames.feed(input)) return;
  frame::Frame frame;
  std::uint64_t last = 0;
  for (auto whole = frames.next(frame); whole && *whole; whole = frames.next(frame)) {
    if (!bridge::CallReader::is_call(frame)) continue;
    const auto call = calls.add(frame);
    if (!call) return;
    if (!*call) continue;
    FUZZ_CHECK((*call)->number > last);
    last = (*call)->number;
    FUZZ_CHECK((*call)->arguments.size() <= kArguments.count);
    FUZZ_CHECK(!(*call)->name.empty() && (*call)->name.size() <= kCapabilityNameMax);
    FUZZ_CHECK(json::is_valid_utf8((*call)->name));
  }
}

}  // namespace
}  // namespace casemate

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  casemate::read_calls(casemate::fuzz::view(data, size));
  return 0;
}
