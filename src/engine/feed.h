// What the engine says to a box's runner: the program, its input files, and "start". Made piece by
// piece as the socket takes it, so that a file of any size costs a chunk of memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "engine/request.h"

namespace casemate::engine {

class RunnerFeed {
 public:
  // Reads the request while it is sent; the request must outlive it.
  RunnerFeed(const Request& request, Bytes memory);
  // Says first which files are products: to a rung whose guest has a layer of its own.
  void say_artifacts();

  // The bytes to be sent next; empty when all has been said. Errors: system (a file cannot be read).
  Result<std::string_view> pending();
  // That many of them have been sent.
  void sent(std::size_t count) { buffer_offset_ += count; }

 private:
  enum class State { kProgram, kFileName, kFileData, kStart, kDone };
  Result<void> refill();

  const Request& request_;
  Bytes memory_;
  State state_ = State::kProgram;
  std::size_t program_offset_ = 0;
  std::size_t file_ = 0;
  std::int64_t file_offset_ = 0;
  std::string buffer_;
  std::size_t buffer_offset_ = 0;
};

}  // namespace casemate::engine
