#include "engine/rung.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace casemate::engine {
namespace {

using frame::Rung;

constexpr std::string_view kUntrustedLabel = "untrusted";

// What has read text that anybody may have written may do what that text says.
struct Suspicion {
  Trust trust = Trust::kUntrusted;
  std::string because;  // of labels; empty: the request says so itself
};

Suspicion suspicion_of(const Request& request) {
  const auto label = [](const policy::Labels& labels) -> std::optional<std::string> {
    if (!labels.has(kUntrustedLabel)) return std::nullopt;
    const auto found = labels.all().find(kUntrustedLabel);
    return found == labels.all().end() ? "labels that were too many" : found->second;
  };
  if (const auto seed = label(request.labels))
    return {Trust::kHostile, "it begins with the label 'untrusted'"};
  if (request.grants) {
    if (const auto source = label(request.grants->brings))
      return {Trust::kHostile, "it may call " + *source + ", whose results have the label 'untrusted'"};
  }
  return {request.trust, ""};
}

// In order of strength.
enum class Strength { kJail, kGvisor, kMicrovm };

Strength floor_of(Trust trust) {
  switch (trust) {
    case Trust::kTrusted: return Strength::kJail;
    case Trust::kUntrusted: return Strength::kGvisor;
    case Trust::kHostile: return Strength::kMicrovm;
  }
  return Strength::kMicrovm;
}

std::optional<Strength> asked_of(Isolation isolation) {
  switch (isolation) {
    case Isolation::kAuto: return std::nullopt;
    case Isolation::kJail: return Strength::kJail;
    case Isolation::kGvisor: return Strength::kGvisor;
    case Isolation::kMicrovm: return Strength::kMicrovm;
  }
  return Strength::kMicrovm;
}

const char* name_of(Strength strength) {
  constexpr std::array kNames = {"jail", "gvisor", "microvm"};
  return kNames.at(static_cast<std::size_t>(strength));
}

// Why it is not there; empty when it is.
std::string missing(Strength strength, const Request& request, const Rungs& rungs) {
  switch (strength) {
    case Strength::kJail: return "";
    case Strength::kGvisor:
      if (!rungs.no_gvisor.empty() || !request.weakenings.no_cgroup) return rungs.no_gvisor;
      return "control groups alone bound its runtime's memory, which `--weaken no-cgroup` does without";
    case Strength::kMicrovm:
      if (!rungs.no_microvm.empty() || !request.weakenings.no_cgroup) return rungs.no_microvm;
      return "control groups alone bound its machine's processor time, which `--weaken no-cgroup` does "
             "without";
  }
  return "";
}

// The strength that a rung counts for on this host.
Strength reach(Strength strength, const Rungs& rungs) {
  return strength == Strength::kMicrovm && rungs.emulated ? Strength::kJail : strength;
}

RungChoice choice(Strength strength, Strength floor, const Rungs& rungs) {
  constexpr std::array kRungs = {Rung::kJail, Rung::kGvisor, Rung::kMicrovm};
  const char* machine = rungs.emulated ? "tcg" : "kvm";
  return {kRungs.at(static_cast<std::size_t>(strength)), reach(strength, rungs) < floor,
          strength == Strength::kMicrovm ? machine : ""};
}

// Why a rung that is there does not do.
std::string weakness(Strength strength, const Rungs& rungs) {
  const std::string name = std::string("'") + name_of(strength) + "'";
  if (strength == Strength::kMicrovm && rungs.emulated)
    return name +
           " is emulated in software by this version, which is no boundary: it has no driver for hardware "
           "virtualization (/dev/kvm)";
  return name + " is weaker";
}

tl::unexpected<Error> below(const Suspicion& suspicion, Strength floor, const std::string& why) {
  std::string which = suspicion.trust == Trust::kUntrusted ? " unless it says otherwise, which" : ", which";
  if (!suspicion.because.empty()) which = ", since " + suspicion.because + ", and";
  return fail(ErrorCode::kDenied,
              std::string("a request is ") + trust_name(suspicion.trust) + which + " needs the rung '" +
                  name_of(floor) + "' or a stronger one, and " + why +
                  ". For code that you would review yourself say --trust trusted; to run this code below its "
                  "floor all the same say --allow-below-floor, which the outcome will show");
}

Result<RungChoice> choose_strength(const Request& request, const Rungs& rungs) {
  const Suspicion suspicion = suspicion_of(request);
  const Strength floor = floor_of(suspicion.trust);
  const bool below_accepted = request.weakenings.below_floor;
  if (const auto asked = asked_of(request.isolation)) {
    if (const std::string why = missing(*asked, request, rungs); !why.empty())
      return fail(ErrorCode::kDenied, std::string("the rung '") + name_of(*asked) + "' is not there: " + why);
    if (reach(*asked, rungs) < floor && !below_accepted)
      return below(suspicion, floor, weakness(*asked, rungs));
    return choice(*asked, floor, rungs);
  }
  for (const Strength rung : {Strength::kJail, Strength::kGvisor, Strength::kMicrovm}) {
    if (reach(rung, rungs) >= floor && missing(rung, request, rungs).empty())
      return choice(rung, floor, rungs);
  }
  if (!below_accepted) {
    const std::string why = missing(floor, request, rungs);
    return below(suspicion, floor, why.empty() ? weakness(floor, rungs) : "it is not there: " + why);
  }
  return choice(missing(Strength::kGvisor, request, rungs).empty() ? Strength::kGvisor : Strength::kJail,
                floor, rungs);
}

}  // namespace

Result<RungChoice> choose_rung(const Request& request, const Rungs& rungs) {
  RungChoice choice = TRY(choose_strength(request, rungs));
  if (request.sandbox == Sandbox::kShared && choice.rung != Rung::kGvisor)
    return fail(ErrorCode::kDenied,
                std::string("runs can share a sandbox on the rung 'gvisor' alone, and this "
                            "one is on '") +
                    rung_name(choice.rung) + "': say --isolation gvisor, or leave --share-sandbox out");
  return choice;
}

const char* rung_name(Rung rung) {
  switch (rung) {
    case Rung::kJail: return "jail";
    case Rung::kGvisor: return "gvisor";
    case Rung::kMicrovm: return "microvm";
  }
  return "?";
}

const char* wanted_rung(const Request& request) {
  return name_of(asked_of(request.isolation).value_or(floor_of(suspicion_of(request).trust)));
}

}  // namespace casemate::engine
