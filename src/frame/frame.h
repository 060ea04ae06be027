// Frames: the one framing between a box and its supervisor, on every rung.
//
//   u32 payload size, little endian   <= kFramePayloadMax
//   u16 type, little endian
//   u16 zero
//   payload: fields, one after another
//
//   field: u16 tag, u16 zero, u32 size, then that many bytes, no padding
//
// Everything that a box sends is hostile input: the reader is strict, never allocates by a size
// that has not been checked, and treats any departure from the form as the end of the stream.
// Parse and print only: no descriptor is touched here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace casemate::frame {

inline constexpr std::size_t kHeaderSize = 8;
inline constexpr std::size_t kFieldHeaderSize = 8;

struct Field {
  std::uint16_t tag = 0;
  std::string_view bytes;  // points into the frame that it was parsed from
};

struct Frame {
  std::uint16_t type = 0;
  std::string payload;
};

// Appends one frame with the payload to `out`. The payload must be at most kFramePayloadMax.
void append_frame(std::string& out, std::uint16_t type, std::string_view payload);
// Appends one field to a payload that is being made.
void append_field(std::string& payload, std::uint16_t tag, std::string_view bytes);

// The fields of a payload, in order.
// Errors: invalid (a truncated field, a non-zero reserved word, more than kFieldsMax fields).
Result<std::vector<Field>> parse_fields(std::string_view payload);

// An unsigned integer in a field: exactly eight bytes, little endian.
std::string u64_bytes(std::uint64_t value);
Result<std::uint64_t> parse_u64(std::string_view bytes);

// Takes bytes as they arrive and hands out whole frames.
// Memory is bounded: at most one frame of kFramePayloadMax and what one feed() brought.
class Reader {
 public:
  // Adds bytes. Errors: invalid, once the stream broke the form; it then stays broken.
  Result<void> feed(std::string_view bytes);
  // Moves the next whole frame out; false when there is none yet.
  // Errors: invalid (oversized, a non-zero reserved word).
  Result<bool> next(Frame& frame);
  // True when bytes of an unfinished frame are held: an end of stream now is a truncation.
  bool partial() const { return buffer_.size() > offset_; }

 private:
  std::string buffer_;
  std::size_t offset_ = 0;
  bool broken_ = false;
};

}  // namespace casemate::frame
