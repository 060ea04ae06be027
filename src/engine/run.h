// The life of one run: request → box → outcome. The engine behind every interface.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "box/warden_client.h"
#include "engine/products.h"
#include "engine/request.h"
#include "outcome/capture.h"
#include "outcome/outcome.h"

namespace casemate::engine {

struct Image {
  std::string digest;  // "sha256:…"
  std::string rootfs;  // a directory of an image store
};

struct Paths {
  std::string warden;      // casemate-warden
  std::string guest_tree;  // share/casemate/guest: layered over every image
};

// What a caller may want while the run goes on. Each may be empty.
struct Hooks {
  // Output as it arrives, exact bytes. Called by the engine's thread between two reads.
  std::function<void(outcome::Stream, std::string_view)> on_output;
  // Becomes readable when the run shall be cancelled; owned by the caller.
  const sys::Fd* cancel = nullptr;
};

// One private warden, one run at a time. One thread.
class Engine {
 public:
  // Starts the warden and returns at once, so that the caller can look for the image meanwhile.
  static Result<Engine> start(const Paths& paths, const box::Weakenings& weakenings);

  // What the host gives; waits for the warden's word the first time.
  // Errors: denied (boxes cannot be made here: the message says why and what to do), unavailable, deadline.
  Result<frame::Hello> host();

  // Runs the program to its end, collects its products into `products`, destroys the box and says
  // what happened, the proof of teardown included. Everything that goes wrong with the box or the
  // host is an outcome (unavailable), not an error.
  outcome::Outcome run(const Request& request, const Image& image, Products& products, const Hooks& hooks);

 private:
  Engine(Paths paths, box::WardenClient warden) : paths_(std::move(paths)), warden_(std::move(warden)) {}

  Paths paths_;
  box::WardenClient warden_;
  std::optional<frame::Hello> hello_;
  std::uint64_t next_box_ = 1;
};

// An outcome for a request that never ran.
outcome::Outcome refused_outcome(const Request& request, outcome::Reason reason, const std::string& message);

}  // namespace casemate::engine
