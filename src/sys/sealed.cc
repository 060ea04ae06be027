#include "sys/sealed.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace casemate::sys {
namespace {

constexpr milliseconds kWriteTime{30'000};
// linux/memfd.h, newer than Debian 12's headers: where memory is not to be executed by default (Linux 6.3,
// sysctl vm.memfd_noexec) this has to be asked for.
constexpr unsigned kMfdExec = 0x0010U;

Result<Fd> new_memory(const char* name, unsigned more) {
  Fd memory(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | more));
  if (!memory && errno == EINVAL && more != 0) return new_memory(name, 0);  // an older kernel
  if (!memory && errno == EACCES)
    return fail(
        ErrorCode::kDenied,
        "this host lets nobody execute what is in memory (sysctl vm.memfd_noexec=2): set it to 1 or 0");
  if (!memory) return fail_errno("memfd_create");
  return memory;
}

}  // namespace

Result<Fd> make_memory(const char* name, Bytes size) {
  Fd memory = TRY(new_memory(name, 0));
  if (::ftruncate(memory.get(), static_cast<off_t>(size.count)) < 0) return fail_errno("make memory");
  return memory;
}

Result<Fd> opened_again(const Fd& memory) {
  return open_at(AT_FDCWD, "/proc/self/fd/" + std::to_string(memory.get()), O_RDONLY);
}

// The descriptor that could write has to go: what is open for writing cannot be executed.
Result<Fd> seal(Fd memory) {
  if (::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
    return fail_errno("seal memory");
  return opened_again(memory);
}

Result<Fd> sealed_bytes(const char* name, std::string_view bytes) {
  Fd memory = TRY(new_memory(name, 0));
  TRY(write_all(memory, bytes, Deadline::in(kWriteTime)));
  return seal(std::move(memory));
}

Result<Fd> sealed_copy(const char* name, const std::string& path) {
  const Fd from = TRY(open_at(AT_FDCWD, path, O_RDONLY));
  Fd memory = TRY(new_memory(name, kMfdExec));
  for (;;) {
    constexpr std::size_t kChunk = 1 << 24;
    const ssize_t copied = ::sendfile(memory.get(), from.get(), nullptr, kChunk);
    if (copied < 0 && errno == EINTR) continue;
    if (copied < 0) return fail_errno("copy " + path);
    if (copied == 0) break;
  }
  return seal(std::move(memory));
}

}  // namespace casemate::sys
