// The changes of a LayerTree, made to a directory. Private to the image library.
#pragma once

#include <string>

#include "base/result.h"
#include "image/archive.h"
#include "image/layer_tree.h"
#include "sys/fd.h"

namespace casemate::image {

// Nobody else may write below the root meanwhile. Whatever the tree says, the kernel is asked to follow no
// link and to leave the root by no way (sys/beneath.h), and to make only what is not there. One thread.
class DiskTree {
 public:
  explicit DiskTree(const sys::Fd& root) : root_(&root) {}  // which must outlive it

  // `content` is at the entry that the change came of. Files and directories get no more of its mode than
  // whether a file can be executed.
  // Errors: invalid (the content is damaged), system (ENOSPC and the like).
  Result<void> apply(const TreeChange& change, TarReader& content);

 private:
  Result<const sys::Fd*> parent_of(const std::string& path);
  Result<sys::Fd> make_file(const sys::Fd& parent, const std::string& name, bool executable);
  Result<void> copy(const sys::Fd& parent, const std::string& name, const TreeChange& change);

  const sys::Fd* root_;
  std::string opened_path_;  // of the parent used last, since entries come by directory
  sys::Fd opened_;
};

}  // namespace casemate::image
