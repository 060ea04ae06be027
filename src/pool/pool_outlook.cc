// Slots that are not there: who says so, and whether they will be.
#include "pool/pool.h"

namespace casemate::pool {
namespace {

// One failure may be the host's, of a moment. A second one after a pause is the image's.
constexpr int kHopelessFailures = 2;

}  // namespace

std::optional<std::string> Pool::hopeless(const std::string& class_key, PreloadSet preload,
                                          Instant now) const {
  if (stopped_) return "pool stopped: " + *stopped_;
  const auto asked = classes_.find(ClassId{class_key, preload});
  if (asked == classes_.end()) return "no slots are kept for this class";
  const ClassEntry& entry = asked->second;
  if (!could_fit(entry, now)) return explain_room(entry, now).reason;
  // Slots that fail again and again end their nest, which then counts as one failure of its zygote.
  if (lines_.at(entry.line()).failures() < kHopelessFailures) return std::nullopt;
  return explain(entry, now).reason;
}

void Pool::lacks(const std::string& class_key, PreloadSet preload, Instant now) {
  if (const auto asked = classes_.find(ClassId{class_key, preload}); asked != classes_.end())
    asked->second.lacked = now;
}

}  // namespace casemate::pool
