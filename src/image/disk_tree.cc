#include "image/disk_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "sys/beneath.h"

namespace casemate::image {
namespace {

constexpr milliseconds kWriteSpan{60'000};  // of one piece
constexpr std::size_t kCopyBytes = std::size_t{128} << 10;

std::string name_in(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

Result<const sys::Fd*> DiskTree::parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == 0) return root_;
  const std::string parent = path.substr(1, slash - 1);
  if (!opened_ || opened_path_ != parent) {
    opened_ = TRY(sys::open_beneath(*root_, parent, O_RDONLY | O_DIRECTORY));
    opened_path_ = parent;
  }
  return &opened_;
}

Result<sys::Fd> DiskTree::make_file(const sys::Fd& parent, const std::string& name, bool executable) {
  return sys::open_at(parent.get(), name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, executable ? 0755 : 0644);
}

Result<void> DiskTree::copy(const sys::Fd& parent, const std::string& name, const TreeChange& change) {
  const sys::RegularFile from = TRY(sys::open_regular_beneath(*root_, change.target.substr(1)));
  const sys::Fd to = TRY(make_file(parent, name, change.executable));
  std::vector<char> buffer(kCopyBytes);
  for (;;) {
    const std::size_t got = TRY(sys::read_some(from.fd, buffer));
    if (got == 0) return {};
    TRY(sys::write_all(to, {buffer.data(), got}, Deadline::in(kWriteSpan)));
  }
}

Result<void> DiskTree::apply(const TreeChange& change, TarReader& content) {
  const sys::Fd* parent = TRY(parent_of(change.path));
  const std::string name = name_in(change.path);
  switch (change.kind) {
    case TreeChange::Kind::kRemove:
      if (::unlinkat(parent->get(), name.c_str(), 0) < 0) return fail_errno("remove " + change.path);
      return {};
    case TreeChange::Kind::kRemoveDirectory:
      if (::unlinkat(parent->get(), name.c_str(), AT_REMOVEDIR) < 0)
        return fail_errno("rmdir " + change.path);
      if (opened_path_ == change.path.substr(1)) opened_.reset();  // its name may come to be another's
      return {};
    case TreeChange::Kind::kDirectory:
      if (::mkdirat(parent->get(), name.c_str(), 0755) < 0) return fail_errno("mkdir " + change.path);
      return {};
    case TreeChange::Kind::kLink:
      if (::symlinkat(change.target.c_str(), parent->get(), name.c_str()) < 0)
        return fail_errno("symlink " + change.path);
      return {};
    case TreeChange::Kind::kCopy: return copy(*parent, name, change);
    case TreeChange::Kind::kFile: break;
  }
  const sys::Fd file = TRY(make_file(*parent, name, change.executable));
  for (;;) {
    const std::string_view piece = TRY(content.data());
    if (piece.empty()) return {};
    TRY(sys::write_all(file, piece, Deadline::in(kWriteSpan)));
  }
}

}  // namespace casemate::image
