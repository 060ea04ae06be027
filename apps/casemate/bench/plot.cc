#include "bench/plot.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace casemate::bench {

Result<void> write_results(const std::string& directory, const std::string& document, const Place& place) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return fail_errno("make " + directory, error.value());
  // Products get names of their own where one is taken.
  for (const char* name : {"/bench.svg", "/bench.png"}) std::filesystem::remove(directory + name, error);
  const std::string path = directory + "/bench.json";
  {
    const sys::Fd file = TRY(sys::open_at(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0644));
    TRY(sys::write_all(file, document + "\n", Deadline::in(milliseconds{5000})));
  }
  auto engine = TRY(engine::Engine::start(place.parts, {}));
  engine::Request request;
  request.program = kPlotProgram;
  request.program_name = "plot.py";
  request.trust = engine::Trust::kTrusted;
  request.files.push_back({"bench.json", TRY(sys::open_at(AT_FDCWD, path, O_RDONLY))});
  request.artifacts = {"bench.svg", "bench.png"};
  auto products = TRY(engine::Products::open({directory, true, gib(1)}));
  const outcome::Outcome result = engine.run(request, place.image, products, {});
  if (result.ending.status == outcome::Status::kOk && result.artifacts.size() == 2) return {};
  return fail(ErrorCode::kInternal, "the plot could not be drawn: " + result.report);
}

}  // namespace casemate::bench
