// Whole messages over a stream descriptor, for both ends of the guest's port (channel.h).
#pragma once

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "microvm/channel.h"

namespace casemate::guest {

inline std::string message_of(Message type, std::string_view payload) {
  const MessageHeader header{static_cast<std::uint32_t>(type), static_cast<std::uint32_t>(payload.size())};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes += payload;
  return bytes;
}

template <typename T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

// False: the payload has another size.
template <typename T>
bool read_value(std::string_view payload, T& value) {
  if (payload.size() != sizeof(value)) return false;
  std::memcpy(&value, payload.data(), sizeof(value));
  return true;
}

struct ReceivedMessage {
  Message type{};
  std::string payload;
};

// Takes bytes as they arrive and hands out whole messages. Holds at most one and what one read brought, if
// next() is asked until it has no more before each read.
class MessageReader {
 public:
  // Reads what is there. False when the other end is gone or says what is no message.
  bool read(int fd) {
    std::array<char, 1 << 16> buffer;
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    bytes_.append(buffer.data(), static_cast<std::size_t>(got));
    return true;
  }
  enum class Next { kNone, kMessage, kBroken };
  Next next(ReceivedMessage& message) {
    MessageHeader header;
    if (bytes_.size() - at_ < sizeof(header)) return nothing();
    std::memcpy(&header, bytes_.data() + at_, sizeof(header));
    if (header.length > kMessageMax) return Next::kBroken;
    if (bytes_.size() - at_ < sizeof(header) + header.length) return nothing();
    message.type = static_cast<Message>(header.type);
    message.payload.assign(bytes_, at_ + sizeof(header), header.length);
    at_ += sizeof(header) + header.length;
    return Next::kMessage;
  }

 private:
  Next nothing() {
    bytes_.erase(0, at_);
    at_ = 0;
    return Next::kNone;
  }
  std::string bytes_;
  std::size_t at_ = 0;
};

}  // namespace casemate::guest
