#include "record_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "json/writer.h"
#include "sys/fd.h"

namespace casemate {
namespace {

constexpr milliseconds kWriteTime{5'000};
constexpr int kOpenTries = 8;

std::string variable(const char* name) {
  const char* value = ::getenv(name);
  return value == nullptr ? std::string() : value;
}

void make_directories(const std::string& file) {
  for (std::size_t at = file.find('/', 1); at != std::string::npos; at = file.find('/', at + 1))
    (void)::mkdir(file.substr(0, at).c_str(), 0755);  // what is wrong with one, the open says
}

// The file, locked, under its name still: another instance may have set it aside between the two.
Result<sys::Fd> open_locked(const std::string& file) {
  for (int tries = 0; tries < kOpenTries; ++tries) {
    sys::Fd fd(::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd && errno == ENOENT && tries == 0) {
      make_directories(file);
      continue;
    }
    if (!fd) return fail_errno("open " + file);
    if (::flock(fd.get(), LOCK_EX) < 0) return fail_errno("lock " + file);
    struct stat held {};
    struct stat named {};
    if (::fstat(fd.get(), &held) < 0) return fail_errno("fstat " + file);
    if (!S_ISREG(held.st_mode)) return fail(ErrorCode::kInvalid, file + " is no regular file");
    if (::lstat(file.c_str(), &named) < 0 || named.st_ino != held.st_ino) continue;
    if (static_cast<std::uint64_t>(held.st_size) < kRecordFileMax.count) return fd;
    if (::rename(file.c_str(), (file + ".1").c_str()) < 0) return fail_errno("set aside " + file);
  }
  return fail(ErrorCode::kUnavailable, file + " is set aside again and again");
}

}  // namespace

Result<std::string> usual_record_file() {
  constexpr std::string_view kBelowState = "/casemate/records.jsonl";
  if (const std::string named = variable("CASEMATE_RECORDS"); named.starts_with('/')) return named;
  if (::geteuid() == 0) return std::string("/var/lib/casemate/records.jsonl");
  // The XDG specification: a relative path is invalid and to be ignored.
  if (const std::string state = variable("XDG_STATE_HOME"); state.starts_with('/'))
    return state + std::string(kBelowState);
  if (const std::string home = variable("HOME"); home.starts_with('/'))
    return home + "/.local/state" + std::string(kBelowState);
  return fail(ErrorCode::kNotFound, "there is no place for records: neither XDG_STATE_HOME nor HOME is set");
}

Result<void> RecordStore::add(const std::vector<outcome::BoxRecord>& records) {
  if (records.empty()) return {};
  if (file_.empty()) file_ = TRY(usual_record_file());
  std::string lines;
  for (const outcome::BoxRecord& record : records) {
    json::Writer out;
    outcome::write_record(out, record);
    lines += std::move(out).take() + "\n";
  }
  const sys::Fd fd = TRY(open_locked(file_));
  struct stat before {};
  if (::fstat(fd.get(), &before) < 0) return fail_errno("fstat " + file_);
  auto written = sys::write_all(fd, lines, Deadline::in(kWriteTime));
  if (written) return {};
  // A part of a line would spoil the next one.
  if (::ftruncate(fd.get(), before.st_size) < 0) return fail_errno("shorten " + file_);
  return fail(written.error().code, file_ + ": " + written.error().message);
}

}  // namespace casemate
