// Theory of operation: sandboxes that runs of one tenant share, one run at a time in each.
//
// To the pool such a sandbox is a nest that holds one slot at a time. To the warden it is one box, which
// parks once and is started for each run. Its zygote (guest/zygote/shared.cc) has a link to us that no runner
// has:
//
//   StartNest    a box whose zygote loads its set ──▶ kServing; the warden parks the box ──▶ the nest is
//   ready MakeSlot     new pipes and a new control socket ── kFork ─▶ a runner, which rehearses if it is to
//   be hot, and
//                says kParked
//   (a run)      as in any slot: limits, the wall timer and the warden's word are those of the box
//   DestroySlot  after a clean end: kClean ──▶ kCleaned, and nobody may have the other ends of that slot's
//   pipes
//                and socket any more, which this host's kernel tells. Else the whole box is ended and shown
//                to be gone by the warden, and the nest with it
//
// Whatever is not as above ends the sandbox: a word out of turn, a limit, a signal, silence. While it shows
// that a slot is gone the wall timer of its box runs, so that it cannot take long.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "crypto/random.h"
#include "engine/box_command.h"
#include "engine/slots.h"
#include "pool/imports.h"

namespace casemate::engine {
namespace {

using frame::GuestType;
using Header = std::array<std::uint32_t, 2>;  // length, type: frame/frame.h

// Beyond what the zygote takes at most before it gives up.
constexpr int kCleanSeconds = 5;
// Reads of 4 KiB that empty what a pipe can hold.
constexpr std::size_t kLeftMax = 256;
constexpr std::size_t kVerdictsMax = 4096;

constexpr Header header_of(GuestType type) { return {0, static_cast<std::uint32_t>(type)}; }

Result<void> say(const sys::Fd& link, GuestType type, std::span<const int> fds) {
  const Header header = header_of(type);
  return sys::send_message(link, {reinterpret_cast<const char*>(header.data()), sizeof(header)}, fds);
}

bool set_timer(const sys::Fd& timer, int seconds) {
  itimerspec until{};
  until.it_value.tv_sec = seconds;
  return timer && ::timerfd_settime(timer.get(), 0, &until, nullptr) == 0;
}

// Nobody has its other end. What is still in it is nobody's.
bool is_closed(const sys::Fd& fd) {
  std::array<char, 4096> left{};
  for (std::size_t reads = 0; fd && reads < kLeftMax; ++reads) {
    const auto got = sys::read_some(fd, left);
    if (got && *got == 0) return true;
    if (!got && got.error().errno_value == EAGAIN) return false;
  }
  return !fd;
}

// A program may open its output by name, which its user could not if the pipe were ours alone.
Result<void> open_to_all(const sys::Fd& pipe) {
  if (::fchmod(pipe.get(), 0666) < 0) return fail_errno("open a pipe to all users");
  return {};
}

}  // namespace

Result<void> Slots::start_shared(const pool::StartNest& action, const Trees& trees) {
  RungBox rung_box{trees.rung, trees.limits};
  rung_box.sandbox = Sandbox::kShared;
  Shared made;
  made.nest = action.nest;
  made.name = "box_" + crypto::random_hex(8);
  const sys::Fd input = TRY(sys::open_at(AT_FDCWD, "/dev/null", O_RDONLY));
  sys::Pair printed = TRY(sys::make_pipe());
  sys::Pair link = TRY(sys::make_stream_pair());
  for (const sys::Fd* fd : {&printed.first, &link.first}) TRY(sys::set_nonblocking(*fd));
  box::BoxSpec spec;
  spec.parks = true;
  spec.rung = trees.rung;
  spec.walls_off = trees.walls_off;
  spec.limits = box_limits(rung_box);
  spec.arguments =
      box_command(rung_box, shared_command(pool::preload_name(action.preload), trees.limits.disk));
  spec.environment = box_environment(trees.limits);
  const box::BoxEnds ends{trees.image.get(),    trees.guest.get(), input.get(),  printed.second.get(),
                          printed.second.get(), link.second.get(), trees.runtime};
  made.err = std::move(printed.first);
  made.link = std::move(link.first);
  const std::uint64_t box = (*next_box_)++;
  epoll_event event{EPOLLIN, {.u64 = box | kLinkBit}};
  if (::epoll_ctl(guests_.get(), EPOLL_CTL_ADD, made.link.get(), &event) < 0)
    return fail_errno("watch a zygote");
  TRY(warden_->make_box(box, spec, ends));
  shared_.emplace(box, std::move(made));
  return {};
}

Result<void> Slots::make_shared_slot(const pool::MakeSlot& action) {
  const auto found = std::find_if(shared_.begin(), shared_.end(),
                                  [&](const auto& entry) { return entry.second.nest == action.nest; });
  if (found == shared_.end() || found->second.spent)
    return fail(ErrorCode::kUnavailable, "its sandbox is gone");
  const auto& [box, shared] = *found;
  Made made;
  made.slot = action.slot;
  made.level = action.level;
  if (made.level != pool::Level::kHot) made.rounds = 1;  // they are a rehearsal too
  made.rung = frame::Rung::kGvisor;
  made.name = shared.name;
  made.volume = "vol_" + crypto::random_hex(8);
  made.asked_at = now();
  sys::Pair out = TRY(sys::make_pipe());
  sys::Pair err = TRY(sys::make_pipe());
  sys::Pair control = TRY(sys::make_stream_pair());
  for (const sys::Fd* fd : {&out.first, &err.first, &control.first}) TRY(sys::set_nonblocking(*fd));
  for (const sys::Fd* fd : {&out.second, &err.second}) TRY(open_to_all(*fd));
  epoll_event event{EPOLLIN, {.u64 = box}};
  if (::epoll_ctl(guests_.get(), EPOLL_CTL_ADD, control.first.get(), &event) < 0)
    return fail_errno("watch a guest");
  const std::array<int, 3> fds = {out.second.get(), err.second.get(), control.second.get()};
  TRY(say(shared.link, made.level == pool::Level::kHot ? GuestType::kFork : GuestType::kForkWarm, fds));
  made.out = std::move(out.first);
  made.err = std::move(err.first);
  made.control = std::move(control.first);
  preparing_.insert(box);
  boxes_.emplace(made.slot, box);
  slots_.emplace(box, std::move(made));
  return {};
}

// A slot that has parked for the last time; of a sandbox that runs share it is ready now.
void Slots::shared_parked(std::uint64_t box, Made& made, Instant now) {
  const auto found = shared_.find(box);
  if (found == shared_.end()) return;
  Shared& shared = found->second;
  made.usage = std::move(shared.usage);
  made.usage.begin();
  made.wall_timer = std::move(shared.wall_timer);
  // The number of its files is not limited by its kernel.
  made.walls_on = shared.walls_on & ~frame::wall_bit(frame::Wall::kInodeLimit);
  made.outside_id = shared.outside_id;
  made.processor = shared.processor;
  made.setup_us = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(now - made.asked_at).count());
  (void)pool_.slot_ready(made.slot, made.level, birth_of(made.volume, made.walls_on), now);
}

