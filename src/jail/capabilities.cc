#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "jail/child.h"

namespace casemate::jail {

int drop_bounding_set() {
  for (unsigned long capability = 0; capability <= 63; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0) {
      // Past the last capability that this kernel knows.
      return errno == EINVAL && capability > CAP_WAKE_ALARM ? 0 : errno;
    }
  }
  return 0;
}

int drop_all_capabilities(bool lock_securebits) {
  // Securebits first: setting them needs CAP_SETPCAP, which goes away below. capabilities(7).
  constexpr unsigned long kBits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                  SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                  SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  if (lock_securebits && ::prctl(PR_SET_SECUREBITS, kBits, 0, 0, 0) < 0) return errno;
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0) return errno;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  if (::syscall(SYS_capset, &header, none) < 0) return errno;
  return 0;
}

}  // namespace casemate::jail
