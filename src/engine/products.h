// Where a run's products go: files out of a dead box's layer, copied with a budget into a directory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "outcome/capture.h"
#include "outcome/guest_report.h"
#include "outcome/outcome.h"
#include "sys/fd.h"

namespace casemate::engine {

// One run's products in one directory of the host. The directory is made when the first product
// comes, unless it was asked for by name. One thread.
class Products {
 public:
  struct Options {
    std::string directory;   // as the user wrote it
    bool create_now = true;  // false: only once there is something to put there
    Bytes budget = gib(1);   // for all products of the run together
  };
  // Errors: denied, system (the directory cannot be made or written).
  static Result<Products> open(Options options);

  using OpenInLayer = std::function<Result<sys::Fd>(const std::string& path_beneath_layer)>;

  // Copies one declared product. What is wrong with the file itself (not there, a link, too large) is
  // an artifact that failed, with the reason as its description, and `the_guests_fault`.
  struct Stored {
    outcome::Artifact artifact;
    bool ours = false;  // it failed through no fault of the program
  };
  Stored store(const outcome::GuestArtifact& declared, const OpenInLayer& open);

  // Exact bytes of a stream that the outcome's text lacks. Feeds a file `stdout.bin` / `stderr.bin`.
  void spool(outcome::Stream stream, std::string_view bytes);
  // The artifact of a stream that was spooled, once the run is over.
  std::optional<Stored> finish_stream(outcome::Stream stream);

  const std::string& directory() const { return options_.directory; }

 private:
  struct Spool {
    sys::Fd file;
    std::string name;
    std::uint64_t bytes = 0;
    bool failed = false;
  };
  explicit Products(Options options) : options_(std::move(options)) {}
  Result<void> make_directory();
  // A new file with this name, or with a number in it when the name is taken in this run.
  Result<sys::Fd> create(const std::string& wanted, std::string& name);
  Result<void> copy(const sys::Fd& from, const sys::Fd& to, outcome::Artifact& artifact);

  Options options_;
  sys::Fd directory_;
  std::uint64_t used_ = 0;
  std::vector<std::string> names_;
  std::array<Spool, 2> spools_;
};

// What is to be collected, each file once: what the program declared, then what the request names. Of several
// declarations of one file the last counts, and the program's own before the runner's for a figure.
std::vector<outcome::GuestArtifact> manifest(const std::vector<outcome::GuestArtifact>& declared,
                                             const std::vector<std::string>& named);

// A file's name as text, as the runner writes those that it declares: an invalid byte as \xc3.
std::string shown_name(const std::string& path);

}  // namespace casemate::engine
