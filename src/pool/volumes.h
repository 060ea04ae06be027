// The volumes of slots that were destroyed. One that comes back was not destroyed.
#pragma once

#include <cstddef>
#include <deque>
#include <set>
#include <string>

#include "base/limits.h"

namespace casemate::pool {

class DestroyedVolumes {
 public:
  explicit DestroyedVolumes(std::size_t max = kDestroyedVolumesMax) : max_(max) {}

  // Forgets the oldest beyond the bound.
  void add(const std::string& volume);
  bool holds(const std::string& volume) const { return known_.contains(volume); }
  std::size_t size() const { return known_.size(); }

 private:
  std::size_t max_;
  std::set<std::string> known_;
  std::deque<std::set<std::string>::const_iterator> order_;  // oldest first
};

}  // namespace casemate::pool
