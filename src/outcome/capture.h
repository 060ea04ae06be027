// What a program wrote, kept within a bound and in its true order. Pure: no descriptor, no clock.
//
// Of each stream the capture keeps the first half and the last half of its cap; what lies between is
// dropped and counted. The order in which stdout and stderr were written comes from two sources.
// The runner tells it (frame kOrder) as "from total N of stream S on, S's bytes come next", and starts
// at stdout: exact, but over another channel, so a hint may come long before or after its bytes. Where it
// says nothing (a program that is not run by our runner, or what came before the first hint of a stream) the
// order of arrival counts. Hints come from the box and are hostile: an impossible one (a total that falls) is
// ignored, a total beyond the end covers nothing, and a flood is bounded.
//
// A runner counts only what it wrote itself. After a child process has written to the same stream,
// its totals are short by that much, and the combined view is then an approximation; each stream by
// itself is always exact.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/limits.h"

namespace casemate::outcome {

enum class Stream : std::uint8_t { kStdout = 1, kStderr = 2 };
const char* stream_name(Stream stream);  // "stdout", "stderr"

// A stream as text.
struct StreamText {
  std::string text;         // valid UTF-8; where bytes were dropped, a marker line says how many
  std::uint64_t bytes = 0;  // that the program wrote, dropped ones included
  std::uint64_t lines = 0;  // that the program wrote; a last line without newline counts
  bool truncated = false;   // more than the cap was written; `text` lacks the middle
  bool lossy = false;       // what was kept is not all UTF-8
};

// Bytes [offset, offset + size) of a stream, at their place in the true order.
struct OutputSegment {
  Stream stream = Stream::kStdout;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  bool operator==(const OutputSegment&) const = default;
};

struct OutputPiece {
  Stream stream = Stream::kStdout;
  std::string text;
};

// Both streams interleaved. Without `left_out`, a stream's pieces put together are its StreamText.
struct CombinedOutput {
  std::vector<OutputPiece> pieces;  // at most kOutputSegmentsMax
  std::uint64_t left_out = 0;       // pieces between the first half and the last half
};

// One thread. Memory: twice the cap and 2 * kOutputSegmentsMax entries, whatever comes.
class OutputCapture {
 public:
  struct Options {
    Bytes cap = kib(64);  // for each of the two streams; at least 64 bytes
    // Called with the exact bytes of a stream, in order and from its first byte, from the moment
    // that the stream passes its cap; at most kOutputEndFactor times the cap. A sink that fails
    // keeps its failure to itself: the run goes on.
    std::function<void(Stream, std::string_view)> spool;
  };

  OutputCapture();
  explicit OutputCapture(Options options);

  // Bytes as they arrive. Costs a copy of what is kept and a count of newlines, nothing per byte.
  void feed(Stream stream, std::string_view bytes);
  // The runner's word: from `total` bytes of `stream` on, its bytes come next.
  void hint(Stream stream, std::uint64_t total);

  std::uint64_t bytes(Stream stream) const { return side(stream).total; }
  // Bytes beyond which output ends a run: kOutputEndFactor times the cap, for each stream.
  std::uint64_t end_bytes() const { return end_bytes_; }
  // One of the streams is beyond it.
  bool over_end() const;
  // The larger of the two totals: what is compared with end_bytes().
  std::uint64_t largest() const;

  // The exact bytes of a stream that is within its cap; empty otherwise (the spool has them).
  std::string exact(Stream stream) const;
  bool truncated(Stream stream) const { return side(stream).total > cap_; }

  StreamText text(Stream stream) const;
  // The true order of all bytes, dropped ones included. Adjacent segments differ in their stream.
  std::vector<OutputSegment> segments() const;
  CombinedOutput combined() const;

  // Hints that were ignored as impossible, or merged because there were too many.
  std::uint64_t hints_ignored() const { return hints_ignored_; }

 private:
  struct Side {
    std::string head;           // the first bytes, up to half the cap
    std::string tail;           // a ring of the last bytes, once the head is full
    std::size_t tail_next = 0;  // where the ring's next byte goes once it is full
    std::uint64_t total = 0;
    std::uint64_t newlines = 0;
    char last = '\n';
    std::uint64_t hinted = 0;  // the highest total that a hint named
  };
  struct Hint {
    Stream stream = Stream::kStdout;
    std::uint64_t begin = 0;
  };
  struct Run {  // bytes of one stream that arrived after one another
    Stream stream = Stream::kStdout;
    std::uint64_t end = 0;
  };
  // The first half and the last half of a list that may grow for ever.
  template <typename T>
  struct Ends {
    std::vector<T> first;
    std::deque<T> last;
  };
  // What is shown of a stream: [0, head) and [tail, total), cut between characters.
  struct Kept {
    std::string_view head;
    std::string tail;
    std::uint64_t tail_begin = 0;
  };

  const Side& side(Stream stream) const { return sides_[static_cast<std::size_t>(stream) - 1]; }
  Side& side(Stream stream) { return sides_[static_cast<std::size_t>(stream) - 1]; }
  void keep(Side& to, std::string_view bytes);
  void note_arrival(Stream stream);
  std::string tail_of(const Side& from) const;
  Kept kept(Stream stream) const;
  std::vector<Run> arrivals() const;
  std::vector<OutputSegment> hinted_pieces(std::array<std::uint64_t, 2>& covered_from) const;

  std::uint64_t cap_;
  std::size_t head_max_;
  std::size_t tail_max_;
  std::uint64_t end_bytes_;
  std::function<void(Stream, std::string_view)> spool_;
  std::array<Side, 2> sides_;
  Ends<Hint> hints_;
  Ends<Run> runs_;
  std::array<std::uint64_t, 2> merged_{};  // ends of the runs that were merged out of the middle
  std::uint64_t hints_ignored_ = 0;
};

// The line that stands where bytes were dropped.
std::string dropped_marker(Stream stream, std::uint64_t bytes);

}  // namespace casemate::outcome
