#include "outcome/capture.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/check.h"
#include "json/utf8.h"

namespace casemate::outcome {
namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kEndsHalf = kOutputSegmentsMax / 2;

std::size_t index_of(Stream stream) { return static_cast<std::size_t>(stream) - 1; }

// Builds the order: each stream's bytes come out once, in their own order.
class Interleaver {
 public:
  // Emits the stream up to `end`; nothing when that much is out already.
  void emit(Stream stream, std::uint64_t end) {
    std::uint64_t& done = done_[index_of(stream)];
    if (end <= done) return;
    if (!segments_.empty() && segments_.back().stream == stream) {
      segments_.back().size += end - done;
    } else {
      segments_.push_back({stream, done, end - done});
    }
    done = end;
  }
  std::uint64_t done(Stream stream) const { return done_[index_of(stream)]; }
  std::vector<OutputSegment> take() && { return std::move(segments_); }

 private:
  std::array<std::uint64_t, 2> done_{};
  std::vector<OutputSegment> segments_;
};

}  // namespace

const char* stream_name(Stream stream) { return stream == Stream::kStdout ? "stdout" : "stderr"; }

std::string dropped_marker(Stream stream, std::uint64_t bytes) {
  return "\n[" + std::to_string(bytes) + " bytes of " + stream_name(stream) + " left out here]\n";
}

OutputCapture::OutputCapture() : OutputCapture(Options()) {}

OutputCapture::OutputCapture(Options options)
    : cap_(options.cap.count),
      head_max_(static_cast<std::size_t>(cap_ / 2)),
      tail_max_(static_cast<std::size_t>(cap_ - cap_ / 2)),
      end_bytes_(cap_ > kNever / kOutputEndFactor ? kNever : cap_ * kOutputEndFactor),
      spool_(std::move(options.spool)) {
  CHECK(cap_ >= 64);
}

void OutputCapture::feed(Stream stream, std::string_view bytes) {
  if (bytes.empty()) return;
  Side& to = side(stream);
  if (spool_ && to.total < end_bytes_ && bytes.size() > cap_ - std::min(cap_, to.total)) {
    if (to.total <= cap_ && to.total > 0) spool_(stream, exact(stream));
    const std::uint64_t room = end_bytes_ - to.total;
    spool_(stream, bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(room, bytes.size()))));
  }
  keep(to, bytes);
  to.total += bytes.size();
  to.newlines += static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
  to.last = bytes.back();
  note_arrival(stream);
}

void OutputCapture::keep(Side& to, std::string_view bytes) {
  const std::size_t to_head = std::min(bytes.size(), head_max_ - to.head.size());
  to.head.append(bytes.substr(0, to_head));
  bytes.remove_prefix(to_head);
  const std::size_t to_grow = std::min(bytes.size(), tail_max_ - to.tail.size());
  to.tail.append(bytes.substr(0, to_grow));
  bytes.remove_prefix(to_grow);
  if (bytes.size() > tail_max_) bytes.remove_prefix(bytes.size() - tail_max_);
  while (!bytes.empty()) {
    const std::size_t size = std::min(bytes.size(), tail_max_ - to.tail_next);
    bytes.copy(to.tail.data() + to.tail_next, size);
    to.tail_next = (to.tail_next + size) % tail_max_;
    bytes.remove_prefix(size);
  }
}

void OutputCapture::note_arrival(Stream stream) {
  const std::uint64_t end = side(stream).total;
  const bool in_last = runs_.first.size() == kEndsHalf;
  Run* const newest = in_last && !runs_.last.empty() ? &runs_.last.back()
                      : !runs_.first.empty()         ? &runs_.first.back()
                                                     : nullptr;
  if (newest != nullptr && newest->stream == stream) {
    newest->end = end;
  } else if (!in_last) {
    runs_.first.push_back({stream, end});
  } else {
    runs_.last.push_back({stream, end});
    if (runs_.last.size() <= kEndsHalf) return;
    merged_[index_of(runs_.last.front().stream)] = runs_.last.front().end;
    runs_.last.pop_front();
  }
}

void OutputCapture::hint(Stream stream, std::uint64_t total) {
  Side& of = side(stream);
  // A runner starts at stdout and says so only by its first change to stderr.
  if (hints_.first.empty() && stream == Stream::kStderr) hints_.first.push_back({Stream::kStdout, 0});
  const bool in_last = hints_.first.size() == kEndsHalf;
  const Hint* const newest = in_last && !hints_.last.empty() ? &hints_.last.back()
                             : !hints_.first.empty()         ? &hints_.first.back()
                                                             : nullptr;
  // A stream's totals never fall, and a second hint for the same stream in a row says nothing new.
  if (total < of.hinted || (newest != nullptr && newest->stream == stream)) {
    ++hints_ignored_;
    return;
  }
  of.hinted = total;
  if (!in_last) {
    hints_.first.push_back({stream, total});
    return;
  }
  hints_.last.push_back({stream, total});
  if (hints_.last.size() <= kEndsHalf) return;
  hints_.last.pop_front();
  ++hints_ignored_;
}

bool OutputCapture::over_end() const { return largest() > end_bytes_; }

std::uint64_t OutputCapture::largest() const { return std::max(sides_[0].total, sides_[1].total); }

std::string OutputCapture::tail_of(const Side& from) const {
  std::string tail;
  tail.reserve(from.tail.size());
  tail.append(from.tail, from.tail_next);
  tail.append(from.tail, 0, from.tail_next);
  return tail;
}

std::string OutputCapture::exact(Stream stream) const {
  if (truncated(stream)) return {};
  return side(stream).head + side(stream).tail;  // within the cap the ring has not turned
}

