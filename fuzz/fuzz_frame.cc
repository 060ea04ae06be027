// frame::Reader and parse_fields on any bytes, cut into chunks in any way.
//
// Input: one byte n, n bytes of chunk sizes, then the stream.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "frame/frame.h"
#include "fuzz.h"

namespace casemate::frame {
namespace {

struct Read {
  std::vector<Frame> frames;
  bool broken = false;
  bool partial = false;
};

// Feeds the stream chunk by chunk, the sizes taken in turn; with no sizes, all at once.
Read read_all(std::string_view stream, std::string_view sizes) {
  Read read;
  Reader reader;
  std::size_t turn = 0;
  do {
    std::size_t size = stream.size();
    if (!sizes.empty()) {
      size = std::min<std::size_t>(size,
                                   std::size_t{1} + static_cast<unsigned char>(sizes[turn++ % sizes.size()]));
    }
    if (!reader.feed(stream.substr(0, size))) {
      read.broken = true;
      break;
    }
    stream.remove_prefix(size);
    Frame frame;
    while (true) {
      const Result<bool> next = reader.next(frame);
      if (!next) read.broken = true;
      if (!next || !*next) break;
      FUZZ_CHECK(frame.payload.size() <= kFramePayloadMax);
      read.frames.push_back(frame);
    }
  } while (!stream.empty() && !read.broken);
  read.partial = reader.partial();
  return read;
}

void check_fields(const std::string& payload) {
  const Result<std::vector<Field>> fields = parse_fields(payload);
  if (!fields) return;
  FUZZ_CHECK(fields->size() <= kFieldsMax);
  std::string again;
  for (const Field& field : *fields) {
    append_field(again, field.tag, field.bytes);
    const Result<std::uint64_t> number = parse_u64(field.bytes);
    FUZZ_CHECK(number.has_value() == (field.bytes.size() == 8));
    if (number) FUZZ_CHECK(u64_bytes(*number) == field.bytes);
  }
  FUZZ_CHECK(again == payload);
}

void check_stream(std::string_view stream, std::string_view sizes) {
  const Read whole = read_all(stream, {});
  const Read chunked = read_all(stream, sizes);
  FUZZ_CHECK(whole.broken == chunked.broken);
  FUZZ_CHECK(whole.frames.size() == chunked.frames.size());
  std::string again;
  for (std::size_t i = 0; i < whole.frames.size(); ++i) {
    FUZZ_CHECK(whole.frames[i].type == chunked.frames[i].type);
    FUZZ_CHECK(whole.frames[i].payload == chunked.frames[i].payload);
    append_frame(again, whole.frames[i].type, whole.frames[i].payload);
    check_fields(whole.frames[i].payload);
  }
  FUZZ_CHECK(stream.substr(0, again.size()) == again);
  if (!whole.broken) FUZZ_CHECK(whole.partial == (again.size() < stream.size()));
}

}  // namespace
}  // namespace casemate::frame

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = casemate::fuzz::view(data, size);
  if (input.empty()) return 0;
  const std::size_t count = std::min<std::size_t>(static_cast<unsigned char>(input[0]), input.size() - 1);
  casemate::frame::check_stream(input.substr(1 + count), input.substr(1, count));
  casemate::frame::check_fields(std::string(input));
  return 0;
}