bool Slots::on_shared(std::uint64_t box, box::WardenEvent& event, Instant now) {
  const auto found = shared_.find(box);
  if (found == shared_.end()) return false;
  Shared& shared = found->second;
  if (auto* parked = std::get_if<box::Parked>(&event)) {
    shared.walls_on = parked->walls_on;
    shared.outside_id = parked->outside_id;
    shared.processor = parked->processor;
    shared.usage = std::move(parked->usage);
    shared.wall_timer = std::move(parked->wall_timer);
    (void)pool_.nest_ready(shared.nest, now);  // of one that was given up meanwhile: nothing
  } else if (const auto* ended = std::get_if<frame::BoxEnded>(&event)) {
    std::string why = frame::get_text(ended->text);
    const auto slot = slots_.find(box);
    if (why.empty()) why = last_words(shared.err);
    if (why.empty()) why = why_it_ended(slot != slots_.end() ? slot->second.err : shared.err, ended->cause);
    lose_shared(box, shared, why, now);
  } else if (std::holds_alternative<frame::BoxGone>(event)) {
    (void)on_slot(box, event, now);  // with it the slot in it
    const pool::NestId nest = shared.nest;
    const std::string why = shared.failure;
    shared_.erase(found);  // closes the link, which is then not listened to any more
    if (!pool_.nest_failed(nest, why, now)) (void)pool_.nest_gone(nest, why, now);
  }
  return true;
}

// Its zygote has one word for each order, and no other.
void Slots::hear_link(std::uint64_t box, Instant now) {
  const auto found = shared_.find(box);
  if (found == shared_.end()) return;
  Shared& shared = found->second;
  std::array<char, 64> buffer{};
  const auto got = sys::read_some(shared.link, buffer);
  if (!got && got.error().errno_value == EAGAIN) return;
  Header said{};
  const bool whole = got && *got == sizeof(said);
  if (got && *got >= sizeof(said)) std::memcpy(said.data(), buffer.data(), sizeof(said));
  if (!got || *got == 0 || said[1] == header_of(GuestType::kEnded)[1]) {
    (void)::epoll_ctl(guests_.get(), EPOLL_CTL_DEL, shared.link.get(), nullptr);
    shared.spent = true;  // how its box ends says why
    if (shared.cleaning) destroy_shared(box, shared);
  } else if (whole && said == header_of(GuestType::kServing) && !shared.serving) {
    if (const auto served = serve_link(box, shared); !served)
      lose_shared(box, shared, served.error().message, now);
  } else if (whole && said == header_of(GuestType::kCleaned) && shared.cleaning) {
    slot_cleaned(box, shared, now);
  } else {
    lose_shared(box, shared, "its zygote said what it may not", now);
  }
}

