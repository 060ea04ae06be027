// Which rung a request gets: the trust that it states has a floor, and a host has rungs.
#pragma once

#include <string>

#include "base/result.h"
#include "engine/request.h"
#include "frame/walls.h"

namespace casemate::engine {

// What this host has beside the jail. Empty: it is there; else what is missing and how to get it.
struct Rungs {
  std::string no_gvisor = "runsc is not installed: install Debian's package runsc";
  std::string no_microvm = "QEMU is not installed: install Debian's package qemu-system-x86";
  // Its machine is emulated in software (TCG): a second kernel, but by QEMU's own policy no boundary. It
  // counts as the jail that it is in.
  bool emulated = true;
};

struct RungChoice {
  frame::Rung rung = frame::Rung::kJail;
  bool below_floor = false;      // accepted by name
  const char* accelerator = "";  // of a machine: "tcg" or "kvm"
};

// trusted → jail, untrusted → gvisor, hostile → microvm. `auto` takes the weakest rung that reaches the
// floor; below it, where that is accepted, the strongest that there is, but no emulated machine. Runs that
// share a sandbox are on gvisor. Errors: denied; one line that says what is missing and what to do.
Result<RungChoice> choose_rung(const Request& request, const Rungs& rungs);

// "jail".
const char* rung_name(frame::Rung rung);
// The rung that a request names, or that its trust asks for, whether or not it can have it.
const char* wanted_rung(const Request& request);

}  // namespace casemate::engine
