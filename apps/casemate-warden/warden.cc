#include "warden.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "jail/child.h"

namespace casemate {

using namespace frame;  // the protocol's names, used all over this file

namespace {

constexpr milliseconds kDestroyTime{10'000};
constexpr std::size_t kUndoneMax = 64;
constexpr std::uint64_t kFreezeMax = 31 * 86'400'000ULL;  // a month

// In words why this host lets nobody like us make a user namespace, or nullptr. A host can forbid it in
// more ways (LSMs); then making the first box fails.
const char* user_namespaces_forbidden() {
  const auto is_zero = [](const char* file) {
    const auto text = sys::read_file_at(AT_FDCWD, file, 64);
    return text && *text == "0\n";
  };
  if (is_zero("/proc/sys/user/max_user_namespaces")) {
    return "this host allows no user namespaces: set the sysctl user.max_user_namespaces above 0";
  }
  if (::geteuid() != 0 && is_zero("/proc/sys/kernel/unprivileged_userns_clone")) {  // Debian's own
    return "this host allows user namespaces to root alone: set the sysctl "
           "kernel.unprivileged_userns_clone to 1";
  }
  return nullptr;
}

}  // namespace

bool Warden::prepare(bool single_id, bool no_cgroup) {
  Hello hello;
  hello.instance = host_.instance = instance_.number();
  hello.recovered_boxes = instance_.recovered_groups();
  hello.test_build = jail::kTestBuild ? 1 : 0;
  host_.no_cgroup = no_cgroup;
  host_.landlock = hello.landlock_abi = jail::landlock_abi();
  const auto refuse = [&](const std::string& text) {
    put_text(hello.text, text);
    say(hello);
    return false;
  };
  auto ids = jail::ids_of_instance(instance_.number(), single_id);
  if (!ids) return refuse(ids.error().message);
  host_.ids = *ids;
  if (const char* why = user_namespaces_forbidden()) return refuse(why);
  if (host_.landlock == 0) {
    return refuse("this kernel has no Landlock (Linux 5.13 with `landlock` in its list of security modules)");
  }
  if (!no_cgroup) {
    auto groups = jail::find_cgroups(instance_.number());
    if (!groups) {
      hello.wants_delegation = 1;
      return refuse(groups.error().message + "; or accept the weakening with --weaken no-cgroup");
    }
    host_.cgroups = std::move(*groups);
    std::vector<std::string> paths;
    for (const jail::CgroupBase& base : host_.cgroups.bases) paths.push_back(base.path);
    if (auto recorded = instance_.record_bases(paths); !recorded) return refuse(recorded.error().message);
  }
  hello.by_root = host_.ids.by_root ? 1 : 0;
  hello.cgroup_kind = static_cast<std::uint32_t>(host_.cgroups.kind);
  hello.ready = 1;
  say(hello);
  return true;
}

jail::Box* Warden::box_of(std::uint64_t id) {
  for (const auto& box : boxes_) {
    if (box->id() == id) return box.get();
  }
  return nullptr;
}

jail::Nest* Warden::nest_of(std::uint64_t id) {
  for (const auto& nest : nests_) {
    if (nest->id() == id) return nest.get();
  }
  return nullptr;
}

// Round and round: the kernel lets go of a guest's user namespace, of which each id may have one, some time
// after its last process has ended.
std::uint32_t Warden::free_slot() {
  const std::uint32_t count = host_.ids.single ? 1 : host_.ids.count;
  std::vector<bool> used(std::size_t{count} + 1);
  for (const auto& box : boxes_) used.at(box->slot()) = true;
  for (const std::uint32_t slot : lost_slots_) used.at(slot) = true;
  for (std::uint32_t tried = 0; tried < count; ++tried) {
    const std::uint32_t slot = last_slot_ = last_slot_ % count + 1;
    if (!used[slot]) return slot;
  }
  return 0;
}

void Warden::make_box(const MakeBox& spec, std::vector<sys::Fd> fds) {
  BoxEnded failed;
  failed.header.box = spec.header.box;
  failed.cause = EndCause::kSetupFailed;
  const std::uint32_t slot = free_slot();
  jail::Nest* nest = spec.nest == 0 ? nullptr : nest_of(spec.nest);
  const bool files_right = spec.rung == frame::Rung::kJail
                               ? spec.runtime_files == 0
                               : spec.runtime_files > 0 && spec.runtime_files <= frame::kRuntimeFilesMax;
  const bool right = spec.nest == 0 ? files_right && fds.size() == 6 + spec.runtime_files
                                    : nest != nullptr && nest->has_zygote() &&
                                          spec.rung == frame::Rung::kJail && fds.size() == 4;
  if (!right || slot == 0 || box_of(spec.header.box) != nullptr) {
    failed.stage = static_cast<std::uint32_t>(jail::Stage::kLeaseId);
    failed.errno_value = slot == 0 ? EAGAIN : EINVAL;
    put_text(failed.text, slot == 0 ? "every outside user id is in use or quarantined" : "a wrong request");
    BoxGone nothing;
    nothing.header.box = spec.header.box;
    nothing.destroyed = nothing.init_reaped = nothing.groups_empty = nothing.groups_removed =
        nothing.layer_released = 1;
    if (box_of(spec.header.box) == nullptr) keep_undone(nothing);
    return say(failed);
  }
  jail::BoxFds box_fds;
  std::size_t at = 0;
  if (nest == nullptr) {
    box_fds.image = std::move(fds[at++]);
    box_fds.guest = std::move(fds[at++]);
  }
  for (sys::Fd* fd : {&box_fds.stdin_fd, &box_fds.stdout_fd, &box_fds.stderr_fd, &box_fds.control})
    *fd = std::move(fds[at++]);
  for (sys::Fd& fd : box_fds.runtime) {
    if (at < fds.size()) fd = std::move(fds[at++]);
  }
  jail::SetupFailure failure;
  auto box = jail::Box::make(host_, spec, std::move(box_fds), slot, nest, failure);
  if (box != nullptr) {
    boxes_.push_back(std::move(box));
    return;
  }
  failed.stage = static_cast<std::uint32_t>(failure.stage);
  failed.errno_value =
      static_cast<std::uint32_t>(failure.error.errno_value != 0 ? failure.error.errno_value : EPERM);
  put_text(failed.text, std::string(jail::stage_text(failed.stage)) + ": " + failure.error.message);
  take_gone(failure.gone, slot);
  keep_undone(failure.gone);
  say(failed);
}

void Warden::make_nest(const MakeNest& spec, std::vector<sys::Fd> fds) {
  NestEnded failed;
  failed.header.box = spec.header.box;
  failed.destroyed = 1;
  if (fds.size() != 2 || box_of(spec.header.box) != nullptr || nest_of(spec.header.box) != nullptr) {
    put_text(failed.text, "a wrong request");
    return say(failed);
  }
  jail::SetupFailure failure;
  auto nest = jail::Nest::make(host_, spec, {std::move(fds[0]), std::move(fds[1])}, failure);
  if (nest != nullptr) {
    nests_.push_back(std::move(nest));
    return;
  }
  put_text(failed.text, std::string(jail::stage_text(static_cast<std::uint32_t>(failure.stage))) + ": " +
                            failure.error.message);
  failed.destroyed = failure.gone.destroyed;
  quarantined_ = quarantined_ || failure.gone.destroyed == 0;
  say(failed);
}

// With the boxes in it, each of which is told as any other that ended.
void Warden::end_nest(std::uint64_t id, const std::string& why) {
  NestEnded message;
  message.header.box = id;
  put_text(message.text, why);
  const auto found =
      std::find_if(nests_.begin(), nests_.end(), [&](const auto& one) { return one->id() == id; });
  if (found == nests_.end()) return say(message);
  for (const auto& box : boxes_) {
    if (box->nest() != found->get()) continue;
    box->end(EndCause::kLost);
    const BoxGone gone = box->destroy(Deadline::in(kDestroyTime));
    take_gone(gone, box->slot());
    box->leave_nest(gone);
  }
  const BoxGone gone = (*found)->destroy(Deadline::in(kDestroyTime));
  quarantined_ = quarantined_ || gone.destroyed == 0;
  message.destroyed = gone.destroyed;
  nests_.erase(found);
  report();
  say(message);
}

void Warden::on_nests(Instant at) {
  for (const auto& nest : nests_) {
    nest->on_events(at);
    for (jail::NestEvent& event : nest->take_events()) {
      for (const auto& box : boxes_) {
        if (box->nest() == nest.get() && box->on_nest(event)) break;
      }
    }
    if (const auto ready = nest->take_ready()) say(*ready);
    if (const auto gone = nest->take_zygote_gone()) say(*gone);
  }
  for (std::size_t i = 0; i < nests_.size();) {
    const auto why = nests_[i]->take_failure();
    if (why) {
      end_nest(nests_[i]->id(), *why);
    } else {
      ++i;
    }
  }
}

void Warden::open_file(const OpenFile& request) {
  FileOpened answer;
  answer.header.box = request.header.box;
  sys::Fd file;
  const jail::Box* box = box_of(request.header.box);
  answer.errno_value =
      static_cast<std::uint32_t>(box == nullptr ? ENOENT : box->open_file(get_text(request.path), file));
  const int fd = file.get();
  say(answer, {&fd, file ? 1UL : 0UL});
}

// What is not proven gone keeps its user id, and this instance its number, from being handed out again.
void Warden::take_gone(const BoxGone& gone, std::uint32_t slot) {
  if (gone.destroyed != 0) return;
  quarantined_ = true;
  lost_slots_.push_back(slot);
}

void Warden::keep_undone(const BoxGone& gone) {
  if (undone_.size() == kUndoneMax) undone_.erase(undone_.begin());
  undone_.push_back(gone);
}

void Warden::destroy_box(std::uint64_t id) {
  const auto found =
      std::find_if(boxes_.begin(), boxes_.end(), [&](const auto& box) { return box->id() == id; });
  BoxGone gone;
  gone.header.box = id;
  if (found == boxes_.end()) {
    // A box whose set-up failed was undone at once. Of one that never was, nothing is shown.
    const auto undone =
        std::find_if(undone_.begin(), undone_.end(), [&](const auto& one) { return one.header.box == id; });
    if (undone == undone_.end()) return say(gone);
    gone = *undone;
    undone_.erase(undone);
    return say(gone);
  }
  jail::Box& box = **found;
  if (!box.parks() || box.can_be_shown_gone()) return show_gone(box);
  // The end of a slot takes the kernel a millisecond or more, in which others have runs to start.
  box.end(EndCause::kCancelled);
  dying_.push_back({id, now() + kDestroyTime});
}

void Warden::show_gone(jail::Box& box) {
  const BoxGone gone = box.destroy(Deadline::in(kDestroyTime));
  take_gone(gone, box.slot());
  boxes_.erase(
      std::find_if(boxes_.begin(), boxes_.end(), [&](const auto& one) { return one.get() == &box; }));
  say(gone);
}

// One message of the peer's. False when it has gone or broke the form: then everything ends.
bool Warden::on_peer() {
  auto message = sys::receive_message(peer_, kMessageMax);
  if (!message) return message.error().errno_value == EAGAIN;
  if (message->end) return false;
  const auto type = warden_type(message->bytes);
  if (!type) return false;
  const auto with = [&]<typename T>(T, const auto& act) {
    const auto request = parse_message<T>(message->bytes);
    if (request) act(*request);
    return request.has_value();
  };
  const auto on_box = [&](const auto& request, const auto& act) {
    if (jail::Box* box = box_of(request.header.box)) act(*box);  // else it has ended
  };
  switch (*type) {
    case WardenType::kMakeBox:
      return with(MakeBox{}, [&](const MakeBox& spec) { make_box(spec, std::move(message->fds)); });
    case WardenType::kMakeNest:
      return with(MakeNest{}, [&](const MakeNest& spec) { make_nest(spec, std::move(message->fds)); });
    case WardenType::kEndNest:
      return with(EndNest{}, [&](const EndNest& request) { end_nest(request.header.box, ""); });
    case WardenType::kEndBox:
      return with(EndBox{}, [&](const EndBox& request) {
        on_box(request, [&](jail::Box& box) { box.end(request.cause); });
      });
    case WardenType::kParkBox:
      return with(ParkBox{}, [&](const ParkBox& request) {
        on_box(request, [](jail::Box& box) { box.park(); });
        report();  // nothing else will have happened to it
      });
    case WardenType::kStartBox:
      return with(StartBox{}, [&](const StartBox& request) {
        on_box(request, [&](jail::Box& box) { (void)box.start(request, now()); });
      });
    case WardenType::kFreezeBox:
      return with(FreezeBox{}, [&](const FreezeBox& request) {
        on_box(request, [&](jail::Box& box) { freeze(box, request); });
      });
    case WardenType::kOpenFile: return with(OpenFile{}, [&](const OpenFile& request) { open_file(request); });
    case WardenType::kDestroyBox:
      return with(DestroyBox{}, [&](const DestroyBox& request) { destroy_box(request.header.box); });
    default: return false;
  }
}

void Warden::freeze(jail::Box& box, const FreezeBox& request) {
  if (request.freeze == 0) return box.thaw(now());
  BoxFrozen answer;
  answer.header.box = box.id();
  answer.frozen = box.freeze(now(), milliseconds(std::min(request.wait_max_ms, kFreezeMax))) ? 1 : 0;
  say(answer);
}

void Warden::report() {
  for (const auto& box : boxes_) {
    if (box->idle()) continue;
    if (const auto started = box->take_started()) say(*started);
    std::vector<sys::Fd> files;
    if (const auto parked = box->take_parked(files)) {
      std::vector<int> fds;
      for (const sys::Fd& file : files) fds.push_back(file.get());
      if (wall_timers_.watch(box->id(), box->wall_timer()))
        say(*parked, fds);
      else
        box->end(EndCause::kSetupFailed);
    }
    if (const auto ended = box->take_ended()) say(*ended);
  }
  for (std::size_t i = 0; i < dying_.size();) {
    jail::Box* box = box_of(dying_[i].box);
    if (box != nullptr && !box->can_be_shown_gone() && now() < dying_[i].until) {
      ++i;
      continue;
    }
    dying_.erase(dying_.begin() + static_cast<std::ptrdiff_t>(i));
    if (box != nullptr) show_gone(*box);
  }
}

void Warden::serve() {
  std::vector<pollfd> items;
  for (;;) {
    items = {{peer_.get(), POLLIN, 0}, {wall_timers_.fd().get(), POLLIN, 0}};
    std::optional<Instant> next;
    const auto watch = [&](const auto& one) {
      one->watch(items);
      if (const auto deadline = one->next_deadline()) next = next ? std::min(*next, *deadline) : *deadline;
    };
    for (const auto& nest : nests_) watch(nest);
    for (const auto& box : boxes_) {
      if (!box->idle()) watch(box);
    }
    for (const Dying& one : dying_) next = next ? std::min(*next, one.until) : one.until;
    // While one box was shown to be gone its nest may have spoken of others, and no socket tells that again.
    if (std::any_of(nests_.begin(), nests_.end(), [](const auto& nest) { return nest->has_events(); }))
      next = Instant::min();
    const int timeout = next ? Deadline::at(*next).poll_timeout_ms(now()) : -1;
    if (::poll(items.data(), items.size(), timeout) < 0 && errno != EINTR) break;
    const Instant at = now();
    if (items[1].revents != 0) {
      for (const std::uint64_t id : wall_timers_.expired()) {
        if (jail::Box* box = box_of(id)) box->on_wall_timer();
      }
    }
    on_nests(at);
    for (const auto& box : boxes_) {
      if (!box->idle()) box->on_events(at);
    }
    report();
    if (items.front().revents != 0 && !on_peer()) break;
  }
  // All at once, so that the kernel takes a thousand of them apart beside our showing them to be gone.
  for (const auto& box : boxes_) box->end(EndCause::kCancelled);
  for (const auto& box : boxes_) {
    quarantined_ = quarantined_ || box->destroy(Deadline::in(kDestroyTime)).destroyed == 0;
  }
  boxes_.clear();
  for (const auto& nest : nests_) {
    quarantined_ = quarantined_ || nest->destroy(Deadline::in(kDestroyTime)).destroyed == 0;
  }
  nests_.clear();
  // What could not be shown to be gone keeps its record, and its number, for a later look.
  if (!quarantined_) instance_.release();
}

}  // namespace casemate
