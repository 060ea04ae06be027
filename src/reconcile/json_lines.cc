#include "reconcile/json_lines.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>
#include <vector>

namespace casemate::reconcile {
namespace {

constexpr std::size_t kReadChunk = std::size_t{256} << 10;

}  // namespace

Result<void> LineSplitter::give(std::string_view text, const char* fault, const EachLine& each) {
  ++number_;
  if (text.empty() && *fault == 0) return {};
  return each({name_ + ":" + std::to_string(number_), text, fault});
}

Result<void> LineSplitter::feed(std::string_view bytes, const EachLine& each) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (held_.size() + part.size() > line_max_) {
      too_long_ = true;
      held_.clear();
    }
    if (end == std::string_view::npos) {
      if (!too_long_) held_ += part;
      return {};
    }
    bytes.remove_prefix(end + 1);
    if (too_long_) {
      TRY(give({}, "it is longer than a line may be", each));
    } else if (held_.empty()) {
      TRY(give(part, "", each));
    } else {
      held_ += part;
      TRY(give(held_, "", each));
    }
    held_.clear();
    too_long_ = false;
  }
  return {};
}

Result<void> LineSplitter::finish(const EachLine& each) {
  if (held_.empty() && !too_long_) return {};
  return give(held_, too_long_ ? "it is longer than a line may be" : "the file ends in the middle of it",
              each);
}

Result<void> each_line(const std::string& file, std::size_t line_max, const EachLine& each) {
  // Not to wait for who opens the other end of a pipe.
  const auto opened = sys::open_at(AT_FDCWD, file, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!opened) {
    Error error = opened.error();
    if (error.errno_value == ENOENT) error.code = ErrorCode::kNotFound;
    return fail_with_context(std::move(error), file);
  }
  struct stat about {};
  if (::fstat(opened->get(), &about) < 0) return fail_errno(file);
  if (!S_ISREG(about.st_mode)) return fail(ErrorCode::kInvalid, file + " is no regular file");
  LineSplitter lines(file, line_max);
  std::vector<char> chunk(kReadChunk);
  for (;;) {
    const std::size_t got = TRY(sys::read_some(*opened, chunk));
    if (got == 0) return lines.finish(each);
    TRY(lines.feed({chunk.data(), got}, each));
  }
}

}  // namespace casemate::reconcile
