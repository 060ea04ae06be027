// Theory of operation: a lane.
//
// A child of the benchmark, forked before there is any engine or thread, so that it can have an engine of its
// own. It is told over a seqpacket socket to take runs for a while, ours or a peer's, and answers how many it
// took. It begins and ends a window of ours with the same number of slots ready and no slot that is not shown
// to be gone, so that all preparation and proof that the runs of the window caused is in the window's time.
// When the socket closes it ends.
#include "bench/lane.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "bench/hot_slots.h"
#include "bench/process_tree.h"

namespace casemate::bench {
namespace {

constexpr std::size_t kHot = 2;
constexpr int kLink = 3;
constexpr milliseconds kWindowTime{300'000};
constexpr milliseconds kEndTime{30'000};

struct Order {
  std::int32_t peer = -1;  // -1: ours
  std::int64_t window_ms = 0;
};

struct Answer {
  std::uint32_t right = 0;
  std::uint64_t runs = 0;
  double seconds = 0, faults = 0;
  std::array<char, 512> text{};  // with right == 0: why, ended by NUL
};

template <typename T>
std::string_view bytes_of(const T& message) {
  return {reinterpret_cast<const char*>(&message), sizeof(message)};
}

double seconds_since(Instant begun) { return std::chrono::duration<double>(now() - begun).count(); }

Result<Answer> window_of_ours(HotSlots& slots, const engine::Request& request, milliseconds window) {
  const std::uint64_t faults = TRY(faults_of_tree(::getpid()));
  Answer answer;
  const Instant begun = now();
  while (now() - begun < window) {
    TRY(slots.any_ready(request, 1, Deadline::in(kPrepareTime)));
    const HotSlots::Ran ran = TRY(slots.run(request, kPrint, HotSlots::Wanted::kAny));
    (void)ran;
    ++answer.runs;
  }
  TRY(slots.any_ready(request, kHot, Deadline::in(kPrepareTime)));
  // What is half made would wait for this process while a peer has its turn, and be given up as late.
  TRY(slots.quiet(Deadline::in(kPrepareTime)));
  answer.seconds = seconds_since(begun);
  answer.faults = static_cast<double>(TRY(faults_of_tree(::getpid())) - faults);
  return answer;
}

Result<Answer> window_of_peer(const Launch& launch, milliseconds window) {
  Answer answer;
  const Instant begun = now();
  while (now() - begun < window) {
    (void)TRY(sample_of(launch, kPrint.expected));
    ++answer.runs;
  }
  answer.seconds = seconds_since(begun);
  return answer;
}

Result<void> serve(const sys::Fd& link, const Place& place, Boxes boxes, const std::vector<Launch>& peers) {
  const engine::Request request = request_of(kPrint, boxes);
  HotSlots slots = TRY(HotSlots::start(place, kHot));
  TRY(slots.ready(request, kHot, Deadline::in(kPrepareTime)));
  for (;;) {
    const sys::Message message = TRY(sys::receive_message(link, sizeof(Order)));
    if (message.end || message.bytes.size() != sizeof(Order)) return {};
    Order order;
    std::memcpy(&order, message.bytes.data(), sizeof(order));
    const milliseconds window(order.window_ms);
    Answer answer =
        TRY(order.peer < 0 ? window_of_ours(slots, request, window)
                           : window_of_peer(peers.at(static_cast<std::size_t>(order.peer)), window));
    answer.right = 1;
    TRY(sys::send_message(link, bytes_of(answer), {}));
  }
}

}  // namespace

Result<Lane> Lane::start(const Place& place, Boxes boxes, const std::vector<Launch>& peers) {
  sys::Pair pair = TRY(sys::make_seqpacket_pair());
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("fork");
  if (pid == 0) {
    // The links of other lanes, which would not end while this one has them.
    if (::dup2(pair.second.get(), kLink) < 0 || ::syscall(SYS_close_range, kLink + 1, ~0U, 0U) < 0)
      ::_exit(1);
    const sys::Fd link(kLink);
    if (const auto served = serve(link, place, boxes, peers); !served) {
      Answer answer;
      std::strncpy(answer.text.data(), served.error().message.c_str(), answer.text.size() - 1);
      (void)sys::send_message(link, bytes_of(answer), {});
    }
    ::_exit(0);  // what else this copy holds is the parent's to remove
  }
  sys::Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd) return fail_errno("pidfd_open");
  return Lane(std::move(pair.first), sys::Child(std::move(pidfd), pid));
}

Lane::~Lane() {
  if (!child_) return;
  link_.reset();
  (void)child_.wait(Deadline::in(kEndTime));  // past it the destructor of Child kills it
}

Result<void> Lane::begin(std::optional<std::size_t> peer, milliseconds window) {
  const Order order{peer ? static_cast<std::int32_t>(*peer) : -1, window.count()};
  return sys::send_message(link_, bytes_of(order), {});
}

Result<Lane::Window> Lane::wait() {
  if (!TRY(sys::wait_readable(link_, Deadline::in(kWindowTime))))
    return fail(ErrorCode::kUnavailable, "a lane does not answer");
  const sys::Message message = TRY(sys::receive_message(link_, sizeof(Answer)));
  if (message.end || message.bytes.size() != sizeof(Answer))
    return fail(ErrorCode::kUnavailable, "a lane has ended");
  Answer answer;
  std::memcpy(&answer, message.bytes.data(), sizeof(answer));
  if (answer.right == 0) return fail(ErrorCode::kInternal, answer.text.data());
  return Window{answer.runs, answer.seconds, answer.faults};
}

}  // namespace casemate::bench
