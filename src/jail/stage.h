// The steps of making a box, in order. A failure is reported as the step and the errno; a test build
// can make any step fail, which is how clean-up is tested.
#pragma once

#include <cstdint>

namespace casemate::jail {

#define CASEMATE_STAGES(X)                                                        \
  /* the warden, before the clone */                                              \
  X(kLeaseId, "lease an outside user id")                                         \
  X(kMakeGroups, "make the control groups")                                       \
  X(kSetLimits, "write the limits")                                               \
  X(kMakeLink, "make the link to the nest's init")                                \
  X(kMakeDevices, "make the box's own devices")                                   \
  X(kClone, "clone the nest's init into new namespaces")                          \
  X(kWriteMaps, "write the id maps")                                              \
  X(kSayMapped, "tell the init that its ids are mapped")                          \
  /* the nest's init */                                                           \
  X(kAttach, "move into the control groups")                                      \
  X(kCloseInherited, "close what the warden has open")                            \
  X(kMapped, "wait for the id maps")                                              \
  X(kNewCgroupNs, "unshare the cgroup namespace")                                 \
  X(kPrivateMounts, "make all mounts private")                                    \
  X(kOpenSources, "open the image and the guest tree in the new mount namespace") \
  X(kBecomeNestRoot, "become the nest's root")                                    \
  X(kLimitUserNs, "forbid further user namespaces")                               \
  X(kStage, "mount the staging directory")                                        \
  X(kBindImage, "bind the image")                                                 \
  X(kBindGuest, "bind the guest tree")                                            \
  X(kMountRoot, "mount the root")                                                 \
  X(kMountDev, "mount /dev")                                                      \
  X(kBindDevice, "bind a device")                                                 \
  X(kMountShm, "mount /dev/shm")                                                  \
  X(kMountLayer, "mount the layer")                                               \
  X(kMakeLayer, "make the layer's directories")                                   \
  X(kBindTmp, "bind /tmp")                                                        \
  X(kMountProc, "mount /proc")                                                    \
  X(kSealDev, "make /dev read-only")                                              \
  X(kPivotRoot, "pivot into the root")                                            \
  X(kDetachHost, "detach the host's tree")                                        \
  X(kHostName, "set the host name")                                               \
  X(kLoopback, "bring the loopback up")                                           \
  X(kAffinity, "set the processors")                                              \
  X(kOwnPipes, "give the box its output pipes")                                   \
  X(kSendLayer, "hand the layer out")                                             \
  X(kFork, "fork the guest")                                                      \
  /* the guest, before it executes */                                             \
  X(kNewSession, "start a session")                                               \
  X(kPlaceFds, "place the descriptors")                                           \
  X(kResourceLimits, "set the resource limits")                                   \
  X(kDropBounding, "drop the bounding set")                                       \
  X(kBecomeSlotId, "become the slot's user")                                      \
  X(kLeafUserNs, "enter the leaf user namespace")                                 \
  X(kLeafMaps, "write the leaf's id maps")                                        \
  X(kDropCapabilities, "drop all capabilities")                                   \
  X(kNoNewPrivs, "set no_new_privs")                                              \
  X(kLandlock, "restrict file access")                                            \
  X(kWorkDirectory, "enter the working directory")                                \
  X(kAudit, "audit what the box holds")                                           \
  X(kSeccomp, "install the system-call table")                                    \
  X(kExec, "execute the interpreter")                                             \
  /* the nest's init, once the guest runs */                                      \
  X(kInitDrop, "drop the init's privilege")                                       \
  X(kInitSeccomp, "install the init's own filter")

enum class Stage : std::uint32_t {
  kNone = 0,
#define X(name, text) name,
  CASEMATE_STAGES(X)
#undef X
      kCount,
};

// "mount /proc"; for a number from a message, which may be out of range.
const char* stage_text(std::uint32_t stage);

}  // namespace casemate::jail
