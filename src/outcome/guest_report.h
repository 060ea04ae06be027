// What a box's runner says about its program, read from its frames. Pure, and all of it hostile input:
// a frame that departs from the protocol is an error, text that is merely too long is cut and counted.
// Nothing here is believed: the kernel's word decides how a run ended (decide.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/limits.h"
#include "base/result.h"
#include "frame/frame.h"
#include "outcome/capture.h"
#include "outcome/outcome.h"

namespace casemate::outcome {

inline constexpr std::size_t kGuestLineMax = 1024;      // a type, file, function, source line or hint
inline constexpr std::size_t kGuestMediaTypeMax = 127;  // RFC 6838, section 4.2
inline constexpr std::size_t kGuestNameMax = 255;

// kOrder.
struct GuestOrder {
  Stream stream = Stream::kStdout;
  std::uint64_t total = 0;
};

// kResult: in the guest's order, each media type once, at most kResultFormsMax.
struct GuestResult {
  std::vector<ResultForm> forms;
};

// kArtifact.
struct GuestArtifact {
  std::string path;        // raw bytes without NUL; to be opened beneath the layer only
  std::string name;        // one line; never a path: no slash in it
  std::string summary;     // one line, at most kSummaryMax bytes; the program's claim
  std::string media_type;  // the program's claim; empty when it made none that is one
  bool figure = false;     // put on the manifest by the runner: a figure that was shown
};

// kException.
struct GuestException {
  Exception exception;
  std::optional<int> errno_value;  // of an OSError, 1 to 4095
  std::optional<int> exit_code;    // that the runner says it will exit with
};

// kDone: what the program is about to exit with.
struct GuestDone {
  int exit_code = 0;  // 0 to 255
};

// What a guest's own kernel counted of the program, where it is what keeps the program's limits.
struct GuestCounts {
  std::uint64_t oom_kills = 0;
  std::uint64_t memory_peak_bytes = 0;
  std::uint64_t pids_refused = 0;
  std::uint64_t pids_peak = 0;
  std::uint64_t disk_used_bytes = 0;
  std::uint64_t disk_free_bytes = 0;
  std::uint64_t inodes_free = 0;
};

// kEnded: how the program's process ended, where the host's kernel cannot know. One of the first two.
struct GuestEnd {
  std::optional<int> exit_code;  // 0 to 255
  std::optional<int> signal;     // 1 to 64
  std::optional<GuestCounts> counts;
};

// kBegun.
struct GuestBegun {};

using GuestMessage =
    std::variant<GuestOrder, GuestResult, GuestArtifact, GuestException, GuestDone, GuestEnd, GuestBegun>;

// Reads one frame from a runner.
// Errors: invalid (an unknown type; a field that is unknown, missing, repeated or misplaced; a number
// out of range; an origin, a path or a result's media type that is none).
Result<GuestMessage> parse_guest(const frame::Frame& frame);

// All that a runner said in one run. One thread.
class GuestReport {
 public:
  // `own_kernel`: the guest has one, whose process 1 says how the program ended.
  explicit GuestReport(bool own_kernel = false) : own_kernel_(own_kernel) {}
  // Takes one frame. Returns the order hint when it was one: that goes to the OutputCapture.
  // Errors: what parse_guest says; invalid (a second exception report); exhausted (more than
  // kControlBytesMax in all). After an error the channel is not to be read any further: what was said
  // before it stands, and broken() says that there was more.
  Result<std::optional<GuestOrder>> add(const frame::Frame& frame);

  const std::optional<GuestException>& exception() const { return exception_; }
  // The last one sent.
  const std::optional<GuestResult>& result() const { return result_; }
  // At most kArtifactsMax; the first ones.
  const std::vector<GuestArtifact>& artifacts() const { return artifacts_; }
  std::uint64_t artifacts_left_out() const { return artifacts_left_out_; }
  // Said last: nothing of the program's is to come. What comes after it is an error.
  const std::optional<GuestDone>& done() const { return done_; }
  // Said by process 1 of a guest with a kernel of its own, after all else.
  const std::optional<GuestEnd>& end() const { return end_; }
  // Said by a cold runner in such a guest before all else.
  bool begun() const { return begun_; }
  bool broken() const { return broken_; }

 private:
  bool own_kernel_;
  std::optional<GuestException> exception_;
  std::optional<GuestResult> result_;
  std::optional<GuestDone> done_;
  std::optional<GuestEnd> end_;
  std::vector<GuestArtifact> artifacts_;
  std::uint64_t artifacts_left_out_ = 0;
  std::uint64_t bytes_ = 0;
  bool begun_ = false;
  bool broken_ = false;
};

}  // namespace casemate::outcome
