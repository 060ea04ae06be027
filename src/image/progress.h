// How long work tells of itself. Called by one thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace casemate::image {

class Progress {
 public:
  virtual ~Progress() = default;
  // A new piece of work begins.
  virtual void stage(std::string_view what) = 0;
  // So much of it is done; `total` may be 0 when nobody knows.
  virtual void advance(std::uint64_t done, std::uint64_t total) = 0;
  // Something that a person should read.
  virtual void note(std::string_view line) = 0;
};

class NoProgress final : public Progress {
 public:
  void stage(std::string_view) override {}
  void advance(std::uint64_t, std::uint64_t) override {}
  void note(std::string_view) override {}
};

}  // namespace casemate::image
