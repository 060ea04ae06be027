// Slots whose guests are forked from nothing: each prepares itself, and says so to the engine.
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

#include "base/limits.h"
#include "engine/slots.h"
#include "frame/guest.h"
#include "json/utf8.h"

namespace casemate::engine {
namespace {

// Reads of 4 KiB that empty what a pipe can hold.
constexpr std::size_t kPrintedMax = 256;

}  // namespace

// A guest that prepares itself runs nobody's program yet and says one thing: that it waits. True when it has
// said it for the last time. What its imports have printed is nobody's output.
Result<bool> Slots::hear_guest(std::uint64_t box, Made& made) {
  using Header = std::array<std::uint32_t, 2>;  // length, type: frame/frame.h
  constexpr Header kParked = {0, static_cast<std::uint32_t>(frame::GuestType::kParked)};
  constexpr Header kAgain = {0, static_cast<std::uint32_t>(frame::GuestType::kAgain)};
  std::array<char, 4096> buffer{};
  const std::size_t got = TRY(sys::read_some(made.control, buffer));
  Header said{};
  std::memcpy(said.data(), buffer.data(), sizeof(said));
  // How its box ends says why.
  if (got == 0 || said[1] == static_cast<std::uint32_t>(frame::GuestType::kEnded)) return true;
  if (got != sizeof(said) || said != kParked)
    return fail(ErrorCode::kInvalid, "its guest said what it may not");
  (void)pool_.slot_alive(made.slot, now());  // of one that is given up already: nothing
  if (--made.rounds > 0) {
    if (::send(made.control.get(), kAgain.data(), sizeof(kAgain), MSG_NOSIGNAL) != sizeof(kAgain))
      return fail_errno("answer a guest");
    return false;
  }
  for (const sys::Fd* pipe : {&made.out, &made.err}) {
    std::size_t reads = 0;
    for (; reads < kPrintedMax; ++reads) {
      const auto printed = sys::read_some(*pipe, buffer);
      if (!printed || *printed == 0) break;
    }
    if (reads == kPrintedMax) return fail(ErrorCode::kInvalid, "its imports print without end");
  }
  TRY(warden_->park_box(box));
  shared_parked(box, made, now());
  return true;
}

// False when it was not listened to any more.
bool Slots::stop_hearing(std::uint64_t box, const Made& made) {
  if (preparing_.erase(box) == 0) return false;
  (void)::epoll_ctl(guests_.get(), EPOLL_CTL_DEL, made.control.get(), nullptr);
  return true;
}

void Slots::read_guests(Instant now) {
  if (guests() < 0) return;
  std::array<epoll_event, 16> events{};
  const int count = ::epoll_wait(guests_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t box = events.at(static_cast<std::size_t>(i)).data.u64;
    if ((box & kLinkBit) != 0) {
      hear_link(box & ~kLinkBit, now);
      continue;
    }
    if (!preparing_.contains(box)) continue;  // what its sandbox said has ended it
    Made& made = slots_.at(box);
    const auto waits = hear_guest(box, made);
    if (!waits || *waits) (void)stop_hearing(box, made);
    if (!waits) (void)pool_.slot_failed(made.slot, waits.error().message, now);
  }
}

// Why a guest ended before it waited: the limit that it met, or the last line that it printed.
std::string Slots::why_it_ended(const sys::Fd& err, frame::EndCause cause) {
  if (cause == frame::EndCause::kMemory) return "its memory limit was met while it prepared itself";
  const std::string text = last_words(err);
  return text.empty() ? "its guest ended before it waited" : text;
}

std::string Slots::last_words(const sys::Fd& err) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (std::size_t reads = 0; reads < kPrintedMax; ++reads) {
    const auto got = sys::read_some(err, buffer);
    if (!got || *got == 0) break;
    text.append(buffer.data(), *got);
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  text.erase(0, text.rfind('\n') + 1);
  return json::one_line(text, kPoolReasonMax);
}

}  // namespace casemate::engine
