// What casemate-http gives up before it reads anything.
#pragma once

#include "base/result.h"

namespace casemate::http {

// For good, for this process and its children: descriptors other than 0 to 2; new privileges; being read or
// traced by others of its user, and leaving its memory, which has secrets in it, in a core file; growing
// files. As root also that: it goes on as user and group 65534 ("nobody"), without capabilities. Errors:
// system. Then it must not go on.
Result<void> confine();

}  // namespace casemate::http
