#include "microvm/control_filter.h"

#include "base/limits.h"
#include "frame/layer_path.h"

namespace casemate::guest {

using frame::GuestType;
using frame::Tag;

// A path that leads elsewhere is nobody's product: whoever collects says so.
ControlFilter::Verdict ControlFilter::judge(const frame::Frame& frame) {
  const auto type = static_cast<GuestType>(frame.type);
  if (from_ == From::kGuest && type == GuestType::kEnded) return Verdict::kRefuse;
  if (from_ == From::kGuest && type == GuestType::kParked && parked_ < frame::kParkRounds) ++parked_;
  const bool names_file = type == (from_ == From::kGuest ? GuestType::kArtifact : GuestType::kCollect);
  if (!names_file) return Verdict::kHandOn;
  const auto fields = frame::parse_fields(frame.payload);
  if (!fields) return Verdict::kRefuse;
  for (const frame::Field& field : *fields) {
    const bool is_path =
        field.tag == static_cast<std::uint16_t>(Tag::kPath) && field.bytes.size() <= kPathMax;
    if (!is_path || files_.size() >= kFilesMax || field.bytes.find('\0') != std::string_view::npos) continue;
    if (auto beneath = frame::path_beneath_layer(std::string(field.bytes)))
      files_.insert(std::move(*beneath));
  }
  return from_ == From::kGuest ? Verdict::kHandOn : Verdict::kKeep;
}

std::string ControlFilter::take(std::string_view bytes) {
  std::string out;
  if (broken_) return out;
  broken_ = !reader_.feed(bytes);
  frame::Frame frame;
  while (!broken_) {
    const auto whole = reader_.next(frame);
    const Verdict verdict = !whole ? Verdict::kRefuse : *whole ? judge(frame) : Verdict::kKeep;
    broken_ = verdict == Verdict::kRefuse;
    if (broken_ || !*whole) break;
    if (verdict == Verdict::kHandOn) frame::append_frame(out, frame.type, frame.payload);
  }
  if (broken_) out.append(frame::kHeaderSize, '\xff');  // larger than a frame may be
  return out;
}

}  // namespace casemate::guest
