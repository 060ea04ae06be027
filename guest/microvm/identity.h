// What process 1 of a machine that is saved and restored knows of itself. Pure.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string_view>

#include "microvm/channel.h"
#include "microvm/message_io.h"

namespace casemate::guest {

class Identity {
 public:
  // About to be saved, with so many inodes in its layer. 0, or an errno: EINVAL (not a name, or it has one).
  int be_template(std::string_view name, std::uint64_t inodes) {
    if (is_template_ || !read_value(name, name_)) return EINVAL;
    is_template_ = true;
    inodes_ = inodes;
    return 0;
  }
  // Goes on, with so many. 0, or an errno: EINVAL, ESTALE (another template's memory), EALREADY (it has run
  // since it was saved), ENOTEMPTY (with another run's files).
  int be_restored(std::string_view payload, std::uint64_t inodes) {
    Restored restored;
    if (!read_value(payload, restored)) return EINVAL;
    if (!is_template_ || restored.from != name_) return ESTALE;
    if (is_restored_) return EALREADY;
    if (inodes != inodes_) return ENOTEMPTY;
    is_restored_ = true;
    run_ = restored.run;
    return 0;
  }
  // Its own name; zeros: it was not restored.
  const Nonce& run() const { return run_; }

 private:
  Nonce name_{}, run_{};
  bool is_template_ = false, is_restored_ = false;
  std::uint64_t inodes_ = 0;  // of its layer, as a template
};

}  // namespace casemate::guest
