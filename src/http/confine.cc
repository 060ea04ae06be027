#include "http/confine.h"

#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

namespace casemate::http {
namespace {

constexpr unsigned kNobody = 65534;
constexpr rlim_t kOpenFiles = 1024;

Result<void> limit(__rlimit_resource what, rlim_t most) {
  const rlimit both{most, most};
  if (::setrlimit(what, &both) != 0) return fail_errno("limit itself");
  return {};
}

Result<void> give_up_root() {
  if (::geteuid() != 0) return {};
  if (::setgroups(0, nullptr) != 0 || ::setresgid(kNobody, kNobody, kNobody) != 0 ||
      ::setresuid(kNobody, kNobody, kNobody) != 0)
    return fail_errno("give up being root");
  return {};
}

}  // namespace

Result<void> confine() {
  if (::close_range(3, ~0U, 0) != 0) return fail_errno("close what it was not meant to have");
  if (::signal(SIGPIPE, SIG_IGN) == SIG_ERR) return fail_errno("ignore SIGPIPE");
  TRY(limit(RLIMIT_CORE, 0));
  TRY(limit(RLIMIT_FSIZE, 0));
  TRY(limit(RLIMIT_NOFILE, kOpenFiles));
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail_errno("refuse new privileges");
  TRY(give_up_root());
  // After the user has changed, which would set it again.
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return fail_errno("keep its memory to itself");
  return {};
}

}  // namespace casemate::http
