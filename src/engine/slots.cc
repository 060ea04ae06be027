#include "engine/slots.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <functional>

#include "crypto/random.h"
#include "engine/box_command.h"
#include "engine/run.h"
#include "pool/imports.h"
#include "sys/sealed.h"

namespace casemate::engine {
namespace {

constexpr Bytes kNestMemory = gib(1);
// What a parked guest with a kernel of its own takes, by preload set: measured, and a margin.
constexpr std::array<Bytes, pool::kPreloadSets.size()> kAloneCost = {mib(64), mib(96), mib(160)};
// Of a restored machine what is not its template's.
constexpr std::array<Bytes, pool::kPreloadSets.size()> kRestoredCost = {mib(80), mib(88), mib(160)};
// Of a runner in a sandbox that runs share what is not its zygote's, and how many such sandboxes there are
// unless more are asked for: while one shows that nothing is left in it, another one has the next run.
constexpr std::array<Bytes, pool::kPreloadSets.size()> kSharedCost = {mib(16), mib(24), mib(40)};
constexpr std::size_t kSharedHot = 2;
constexpr std::size_t kVerdictsMax = 4096;
constexpr pool::DeathProof kNeverMade{pool::RowState::kOn, pool::RowState::kOn, pool::RowState::kOn,
                                      pool::RowState::kOn};

// What has to be the same for two requests to be able to use the same slot.
std::string class_key(const Request& request, const Image& image, frame::Rung rung) {
  const box::Limits& limits = request.limits;
  std::string key = image.digest + " " + rung_name(rung) + " ";
  for (const std::uint64_t part :
       {limits.memory.count, std::uint64_t{limits.cpus_milli}, limits.disk.count, limits.inodes,
        limits.file_size.count, std::uint64_t{limits.pids}, std::uint64_t{limits.open_files},
        std::uint64_t{request.weakenings.no_cgroup}, request.walls_off})
    key += std::to_string(part) + " ";
  return key;
}

// The header of an event; 0 when it is about nothing.
std::uint64_t subject_of(const box::WardenEvent& event) {
  return std::visit(
      [](const auto& message) -> std::uint64_t {
        if constexpr (requires { message.header; }) {
          return message.header.box;
        } else {
          return 0;
        }
      },
      event);
}

}  // namespace

Result<Slots> Slots::make(const pool::PoolConfig& config, box::WardenLine& warden, std::uint64_t& next_box,
                          BoxRecords& records) {
  sys::Fd guests(::epoll_create1(EPOLL_CLOEXEC));
  if (!guests) return fail_errno("epoll_create1");
  return Slots(TRY(pool::Pool::make(config)), warden, next_box, records, std::move(guests));
}

Result<pool::SlotClass> Slots::class_for(const Request& request, const Image& image, const Paths& paths,
                                         const frame::Hello& host, const Runtime& runtime) {
  const frame::Rung rung = runtime.rung;
  if (request.fail_stage != 0 || (request.walls_off != 0 && !paths.walls_off_in_slots))
    return fail(ErrorCode::kDenied, "a box with a wall off is made for its run");
  if (request.weakenings.single_id && host.by_root == 0)
    return fail(ErrorCode::kDenied, "boxes that share one user id are made one by one");
  if (!request.stdin_bytes.empty())
    return fail(ErrorCode::kDenied, "its standard input is there at its birth");
  pool::SlotClass slot_class;
  const bool shared = request.sandbox == Sandbox::kShared;
  slot_class.key = class_key(request, image, rung);
  if (shared) slot_class.key += "shared by " + request.tenant;
  slot_class.image = image.digest;
  if (rung == frame::Rung::kGvisor) slot_class.origin = pool::Origin::kAlone;
  if (rung == frame::Rung::kMicrovm) slot_class.origin = pool::Origin::kTemplate;
  if (rung == frame::Rung::kGvisor) slot_class.image += std::string(" ") + rung_name(rung);
  if (shared) slot_class.origin = pool::Origin::kShared;
  if (rung == frame::Rung::kMicrovm || shared)
    slot_class.image = slot_class.key;  // a machine has the limits of its template, a sandbox its own
  if (request.walls_off != 0) slot_class.image += " walls off: " + std::to_string(request.walls_off);
  slot_class.preload = pool::preload_for(request.program);
  const std::size_t set = pool::preload_index(slot_class.preload);
  if (rung == frame::Rung::kGvisor) slot_class.slot_cost = kAloneCost[set];
  if (rung == frame::Rung::kMicrovm) slot_class.slot_cost = kRestoredCost[set];
  slot_class.waived = waived_walls(request.weakenings, host, rung, request.walls_off);
  if (shared) {
    slot_class.slot_cost = kSharedCost[set];
    slot_class.hot_max = kSharedHot;
    slot_class.waived.emplace_back(frame::wall_name(frame::Wall::kInodeLimit));
  }
  if (!trees_.contains(slot_class.image)) {
    if (!has_python(image.rootfs)) return fail(ErrorCode::kDenied, kNoPython);
    Trees trees;
    trees.walls_off = request.walls_off;
    trees.rung = rung;
    trees.sandbox = request.sandbox;
    trees.limits = request.limits;
    trees.runtime = runtime.files;
    trees.image = TRY(sys::open_at(AT_FDCWD, runtime.box_root, O_PATH | O_DIRECTORY));
    trees.guest = TRY(sys::open_at(AT_FDCWD, paths.guest_tree, O_PATH | O_DIRECTORY));
    trees_.emplace(slot_class.image, std::move(trees));
  }
  made_as_.try_emplace(slot_class.key,
                       MadeAs{request.limits, slot_class.image, image.digest, request.walls_off});
  return slot_class;
}

void Slots::keep(pool::SlotClass slot_class, std::size_t hot) {
  if (pool_.knows(slot_class.key, slot_class.preload)) return;
  slot_class.hot_min = hot;
  slot_class.hot_max = std::max(slot_class.hot_max, hot);
  (void)pool_.add_class(slot_class);  // a full table: its runs are cold, and say so
}

Slots::Taken Slots::take(const pool::SlotClass& slot_class, Instant now) {
  const pool::Checkout checkout = pool_.checkout(slot_class.key, slot_class.preload, now);
  if (checkout.level == pool::Level::kCold) return {std::nullopt, checkout.reason};
  const std::uint64_t box = box_of(checkout.slot);
  Made& made = slots_.at(box);
  Lease lease;
  lease.slot = checkout.slot;
  lease.box = box;
  lease.level = checkout.level;
  lease.name = made.name;
  lease.volume = made.volume;
  lease.rung = made.rung;
  lease.sandbox = shared_.contains(box) ? Sandbox::kShared : Sandbox::kOwn;
  lease.walls_on = made.walls_on;
  lease.processor = made.processor;
  lease.usage = std::move(made.usage);
  lease.wall_timer = std::move(made.wall_timer);
  lease.out = std::move(made.out);
  lease.err = std::move(made.err);
  lease.control = std::move(made.control);
  return {std::move(lease), ""};
}

std::size_t Slots::parked(const pool::SlotClass& slot_class, bool warm_too) const {
  std::size_t count = 0;
  for (const auto& [id, slot] : pool_.slots()) {
    if ((slot.state == pool::SlotState::kHot || (warm_too && slot.parked())) &&
        slot.of.key == slot_class.key && slot.of.preload == slot_class.preload)
      ++count;
  }
  return count;
}

std::optional<Slots::Verdict> Slots::verdict(const std::string& volume) const {
  const auto found = std::find_if(verdicts_.begin(), verdicts_.end(),
                                  [&](const auto& entry) { return entry.first == volume; });
  return found == verdicts_.end() ? std::nullopt : std::optional(found->second);
}

void Slots::started(pool::SlotId slot, Instant now) { (void)pool_.slot_running(slot, now); }

void Slots::ended(pool::SlotId slot, const std::string& run, RunEnd end, Instant now) {
  if (const auto made = slots_.find(box_of(slot)); made != slots_.end()) made->second.run = run;
  if (const auto shared = shared_.find(box_of(slot));
      shared != shared_.end() && (end != RunEnd::kClean || shared->second.spent))
    spend(shared->second);
  (void)pool_.slot_ended(slot, now);
}

void Slots::close(Deadline deadline) {
  pool_.stop("its casemate ends");
  // A warden that is gone shows nothing any more; the next one finds what it left.
  (void)pump([this] { return pool_.empty(); }, deadline);
  for (const auto& [box, made] : slots_) keep_record(made, std::nullopt, now());
  slots_.clear();
  shared_.clear();
}

void Slots::keep_record(const Made& made, std::optional<std::uint64_t> teardown_us, Instant now) {
  const pool::SlotRecord* record = pool_.record(made.slot);
  if (record == nullptr) return;
  BoxFacts facts{made.name,     made.run,    "", rung_name(made.rung), made.volume, "", made.outside_id,
                 made.setup_us, teardown_us, {}};
  const auto entry = pool_.classes().find({record->class_key, record->preload});
  if (entry != pool_.classes().end()) {
    facts.image = made_as_.at(record->class_key).digest;
    facts.waived = entry->second.spec.waived;
  }
  records_->add(box_record(*record, std::move(facts), now));
}

std::uint64_t Slots::box_of(pool::SlotId slot) const {
  const auto found = boxes_.find(slot);
  return found == boxes_.end() ? 0 : found->second;
}

bool Slots::on_event(box::WardenEvent event, Instant now) {
  const std::uint64_t subject = subject_of(event);
  return on_shared(subject, event, now) || on_slot(subject, event, now) || on_nest(subject, event, now) ||
         on_template(subject, event, now);
}

// Events that come late or twice are refused by the pool, which they do not change.
bool Slots::on_slot(std::uint64_t box, box::WardenEvent& event, Instant now) {
  const auto found = slots_.find(box);
  if (found == slots_.end()) return false;
  Made& made = found->second;
  if (auto* parked = std::get_if<box::Parked>(&event)) {
    made.walls_on = parked->walls_on;
    made.outside_id = parked->outside_id;
    made.setup_us = parked->setup_us;
    made.processor = parked->processor;
    made.usage = std::move(parked->usage);
    made.wall_timer = std::move(parked->wall_timer);
    (void)pool_.slot_ready(made.slot, made.level, birth_of(made.volume, parked->walls_on), now);
  } else if (const auto* ended = std::get_if<frame::BoxEnded>(&event)) {
    made.minor_faults = ended->minor_faults;
    std::string why = frame::get_text(ended->text);
    (void)stop_hearing(box, made);
    if (made.rounds > 0 && made.rung != frame::Rung::kJail && why.empty())
      why = why_it_ended(made.err, ended->cause);
    // One that was being made failed; one that was parked is over, and destroyed with proof as any other.
    if (!pool_.slot_failed(made.slot, why.empty() ? "it ended by itself" : why, now))
      (void)pool_.slot_ended(made.slot, now);
  } else if (const auto* gone = std::get_if<frame::BoxGone>(&event)) {
    (void)pool_.slot_destroyed(made.slot, proof_of(*gone), now);
    if (verdicts_.size() == kVerdictsMax) verdicts_.pop_front();
    verdicts_.emplace_back(made.volume, Verdict{gone->destroyed != 0, made.minor_faults});
    keep_record(made, gone->teardown_us, now);
    (void)stop_hearing(box, made);
    boxes_.erase(made.slot);
    slots_.erase(found);
  }
  return true;
}

bool Slots::on_nest(std::uint64_t id, const box::WardenEvent& event, Instant now) {
  const auto found = nests_.find(id);
  if (found == nests_.end()) return false;
  const pool::NestId nest = found->second;
  if (std::holds_alternative<frame::NestReady>(event)) {
    (void)pool_.nest_ready(nest, now);
  } else if (std::holds_alternative<frame::ZygoteGone>(event)) {
    (void)pool_.zygote_died(nest, "the zygote ended", now);
  } else if (const auto* ended = std::get_if<frame::NestEnded>(&event)) {
    const std::string why = frame::get_text(ended->text);
    if (!pool_.nest_failed(nest, why, now)) (void)pool_.nest_gone(nest, why, now);
    nests_.erase(found);
  }
  return true;
}

Result<void> Slots::start_nest(const pool::StartNest& action) {
  const Trees& trees = trees_.at(action.image);
  if (trees.sandbox == Sandbox::kShared) return start_shared(action, trees);
  if (trees.rung == frame::Rung::kGvisor) named_nests_.insert(action.nest);
  if (trees.rung == frame::Rung::kGvisor) return {};
  if (trees.rung == frame::Rung::kMicrovm) return start_template(action, trees);
  const std::uint64_t id = (*next_box_)++;
  nests_.emplace(id, action.nest);
  box::NestSpec spec;
  spec.memory = kNestMemory;
  spec.arguments = zygote_command(pool::preload_name(action.preload));
  spec.environment = box_environment({});
  spec.walls_off = trees.walls_off;
  return warden_->make_nest(id, spec, trees.image.get(), trees.guest.get());
}

Result<void> Slots::make_slot(const pool::MakeSlot& action) {
  const MadeAs& made_as = made_as_.at(action.class_key);
  const Trees& trees = trees_.at(made_as.image);
  if (trees.sandbox == Sandbox::kShared) return make_shared_slot(action);
  const bool alone = trees.rung != frame::Rung::kJail;
  const auto nest = std::find_if(nests_.begin(), nests_.end(),
                                 [&](const auto& entry) { return entry.second == action.nest; });
  if (!alone && nest == nests_.end()) return fail(ErrorCode::kUnavailable, "its nest is gone");
  Made made;
  made.slot = action.slot;
  made.name = "box_" + crypto::random_hex(8);
  made.volume = "vol_" + crypto::random_hex(8);
  const sys::Fd input = TRY(sys::open_at(AT_FDCWD, "/dev/null", O_RDONLY));
  sys::Pair out = TRY(sys::make_pipe());
  sys::Pair err = TRY(sys::make_pipe());
  sys::Pair control = TRY(sys::make_stream_pair());
  for (const sys::Fd* fd : {&out.first, &err.first, &control.first}) TRY(sys::set_nonblocking(*fd));
  box::BoxSpec spec;
  made.level = action.level;
  made.rung = trees.rung;
  spec.walls_off = made_as.walls_off;
  const RungBox rung_box{trees.rung, made_as.limits, Bytes{0}, RungBox::Machine::kRestore};
  spec.limits = box_limits(rung_box);
  sys::Fd memory, state, disk;  // of the machine that its own is restored from
  box::BoxEnds ends{-1, -1, input.get(), out.second.get(), err.second.get(), control.second.get()};
  if (alone) {
    spec.parks = true;
    spec.rung = trees.rung;
    spec.arguments =
        box_command(rung_box, alone_command(pool::preload_name(action.preload), /*restored=*/false));
    spec.environment = box_environment(made_as.limits);
    ends.image = trees.image.get();
    ends.guest = trees.guest.get();
    ends.runtime = trees.runtime;
    disk = TRY(own_disk(trees.rung, ends.runtime));
    if (trees.rung == frame::Rung::kMicrovm) {
      const auto from = templates_.find(action.nest);
      if (from == templates_.end()) return fail(ErrorCode::kUnavailable, "its template is gone");
      memory = TRY(sys::opened_again(from->second.memory));
      state = TRY(sys::opened_again(from->second.state));
      ends.runtime[1] = memory.get();
      ends.runtime[2] = state.get();
    }
  } else {
    spec.nest = nest->first;
    spec.rehearse = action.level == pool::Level::kHot;
    spec.arguments = python_command();
  }
  made.out = std::move(out.first);
  made.err = std::move(err.first);
  made.control = std::move(control.first);
  const std::uint64_t box = (*next_box_)++;
  if (alone) {
    epoll_event event{EPOLLIN, {.u64 = box}};
    if (::epoll_ctl(guests_.get(), EPOLL_CTL_ADD, made.control.get(), &event) < 0)
      return fail_errno("watch a guest");
  }
  TRY(warden_->make_box(box, spec, ends));  // from here on there may be something to be ended
  if (alone) preparing_.insert(box);
  boxes_.emplace(made.slot, box);
  slots_.emplace(box, std::move(made));
  return {};
}

void Slots::act(Instant now) {
  while (carry_out(now)) {
  }
}

// True when it has to be asked again what is to be done. A request that cannot be sent is a nest or a slot
// that failed; the others are carried out all the same.
bool Slots::carry_out(Instant now) {
  bool again = false;
  for (const pool::Action& action : pool_.plan(now)) {
    if (const auto* nest = std::get_if<pool::StartNest>(&action)) {
      if (const auto done = start_nest(*nest); !done)
        (void)pool_.nest_failed(nest->nest, done.error().message, now);
      if (named_nests_.contains(nest->nest)) again |= pool_.nest_ready(nest->nest, now).has_value();
    } else if (const auto* slot = std::get_if<pool::MakeSlot>(&action)) {
      if (const auto done = make_slot(*slot); !done)
        (void)pool_.slot_failed(slot->slot, done.error().message, now);
    } else if (const auto* end = std::get_if<pool::DestroySlot>(&action)) {
      const std::uint64_t box = box_of(end->slot);
      // A box that was never asked for: nothing of it is there to be ended.
      if (box == 0)
        (void)pool_.slot_destroyed(end->slot, kNeverMade, now);
      else if (!end_shared_slot(box))
        (void)warden_->begin_destroy(box);  // a warden that is gone is told by the next event that is read
    } else if (const auto* over = std::get_if<pool::EndNest>(&action)) {
      again |= end_template(over->nest, now);
      end_shared(over->nest);
      if (named_nests_.erase(over->nest) != 0) again |= pool_.nest_gone(over->nest, "", now).has_value();
      for (const auto& [id, known] : nests_) {
        if (known == over->nest) (void)warden_->end_nest(id);
      }
    }
  }
  return again;
}

Result<void> Slots::read_events() {
  while (warden_->has_events() || TRY(sys::wait_readable(warden_->readable(), Deadline::at(Instant::min()))))
    (void)on_event(TRY(warden_->next()), now());  // of no box of ours: one that is forgotten
  read_guests(now());
  return {};
}

Result<void> Slots::pump(const std::function<bool()>& done, Deadline until) {
  TRY(read_events());  // before anything is found to be late: nobody may have looked for a while
  for (;;) {
    const Instant at = now();
    act(at);
    if (done()) return {};
    const Instant next = pool_.next_deadline(at).value_or(until.instant());
    const Deadline wait = Deadline::at(std::min(next, until.instant()));
    if (!warden_->has_events()) {
      std::array<pollfd, 2> items = {pollfd{warden_->readable().get(), POLLIN, 0}, {guests(), POLLIN, 0}};
      const int ready = ::poll(items.data(), items.size(), wait.poll_timeout_ms(now()));
      if (ready < 0 && errno != EINTR) return fail_errno("poll");
      read_guests(now());
      if (ready == 0 && until.passed(now())) return {};
      if (ready <= 0 || items[0].revents == 0) continue;
    }
    (void)on_event(TRY(warden_->next()), now());  // of no box of ours: one that is forgotten
  }
}

}  // namespace casemate::engine
