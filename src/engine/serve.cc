// Runs that go on at once.
//
// Each has a thread, its caller's, which reads the run's own pipes and its own line to the warden, and holds
// the engine's mutex only while it takes a slot and while it gives one back. One more thread reads the
// warden: it hands on what is about a run's box, takes what is about slots and nests, and begins what the
// pool wants done. Who waits for a slot, or for a proof, is woken when it has.
#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <condition_variable>
#include <thread>
#include <utility>

#include "engine/live_run.h"
#include "engine/run.h"

namespace casemate::engine {
namespace {

// What the thread looks for by itself at the latest, should the pool have nothing to say.
constexpr milliseconds kLookAgain{1000};

}  // namespace

struct Engine::Service {
  explicit Service(box::WardenLine& warden) : board(warden) {}

  Switchboard board;
  sys::Fd wake;  // an eventfd
  std::condition_variable changed;
  bool stopping = false;
  bool lost = false;
  std::thread thread;
};

Engine::Engine(Paths paths, box::WardenClient warden)
    : paths_(std::move(paths)),
      warden_(std::make_unique<box::WardenClient>(std::move(warden))),
      runtimes_(paths_.runsc) {}
Engine::Engine(Engine&&) noexcept = default;
Engine::~Engine() {
  if (mutex_) stop_serving();
}

Result<void> Engine::serve() {
  TRY(host());
  auto service = std::make_unique<Service>(*warden_);
  service->wake = sys::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!service->wake) return fail_errno("eventfd");
  const std::lock_guard lock(*mutex_);
  service_ = std::move(service);
  service_->thread = std::thread([this] { hear_warden(); });
  return {};
}

void Engine::stop_serving() {
  {
    const std::lock_guard lock(*mutex_);
    if (!service_) return;
    service_->stopping = true;
    (void)::eventfd_write(service_->wake.get(), 1);
  }
  service_->thread.join();
  const std::lock_guard lock(*mutex_);
  service_.reset();
}

void Engine::close(Deadline deadline) {
  stop_serving();
  const std::lock_guard lock(*mutex_);
  if (slots_) slots_->close(deadline);
  slots_.reset();
}

std::vector<outcome::BoxRecord> Engine::take_records() {
  const std::lock_guard lock(*mutex_);
  return records_->take();
}

std::string Engine::cold_reason() const {
  const std::lock_guard lock(*mutex_);
  return cold_reason_;
}

void Engine::hear_warden() {
  std::unique_lock lock(*mutex_);
  Service& service = *service_;
  while (!service.stopping) {
    const Instant at = now();
    if (slots_ && !service.lost) slots_->act(at);
    Instant next = at + kLookAgain;
    if (slots_) next = std::min(next, slots_->pool().next_deadline(at).value_or(next));
    std::array<pollfd, 3> items = {pollfd{service.lost ? -1 : warden_->readable().get(), POLLIN, 0},
                                   {service.wake.get(), POLLIN, 0},
                                   {slots_ ? slots_->guests() : -1, POLLIN, 0}};
    service.changed.notify_all();
    lock.unlock();
    (void)::poll(items.data(), items.size(), Deadline::at(next).poll_timeout_ms(now()));
    lock.lock();
    eventfd_t count = 0;
    if (items[1].revents != 0) (void)::eventfd_read(service.wake.get(), &count);
    if (items[2].revents != 0) slots_->read_guests(now());
    if (items[0].revents == 0) continue;
    // With the mutex held, so that no line comes to be between the two.
    auto message = warden_->receive(Deadline::in(kLookAgain));
    if (!message) {
      service.lost = true;
      service.board.lose();
      continue;
    }
    auto left = service.board.hand_on(std::move(*message));
    if (!left || !slots_) continue;
    if (auto event = box::event_of(*left)) (void)slots_->on_event(std::move(*event), now());
  }
  service.changed.notify_all();
}

Result<void> Engine::await(std::unique_lock<std::mutex>& lock, const std::function<bool()>& done,
                           Deadline deadline) {
  if (!service_) return slots_->pump(done, deadline);
  (void)::eventfd_write(service_->wake.get(), 1);
  const auto over = [&] { return done() || service_->lost || service_->stopping; };
  (void)service_->changed.wait_until(lock, deadline.instant(),
                                     over);  // why it returned is looked at by who waits
  if (service_->lost) return fail(ErrorCode::kUnavailable, "the warden is gone");
  return {};
}

void Engine::look_after_slots() {
  if (!slots_) return;
  if (service_)
    (void)::eventfd_write(service_->wake.get(), 1);
  else
    slots_->act(now());
}

Result<void> Engine::open_line(std::uint64_t box, std::unique_ptr<Switchboard::Line>& line) {
  if (service_) line = TRY(service_->board.line(box));
  return {};
}

void Engine::hang_up(Run& live) {
  if (live.line == nullptr) return;
  for (box::WardenEvent& event : live.line->close()) (void)slots_->on_event(std::move(event), now());
}

// What one thread does beside its run; where runs go on at once another one does it.
Others Engine::others() {
  if (service_) return {[](box::WardenEvent) {}, [] { return -1; }, [] {}};
  return {[this](box::WardenEvent event) {
            if (!slots_) return;
            (void)slots_->on_event(std::move(event), now());
            slots_->act(now());
          },
          [this] { return slots_ ? slots_->guests() : -1; },
          [this] {
            slots_->read_guests(now());
            slots_->act(now());
          }};
}

std::unique_ptr<char[]> Engine::take_chunk() {
  if (chunks_.empty()) return std::make_unique_for_overwrite<char[]>(kReadChunk);
  std::unique_ptr<char[]> chunk = std::move(chunks_.back());
  chunks_.pop_back();
  return chunk;
}

}  // namespace casemate::engine
