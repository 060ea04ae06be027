// What the launcher of a microvm hands on of the control channel, of either side: whole frames as they came,
// in order, and after a breach one thing that is no frame; what it notes of files lies beneath the layer.
//
// Input: one byte n, n bytes of chunk sizes, then the stream.
#include <algorithm>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "frame/frame.h"
#include "fuzz.h"
#include "microvm/control_filter.h"

namespace casemate::guest {
namespace {

using From = ControlFilter::From;

struct Through {
  std::string out;
  std::set<std::string> files;
};

Through through(From from, std::string_view stream, std::string_view sizes) {
  ControlFilter filter(from);
  Through seen;
  std::size_t turn = 0;
  while (!stream.empty()) {
    std::size_t size = stream.size();
    if (!sizes.empty())
      size = std::min<std::size_t>(size,
                                   std::size_t{1} + static_cast<unsigned char>(sizes[turn++ % sizes.size()]));
    seen.out += filter.take(stream.substr(0, size));
    stream.remove_prefix(size);
  }
  seen.files = filter.files();
  FUZZ_CHECK(filter.parked() >= 0 && filter.parked() <= frame::kParkRounds);
  return seen;
}

void check_files(const std::set<std::string>& files) {
  FUZZ_CHECK(files.size() <= ControlFilter::kFilesMax);
  for (const std::string& path : files) {
    FUZZ_CHECK(!path.empty() && path.front() != '/' && path.size() <= kPathMax + 5);  // "work/"
    FUZZ_CHECK(path.find('\0') == std::string::npos);
    for (std::size_t at = 0; at <= path.size();) {
      const std::size_t end = std::min(path.find('/', at), path.size());
      const std::string_view part = std::string_view(path).substr(at, end - at);
      FUZZ_CHECK(!part.empty() && part != "." && part != "..");
      at = end + 1;
    }
  }
}

void check_side(From from, std::string_view stream, std::string_view sizes) {
  const auto not_its = static_cast<std::uint16_t>(from == From::kGuest ? frame::GuestType::kEnded
                                                                       : frame::GuestType::kCollect);
  const Through whole = through(from, stream, {}), chunked = through(from, stream, sizes);
  FUZZ_CHECK(whole.out == chunked.out);
  FUZZ_CHECK(whole.files == chunked.files);
  check_files(whole.files);
  frame::Reader reader;
  frame::Frame frame;
  FUZZ_CHECK(reader.feed(whole.out).has_value());
  std::string again;
  for (;;) {
    const Result<bool> next = reader.next(frame);
    if (!next) again += std::string(frame::kHeaderSize, '\xff');
    if (!next || !*next) break;
    FUZZ_CHECK(frame.type != not_its);
    frame::append_frame(again, frame.type, frame.payload);
  }
  FUZZ_CHECK(again == whole.out);
  FUZZ_CHECK(whole.out.size() <= stream.size() + frame::kHeaderSize);
  const std::size_t frames = whole.out.ends_with(std::string(frame::kHeaderSize, '\xff'))
                                 ? whole.out.size() - frame::kHeaderSize
                                 : whole.out.size();
  if (from == From::kGuest)
    FUZZ_CHECK(stream.substr(0, frames) == std::string_view(whole.out).substr(0, frames));
}

}  // namespace
}  // namespace casemate::guest

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = casemate::fuzz::view(data, size);
  if (input.empty()) return 0;
  const std::size_t count = std::min<std::size_t>(static_cast<unsigned char>(input[0]), input.size() - 1);
  for (const auto from :
       {casemate::guest::ControlFilter::From::kGuest, casemate::guest::ControlFilter::From::kEngine})
    casemate::guest::check_side(from, input.substr(1 + count), input.substr(1, count));
  return 0;
}
