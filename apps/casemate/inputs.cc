#include "inputs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/bytes.h"

namespace casemate {
namespace {

// DEST without its empty and `.` parts, as `./a` and `a//b` are written by hand; one that names a directory
// gets the file's own name in it. What leads out of /work is left for check_request() to refuse.
std::string plain_destination(const std::string& destination, const std::string& own_name) {
  std::string plain;
  bool directory = true;
  for (std::size_t at = 0; at <= destination.size();) {
    const std::size_t end = std::min(destination.find('/', at), destination.size());
    const std::string part = destination.substr(at, end - at);
    directory = part.empty() || part == ".";
    if (!directory) plain += (plain.empty() ? "" : "/") + part;
    at = end + 1;
  }
  return directory ? plain + (plain.empty() ? "" : "/") + own_name : plain;
}

}  // namespace

Result<std::string> read_input(const std::string& path, std::size_t most, const char* what) {
  if (path.find('\0') != std::string::npos)
    return fail(ErrorCode::kInvalid, std::string(what) + "'s path has a NUL byte");
  sys::Fd file;
  if (path == "-") {
    file = sys::Fd(::dup(STDIN_FILENO));
  } else {
    auto opened = sys::open_at(AT_FDCWD, path, O_RDONLY);
    if (!opened)
      return fail(ErrorCode::kInvalid, std::string(what) + " cannot be read: " + opened.error().message);
    file = std::move(*opened);
    struct stat status {};
    if (::fstat(file.get(), &status) == 0 && S_ISDIR(status.st_mode)) {
      return fail(ErrorCode::kInvalid, std::string(what) + " must be a file; '" + path + "' is a directory");
    }
  }
  auto content = sys::read_file(file, most);
  if (!content && content.error().code == ErrorCode::kExhausted) {
    return fail(ErrorCode::kInvalid, std::string(what) + " is larger than " + format_bytes(Bytes{most}) +
                                         "; pass data with --file instead");
  }
  return content;
}

Result<engine::InputFile> parse_input_file(const std::string& text) {
  std::string source = text;
  std::string destination;
  if (::access(text.c_str(), F_OK) != 0) {
    if (const std::size_t colon = text.rfind(':'); colon != std::string::npos) {
      source = text.substr(0, colon);
      destination = text.substr(colon + 1);
      if (destination.starts_with("/work/")) destination = destination.substr(6);
    }
  }
  const std::string own_name = source.substr(source.rfind('/') + 1);
  engine::InputFile file;
  file.path = destination.starts_with('/') ? destination : plain_destination(destination, own_name);
  auto opened = sys::open_at(AT_FDCWD, source, O_RDONLY | O_NONBLOCK);
  if (!opened)
    return fail(ErrorCode::kInvalid, "--file '" + source + "' cannot be read: " + opened.error().message);
  struct stat status {};
  if (::fstat(opened->get(), &status) < 0) return fail_errno("look at " + source);
  if (!S_ISREG(status.st_mode))
    return fail(ErrorCode::kInvalid, "--file '" + source + "' is not a regular file");
  file.source = std::move(*opened);
  return file;
}

}  // namespace casemate