OutputCapture::Kept OutputCapture::kept(Stream stream) const {
  const Side& from = side(stream);
  Kept result{from.head, tail_of(from), from.total - from.tail.size()};
  if (!truncated(stream)) return result;
  // Both cuts fall between characters, so that the cut itself adds no mark of damage.
  result.head = result.head.substr(0, json::complete_prefix(result.head));
  std::size_t skip = 0;
  while (skip < 3 && skip < result.tail.size() && (result.tail[skip] & '\xC0') == '\x80') ++skip;
  result.tail.erase(0, skip);
  result.tail_begin += skip;
  return result;
}

StreamText OutputCapture::text(Stream stream) const {
  const Side& from = side(stream);
  const Kept shown = kept(stream);
  StreamText result{.text = {},
                    .bytes = from.total,
                    .lines = from.newlines + (from.last == '\n' ? 0u : 1u),
                    .truncated = truncated(stream),
                    .lossy = false};
  json::TextStream decoder;
  decoder.feed(shown.head, result.text);
  if (result.truncated) {
    decoder.finish(result.text);
    result.text += dropped_marker(stream, shown.tail_begin - shown.head.size());
  }
  decoder.feed(shown.tail, result.text);
  decoder.finish(result.text);
  result.lossy = decoder.lossy();
  return result;
}

std::vector<OutputCapture::Run> OutputCapture::arrivals() const {
  std::vector<Run> runs = runs_.first;
  for (const Stream stream : {Stream::kStdout, Stream::kStderr}) {
    if (merged_[index_of(stream)] > 0) runs.push_back({stream, merged_[index_of(stream)]});
  }
  runs.insert(runs.end(), runs_.last.begin(), runs_.last.end());
  return runs;
}

// The ranges that the hints name, in their order: each from its total to the stream's next hint, the
// last to the stream's end.
std::vector<OutputSegment> OutputCapture::hinted_pieces(std::array<std::uint64_t, 2>& covered_from) const {
  std::vector<OutputSegment> pieces;
  pieces.reserve(hints_.first.size() + hints_.last.size());
  std::array<std::optional<std::size_t>, 2> open;
  covered_from = {kNever, kNever};
  const auto close = [&](std::size_t stream, std::uint64_t end) {
    if (open[stream]) pieces[*open[stream]].size = end - pieces[*open[stream]].offset;
  };
  const auto add = [&](const Hint& hint) {
    const std::size_t at = index_of(hint.stream);
    const std::uint64_t begin = std::min(hint.begin, sides_[at].total);
    close(at, begin);
    covered_from[at] = std::min(covered_from[at], begin);
    open[at] = pieces.size();
    pieces.push_back({hint.stream, begin, 0});
  };
  for (const Hint& hint : hints_.first) add(hint);
  for (const Hint& hint : hints_.last) add(hint);
  for (std::size_t at = 0; at < 2; ++at) close(at, sides_[at].total);
  return pieces;
}

std::vector<OutputSegment> OutputCapture::segments() const {
  std::array<std::uint64_t, 2> covered_from{};
  const std::vector<OutputSegment> pieces = hinted_pieces(covered_from);
  Interleaver order;
  auto piece = pieces.begin();
  for (const Run& run : arrivals()) {
    order.emit(run.stream, std::min(run.end, covered_from[index_of(run.stream)]));
    // Before a covered byte of this run come all pieces that the hints put before it, whether or not
    // they arrived earlier.
    while (order.done(run.stream) < run.end && piece != pieces.end()) {
      const std::uint64_t piece_end = piece->offset + piece->size;
      if (piece->stream == run.stream && piece_end > run.end) {
        order.emit(run.stream, run.end);
        break;
      }
      order.emit(piece->stream, piece_end);
      ++piece;
    }
  }
  return std::move(order).take();
}

CombinedOutput OutputCapture::combined() const {
  const std::array<Kept, 2> shown = {kept(Stream::kStdout), kept(Stream::kStderr)};
  std::array<json::TextStream, 2> decoders;
  std::array<bool, 2> marked{};
  CombinedOutput result;
  const auto show = [&](Stream stream, std::uint64_t begin, std::uint64_t end, bool is_last) {
    const std::size_t at = index_of(stream);
    const Kept& from = shown[at];
    std::string text;
    const auto feed_part = [&](std::string_view part, std::uint64_t part_begin) {
      const std::uint64_t low = std::max(begin, part_begin);
      const std::uint64_t high = std::min(end, part_begin + part.size());
      if (low < high) decoders[at].feed(part.substr(low - part_begin, high - low), text);
    };
    feed_part(from.head, 0);
    if (truncated(stream) && !marked[at] && end > from.head.size()) {
      decoders[at].finish(text);
      text += dropped_marker(stream, from.tail_begin - from.head.size());
      marked[at] = true;
    }
    feed_part(from.tail, from.tail_begin);
    if (is_last) decoders[at].finish(text);
    if (text.empty()) return;  // all of it was dropped, or it is a part of a character
    if (!result.pieces.empty() && result.pieces.back().stream == stream) {
      result.pieces.back().text += text;
    } else {
      result.pieces.push_back({stream, std::move(text)});
    }
  };
  for (const OutputSegment& segment : segments()) {
    const std::uint64_t end = segment.offset + segment.size;
    show(segment.stream, segment.offset, end, /*is_last=*/end == side(segment.stream).total);
  }
  if (result.pieces.size() > kOutputSegmentsMax) {
    result.left_out = result.pieces.size() - kOutputSegmentsMax;
    const auto from = result.pieces.begin() + static_cast<std::ptrdiff_t>(kOutputSegmentsMax / 2);
    result.pieces.erase(from, from + static_cast<std::ptrdiff_t>(result.left_out));
  }
  return result;
}

}  // namespace casemate::outcome
