#include "engine/feed.h"

#include <unistd.h>

#include <cerrno>
#include <vector>

#include "frame/frame.h"
#include "frame/guest.h"

namespace casemate::engine {
namespace {

using frame::GuestType;
using frame::Tag;

constexpr std::size_t kChunk = 256 << 10;
constexpr std::size_t kTogether = 16 << 10;

void field(std::string& payload, Tag tag, std::string_view bytes) {
  frame::append_field(payload, static_cast<std::uint16_t>(tag), bytes);
}

void message(std::string& out, GuestType type, std::string_view payload) {
  frame::append_frame(out, static_cast<std::uint16_t>(type), payload);
}

}  // namespace

RunnerFeed::RunnerFeed(const Request& request, Bytes memory) : request_(request), memory_(memory) {}

void RunnerFeed::say_artifacts() {
  for (const std::string& path : request_.artifacts) {
    std::string payload;
    field(payload, Tag::kPath, path);
    message(buffer_, GuestType::kCollect, payload);
  }
}

// One more message behind what is in the buffer.
Result<void> RunnerFeed::refill() {
  std::string payload;
  switch (state_) {
    case State::kProgram: {
      const std::string_view piece = std::string_view(request_.program).substr(program_offset_, kChunk);
      field(payload, Tag::kBytes, piece);
      message(buffer_, GuestType::kProgram, payload);
      program_offset_ += piece.size();
      if (program_offset_ == request_.program.size()) state_ = State::kFileName;
      return {};
    }
    case State::kFileName:
      if (file_ == request_.files.size()) {
        state_ = State::kStart;
        return {};
      }
      field(payload, Tag::kPath, request_.files[file_].path);
      message(buffer_, GuestType::kFile, payload);
      state_ = State::kFileData;
      return {};
    case State::kFileData: {
      // At an offset of our own: the request may be run again, and its descriptors are read again.
      std::vector<char> chunk(kChunk);
      ssize_t got = -1;
      do {
        got = ::pread(request_.files[file_].source.get(), chunk.data(), chunk.size(), file_offset_);
      } while (got < 0 && errno == EINTR);
      if (got < 0) return fail_errno("read the input file '" + request_.files[file_].path + "'");
      file_offset_ += got;
      if (got == 0) {
        ++file_;
        file_offset_ = 0;
        state_ = State::kFileName;
        return {};
      }
      field(payload, Tag::kBytes, std::string_view(chunk.data(), static_cast<std::size_t>(got)));
      message(buffer_, GuestType::kFileData, payload);
      return {};
    }
    case State::kStart:
      field(payload, Tag::kName, request_.program_name);
      for (const std::string& argument : request_.arguments) field(payload, Tag::kArgument, argument);
      for (const std::string& entry : request_.environment) field(payload, Tag::kEnvironment, entry);
      field(payload, Tag::kNumber, frame::u64_bytes(memory_.count));
      message(buffer_, GuestType::kStart, payload);
      state_ = State::kDone;
      return {};
    case State::kDone: return {};
  }
  return {};
}

Result<std::string_view> RunnerFeed::pending() {
  if (buffer_offset_ > 0 && buffer_offset_ == buffer_.size()) {
    buffer_.clear();
    buffer_offset_ = 0;
  }
  if (buffer_offset_ == 0) {
    // Small ones together: a slot that waits is then woken once, by a request that is whole.
    while (buffer_.size() < kTogether && state_ != State::kDone) TRY(refill());
  }
  return std::string_view(buffer_).substr(buffer_offset_);
}

}  // namespace casemate::engine
