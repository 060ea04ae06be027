// What casemate is measured against: the same interpreter with the same flags, bare or over the image's root
// in another sandbox.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bench/launch.h"
#include "sys/fd.h"

namespace casemate::bench {

struct Peer {
  std::string name;
  std::string isolation;  // what of it a run has, in one line
  std::string program;    // a path; empty: it is not installed
};

// All that are known, installed or not, in the order of the table: python3, bwrap, runc, runsc. Programs are
// looked for in PATH and in /usr/sbin.
std::vector<Peer> known_peers();

// Python's flags and the environment are the same for all.
std::vector<std::string> python_arguments(const std::string& program);
std::vector<std::string> plain_environment();

// Makes launches. Bundles of OCI runtimes and their state are below a directory of its own, which goes with
// it, and also when this process is killed: a child sweeps it up then.
class PeerRoom {
 public:
  // `rootfs`: of the image. Errors: system.
  static Result<PeerRoom> make(std::string rootfs);
  PeerRoom(PeerRoom&& other) noexcept
      : rootfs_(std::move(other.rootfs_)),
        path_(std::exchange(other.path_, {})),
        alive_(std::move(other.alive_)) {}
  PeerRoom& operator=(PeerRoom&&) = delete;
  ~PeerRoom();

  // Measures may have folders below it.
  const std::string& folder() const { return path_; }
  // What runs the Python program under the peer. Errors: system.
  Result<Launch> launch_of(const Peer& peer, const std::string& program);

 private:
  PeerRoom(std::string rootfs, std::string path, sys::Fd alive)
      : rootfs_(std::move(rootfs)), path_(std::move(path)), alive_(std::move(alive)) {}
  Result<std::string> make_bundle(const std::string& program);

  std::string rootfs_, path_;
  sys::Fd alive_;  // a pipe to the sweeper, who reads its end
  int bundles_ = 0;
};

}  // namespace casemate::bench
