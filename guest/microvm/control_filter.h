// What the engine and the guest's runner say to each other, on its way through the launcher. Pure.
//
// Each judges the other's frames itself. Here is seen to two things: which files are products, since they
// have to be fetched from the guest, and that nobody but the launcher says how the program ended.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "frame/frame.h"
#include "frame/guest.h"

namespace casemate::guest {

class ControlFilter {
 public:
  enum class From { kGuest, kEngine };
  explicit ControlFilter(From from) : from_(from) {}
  // Whole frames to hand on. After what is no frame, or is not this side's to send, comes one thing that is
  // no frame either, so that the other side knows, and then nothing more.
  std::string take(std::string_view bytes);
  // Beneath the layer; at most kFilesMax, of at most kPathMax bytes each: of a longer one no file is made.
  const std::set<std::string>& files() const { return files_; }

  // How often the guest has said that it waits.
  int parked() const { return parked_; }

  static constexpr std::size_t kFilesMax = 512;

 private:
  enum class Verdict { kHandOn, kKeep, kRefuse };
  Verdict judge(const frame::Frame& frame);

  From from_;
  frame::Reader reader_;
  std::set<std::string> files_;
  int parked_ = 0;
  bool broken_ = false;
};

}  // namespace casemate::guest
