#include "pool/volumes.h"

namespace casemate::pool {

void DestroyedVolumes::add(const std::string& volume) {
  const auto [place, added] = known_.insert(volume);
  if (!added) return;
  order_.push_back(place);
  if (order_.size() <= max_) return;
  known_.erase(order_.front());
  order_.pop_front();
}

}  // namespace casemate::pool
