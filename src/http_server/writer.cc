#include "http_server/writer.h"

#include <array>
#include <cstdio>

#include "http_server/socket.h"

namespace casemate::http_server {

Result<void> BodyWriter::write(std::string_view piece) {
  if (!state_ || piece.empty()) return state_;  // a chunk of nothing would be the last one
  if (form_ == Form::kUntilEnd) {
    state_ = send_all(socket_, {piece, "", ""}, Deadline::in(write_time_));
    return state_;
  }
  std::array<char, 32> size{};
  (void)std::snprintf(size.data(), size.size(), "%zx\r\n", piece.size());
  state_ = send_all(socket_, {size.data(), piece, "\r\n"}, Deadline::in(write_time_));
  return state_;
}

bool BodyWriter::gone() const { return peer_is_gone(socket_); }

void BodyWriter::abandon() {
  abandoned_ = true;
  if (state_) state_ = fail(ErrorCode::kCancelled, "the answer was given up");
}

BodyWriter::End BodyWriter::finish() {
  if (abandoned_) return End::kAbandoned;
  if (state_ && form_ == Form::kChunked)
    state_ = send_all(socket_, {"0\r\n\r\n", "", ""}, Deadline::in(write_time_));
  return state_ ? End::kWhole : End::kUnread;
}

}  // namespace casemate::http_server
