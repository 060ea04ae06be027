// Templates: machines of the microvm rung that have booted, imported and rehearsed, saved for others to be
// restored from. A nest of that rung. Their memory is a file that nobody can change once it is saved.
#include <fcntl.h>

#include <utility>

#include "engine/box_command.h"
#include "engine/slots.h"
#include "pool/imports.h"
#include "sys/sealed.h"

namespace casemate::engine {
namespace {

// Beyond what the pool waits for, which says more.
constexpr milliseconds kWallMax{150'000};
constexpr milliseconds kCpuMax{120'000};

std::string failure_of(const frame::BoxEnded& ended) {
  if (ended.cause != frame::EndCause::kProgram) return "its machine could not be made";
  if (ended.has_status != 0 && ended.signal == 0 && ended.exit_code == 0) return "";
  return "its machine ended before it was made";
}

}  // namespace

Result<void> Slots::start_template(const pool::StartNest& action, const Trees& trees) {
  const RungBox rung_box{trees.rung, trees.limits, Bytes{0}, RungBox::Machine::kTemplate};
  Template made;
  made.nest = action.nest;
  made.memory = TRY(sys::make_memory("machine", machine_memory(rung_box)));
  made.state = TRY(sys::make_memory("machine-state", Bytes{0}));
  const sys::Fd input = TRY(sys::open_at(AT_FDCWD, "/dev/null", O_RDONLY));
  const sys::Pair out = TRY(sys::make_pipe());
  sys::Pair err = TRY(sys::make_pipe());
  sys::Pair control = TRY(sys::make_stream_pair());
  TRY(sys::set_nonblocking(err.first));
  box::BoxSpec spec;
  spec.rung = trees.rung;
  spec.walls_off = trees.walls_off;
  spec.limits = box_limits(rung_box);
  spec.limits.wall = kWallMax;
  spec.limits.cpu_time = kCpuMax;
  spec.arguments =
      box_command(rung_box, alone_command(pool::preload_name(action.preload), /*restored=*/true));
  spec.environment = box_environment(trees.limits);
  box::BoxEnds ends{trees.image.get(), trees.guest.get(),    input.get(),  out.second.get(),
                    err.second.get(),  control.second.get(), trees.runtime};
  const sys::Fd disk = TRY(own_disk(trees.rung, ends.runtime));
  ends.runtime[1] = made.memory.get();
  ends.runtime[2] = made.state.get();
  made.err = std::move(err.first);
  made.control = std::move(control.first);
  const std::uint64_t box = (*next_box_)++;
  TRY(warden_->make_box(box, spec, ends));
  in_making_.emplace(box, std::move(made));
  return {};
}

bool Slots::on_template(std::uint64_t box, const box::WardenEvent& event, Instant now) {
  const auto found = in_making_.find(box);
  if (found == in_making_.end()) return false;
  Template& made = found->second;
  if (const auto* ended = std::get_if<frame::BoxEnded>(&event)) {
    made.failure = failure_of(*ended);
    const std::string text = frame::get_text(ended->text);
    if (!made.failure.empty()) made.failure = text.empty() ? why_it_ended(made.err, ended->cause) : text;
    (void)warden_->begin_destroy(box);  // a warden that is gone is told by the next event that is read
  } else if (const auto* gone = std::get_if<frame::BoxGone>(&event)) {
    Template whole = std::move(made);
    in_making_.erase(found);
    // What could still write to it must be gone.
    if (whole.failure.empty() && gone->destroyed == 0) whole.failure = "its box is not shown to be gone";
    for (sys::Fd* file : {&whole.memory, &whole.state}) {
      if (!whole.failure.empty()) break;
      auto sealed = sys::seal(std::move(*file));
      if (sealed) *file = std::move(*sealed);
      if (!sealed) whole.failure = sealed.error().message;
    }
    whole.err.reset();
    whole.control.reset();
    if (!whole.failure.empty()) {
      if (!pool_.nest_failed(whole.nest, whole.failure, now))
        (void)pool_.nest_gone(whole.nest, whole.failure, now);
    } else if (pool_.nest_ready(whole.nest, now)) {
      templates_.emplace(whole.nest, std::move(whole));
    } else {  // it was given up meanwhile
      (void)pool_.nest_gone(whole.nest, "", now);
    }
  }
  return true;
}

// True when nothing of it is left now. Of one that is being made the box says so.
bool Slots::end_template(pool::NestId nest, Instant now) {
  for (auto& [box, made] : in_making_) {
    if (made.nest != nest) continue;
    if (made.failure.empty()) made.failure = "it was given up";
    (void)warden_->begin_destroy(box);
  }
  return templates_.erase(nest) != 0 && pool_.nest_gone(nest, "", now).has_value();
}

}  // namespace casemate::engine