Result<void> Slots::serve_link(std::uint64_t box, Shared& shared) {
  shared.serving = true;
  std::array<char, 4096> buffer{};
  for (std::size_t reads = 0;; ++reads) {
    if (reads == kLeftMax) return fail(ErrorCode::kInvalid, "its imports print without end");
    const auto printed = sys::read_some(shared.err, buffer);
    if (!printed || *printed == 0) break;
  }
  return warden_->park_box(box);
}

void Slots::slot_cleaned(std::uint64_t box, Shared& shared, Instant now) {
  const auto found = slots_.find(box);
  Made& made = found->second;  // what is being cleaned is there
  shared.cleaning = false;
  const auto row = [](bool shown) { return shown ? pool::RowState::kOn : pool::RowState::kOff; };
  const bool closed = is_closed(made.out) && is_closed(made.err) && is_closed(made.control);
  if (!closed || !set_timer(shared.wall_timer, 0)) {
    spend(shared);
    return destroy_shared(box, shared);
  }
  (void)stop_hearing(box, made);
  (void)pool_.slot_cleaned(made.slot, {row(true), row(true), row(closed)}, now);
  if (verdicts_.size() == kVerdictsMax) verdicts_.pop_front();
  verdicts_.emplace_back(made.volume, Verdict{true, 0});
  keep_record(made, std::nullopt, now);
  boxes_.erase(made.slot);
  slots_.erase(found);
}

void Slots::give_back(Lease lease) {
  const auto found = slots_.find(lease.box);
  if (lease.sandbox != Sandbox::kShared || found == slots_.end() || found->second.slot != lease.slot) return;
  Made& made = found->second;
  made.out = std::move(lease.out);
  made.err = std::move(lease.err);
  made.control = std::move(lease.control);
  made.usage = std::move(lease.usage);
  made.wall_timer = std::move(lease.wall_timer);
}

void Slots::spend(Shared& shared) {
  shared.spent = true;
  (void)pool_.nest_spent(shared.nest);  // of one that is draining, or never was ready: nothing
}

// Nothing more is heard of it. What is in it is not handed out any more; a run that has it hears from the
// warden.
void Slots::lose_shared(std::uint64_t box, Shared& shared, const std::string& why, Instant now) {
  (void)::epoll_ctl(guests_.get(), EPOLL_CTL_DEL, shared.link.get(), nullptr);
  if (shared.failure.empty()) shared.failure = why;
  const auto slot = slots_.find(box);
  if (slot == slots_.end()) {
    if (!why.empty()) (void)pool_.zygote_died(shared.nest, why, now);
    spend(shared);
    return destroy_shared(box, shared);
  }
  const auto known = pool_.slots().find(slot->second.slot);
  const bool leased = known != pool_.slots().end() && known->second.state >= pool::SlotState::kLeased;
  if (!leased && !pool_.slot_failed(slot->second.slot, why, now))
    (void)pool_.slot_ended(slot->second.slot, now);
  spend(shared);
  if (shared.cleaning) destroy_shared(box, shared);
}

// The end of a slot of such a sandbox. False: it is another slot.
bool Slots::end_shared_slot(std::uint64_t box) {
  const auto found = shared_.find(box);
  if (found == shared_.end()) return false;
  Shared& shared = found->second;
  Made& made = slots_.at(box);
  if (made.wall_timer) {  // it has been ready
    shared.usage = std::move(made.usage);
    shared.wall_timer = std::move(made.wall_timer);
  }
  shared.cleaning = !shared.spent && set_timer(shared.wall_timer, kCleanSeconds) &&
                    say(shared.link, GuestType::kClean, {}).has_value();
  if (shared.cleaning) return true;
  spend(shared);
  destroy_shared(box, shared);
  return true;
}

void Slots::end_shared(pool::NestId nest) {
  for (auto& [box, shared] : shared_) {
    if (shared.nest == nest) destroy_shared(box, shared);
  }
}

void Slots::destroy_shared(std::uint64_t box, Shared& shared) {
  if (shared.ending) return;
  shared.ending = true;
  (void)warden_->begin_destroy(box);  // a warden that is gone is told by the next event that is read
}

}  // namespace casemate::engine
