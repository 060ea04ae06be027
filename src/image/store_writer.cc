// Writing to a store. Declared in store.h.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

#include "crypto/random.h"
#include "image/store.h"
#include "image/store_files.h"
#include "image/tree.h"

namespace casemate::image {
namespace {

// flock(2) has no deadline of its own, and a timer's signal would belong to the whole process.
constexpr milliseconds kLockPollSpan{100};
constexpr std::size_t kDraftsMax = 1024;

Result<void> rename_at(const sys::Fd& directory, const std::string& from, const std::string& to,
                       unsigned flags) {
  if (::syscall(SYS_renameat2, directory.get(), from.c_str(), directory.get(), to.c_str(), flags) < 0) {
    return fail_errno("rename " + from + " to " + to);
  }
  return {};
}

}  // namespace

Result<StoreWriter> StoreWriter::lock(const Store& store, Deadline deadline, Progress& progress) {
  auto opened = sys::open_at(store.directory().get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0644);
  if (!opened) {
    return fail(ErrorCode::kUnavailable,
                "the image store " + store.path() + " cannot be written: " + opened.error().message);
  }
  StoreWriter writer(store, std::move(*opened));
  for (bool told = false; ::flock(writer.lock_.get(), LOCK_EX | LOCK_NB) < 0;) {
    if (errno != EWOULDBLOCK && errno != EINTR) return fail_errno("flock " + store.path());
    if (!told) progress.note("waiting for another build to finish");
    told = true;
    if (deadline.passed(now())) {
      return fail(ErrorCode::kDeadline, "another build holds " + store.path() + "/lock and does not finish");
    }
    std::this_thread::sleep_for(kLockPollSpan);
  }
  // Nobody else writes now, so whatever is here was left by a build that was killed.
  std::vector<std::string> left;
  TRY(names_below(store.directory(), "tmp", kDraftsMax, left));
  for (const std::string& name : left) TRY(remove_tree(store.directory(), "tmp/" + name));
  return writer;
}

StoreWriter::~StoreWriter() {
  if (!lock_ || draft_.empty()) return;
  (void)remove_tree(store_->directory(), draft_);  // the next writer removes what is left
}

Result<sys::Fd> StoreWriter::make_draft() {
  const std::string path = "tmp/" + crypto::random_id();
  if (::mkdirat(store_->directory().get(), path.c_str(), 0755) < 0) {
    const Error error = fail_errno("the image store " + store_->path() + " cannot be written").value();
    return fail(ErrorCode::kUnavailable, error.message);
  }
  draft_ = path;
  if (::fchmodat(store_->directory().get(), path.c_str(), 0755, 0) < 0) return fail_errno("chmod " + path);
  return sys::open_at(store_->directory().get(), path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

Result<void> StoreWriter::place(const std::string& digest, unsigned threads, Progress& progress) {
  const std::string final = directory_of(digest);
  auto placed = rename_at(store_->directory(), draft_, final, RENAME_NOREPLACE);
  if (placed) {
    draft_.clear();
    return {};
  }
  if (placed.error().errno_value != EEXIST) return placed;
  ImageInfo there;
  there.digest = digest;
  there.path = store_->path() + "/" + final;
  const auto report = store_->verify(there, Depth::kFull, threads, progress);
  if (report && report->ok()) {
    progress.note("the store has this image already, and it is whole");
    // The same content may come of another recipe or of other packages.
    return rename_at(store_->directory(), draft_ + "/about", final + "/about", 0);
  }
  progress.note("replacing a damaged copy of this image");
  return rename_at(store_->directory(), draft_, final, RENAME_EXCHANGE);
}

Result<ImageInfo> StoreWriter::publish(const About& about, std::string_view manifest, unsigned threads,
                                       Progress& progress) {
  const sys::Fd& store = store_->directory();
  {
    const sys::Fd draft = TRY(sys::open_at(store.get(), draft_, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    TRY(write_new_file(draft, "manifest", manifest));
    TRY(write_new_file(draft, "about", print_about(about)));
    // One call for all the image's files, which were written without waiting for the disk.
    if (::syncfs(draft.get()) < 0) return fail_errno("syncfs");
  }
  TRY(place(about.digest, threads, progress));
  TRY(sync_directory(store, "sha256"));
  const std::string name = "names/" + about.name;
  const std::string next = "tmp/name-" + crypto::random_id();
  TRY(write_new_file(store, next, about.digest + "\n"));
  TRY(rename_at(store, next, name, 0));
  TRY(sync_directory(store, "names"));
  return store_->find(about.name);
}

Result<void> StoreWriter::publish_beside(const ImageInfo& image, const std::string& name) {
  const std::string directory = directory_of(image.digest);
  TRY(rename_at(store_->directory(), draft_ + "/" + name, directory + "/" + name, 0));
  return sync_directory(store_->directory(), directory);
}

}  // namespace casemate::image
