#include "image/inside.h"

#include <poll.h>

namespace casemate::image {
namespace {

struct Running {
  Program program;
  std::string output;
};

Result<void> take(Running& running, const pollfd& output, const pollfd& errors) {
  if (output.revents != 0) {
    running.output.append(TRY(running.program.take_output()));
    if (running.output.size() > kStepOutputMax) {
      return fail(ErrorCode::kExhausted, "a step of the build writes too much");
    }
  }
  if (errors.revents != 0) TRY(running.program.take_errors());
  return {};
}

Result<void> drain_all(std::vector<Running>& all, Deadline deadline) {
  for (;;) {
    std::vector<pollfd> items;
    bool open = false;
    for (const Running& running : all) {
      for (const pollfd& item : running.program.waits()) {
        items.push_back(item);
        open = open || item.fd >= 0;
      }
    }
    if (!open) return {};
    const int ready = ::poll(items.data(), items.size(), deadline.poll_timeout_ms(now()));
    if (ready < 0 && errno != EINTR) return fail_errno("poll");
    if (ready <= 0) {
      if (deadline.passed(now())) return fail(ErrorCode::kDeadline, "a step of the build does not end");
      continue;
    }
    for (std::size_t i = 0; i < all.size(); ++i) TRY(take(all[i], items[2 * i], items[2 * i + 1]));
  }
}

}  // namespace

Result<std::vector<std::string>> run_inside(const sys::Fd& root, const InsideSpec& spec, Deadline deadline) {
  std::vector<Running> all;
  for (const auto& command : spec.commands) {
    all.push_back({TRY(Program::start({command, spec.environment, &root, Place::kInside})), ""});
  }
  TRY(drain_all(all, deadline));
  std::vector<std::string> outputs;
  for (Running& running : all) {
    TRY(running.program.finish(deadline));
    outputs.push_back(std::move(running.output));
  }
  return outputs;
}

}  // namespace casemate::image
