#include "frame/frame.h"

#include "base/check.h"
#include "base/limits.h"

namespace casemate::frame {
namespace {

void put_le(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

std::uint64_t get_le(std::string_view in, std::size_t at, int bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(in[at + static_cast<std::size_t>(i)]))
             << (8 * i);
  }
  return value;
}

}  // namespace

void append_frame(std::string& out, std::uint16_t type, std::string_view payload) {
  CHECK(payload.size() <= kFramePayloadMax);
  put_le(out, payload.size(), 4);
  put_le(out, type, 2);
  put_le(out, 0, 2);
  out.append(payload);
}

void append_field(std::string& payload, std::uint16_t tag, std::string_view bytes) {
  CHECK(bytes.size() <= kFramePayloadMax);
  put_le(payload, tag, 2);
  put_le(payload, 0, 2);
  put_le(payload, bytes.size(), 4);
  payload.append(bytes);
}

Result<std::vector<Field>> parse_fields(std::string_view payload) {
  std::vector<Field> fields;
  while (!payload.empty()) {
    if (payload.size() < kFieldHeaderSize) return fail(ErrorCode::kInvalid, "a field is cut short");
    const auto tag = static_cast<std::uint16_t>(get_le(payload, 0, 2));
    if (get_le(payload, 2, 2) != 0) return fail(ErrorCode::kInvalid, "a field's reserved word is not zero");
    const std::uint64_t size = get_le(payload, 4, 4);
    payload.remove_prefix(kFieldHeaderSize);
    if (size > payload.size()) return fail(ErrorCode::kInvalid, "a field is longer than its frame");
    if (fields.size() == kFieldsMax) return fail(ErrorCode::kInvalid, "a frame has too many fields");
    fields.push_back(Field{tag, payload.substr(0, size)});
    payload.remove_prefix(size);
  }
  return fields;
}

std::string u64_bytes(std::uint64_t value) {
  std::string out;
  put_le(out, value, 8);
  return out;
}

Result<std::uint64_t> parse_u64(std::string_view bytes) {
  if (bytes.size() != 8) return fail(ErrorCode::kInvalid, "an integer field is not eight bytes");
  return get_le(bytes, 0, 8);
}

Result<void> Reader::feed(std::string_view bytes) {
  if (broken_) return fail(ErrorCode::kInvalid, "the stream is broken");
  if (offset_ > 0) {
    buffer_.erase(0, offset_);
    offset_ = 0;
  }
  buffer_.append(bytes);
  return {};
}

Result<bool> Reader::next(Frame& frame) {
  if (broken_) return fail(ErrorCode::kInvalid, "the stream is broken");
  const std::string_view rest = std::string_view(buffer_).substr(offset_);
  if (rest.size() < kHeaderSize) return false;
  const std::uint64_t size = get_le(rest, 0, 4);
  if (size > kFramePayloadMax || get_le(rest, 6, 2) != 0) {
    broken_ = true;
    return fail(ErrorCode::kInvalid,
                size > kFramePayloadMax ? "a frame is too large" : "a frame's reserved word is not zero");
  }
  if (rest.size() - kHeaderSize < size) return false;
  frame.type = static_cast<std::uint16_t>(get_le(rest, 4, 2));
  frame.payload.assign(rest.substr(kHeaderSize, size));
  offset_ += kHeaderSize + size;
  return true;
}

}  // namespace casemate::frame
