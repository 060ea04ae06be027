#include "microvm/relay.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <set>

#include "microvm/machine.h"

namespace casemate::guest {
namespace {

constexpr std::size_t kHeldMax = std::size_t{256} << 10;  // for a guest that does not read

}  // namespace

void Outlet::add(std::string_view bytes) {
  if (!over_) held_ += bytes;
  give();
}

void Outlet::give() {
  while (!held_.empty()) {
    const ssize_t put = ::write(fd_, held_.data(), held_.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) return;
    if (put <= 0) {
      over_ = true;
      return held_.clear();
    }
    held_.erase(0, static_cast<std::size_t>(put));
  }
}

std::string clock_message() {
  timespec time{};
  (void)::clock_gettime(CLOCK_REALTIME, &time);
  const ClockTime clock{time.tv_sec, time.tv_nsec};
  return message_of(Message::kClock, bytes_of(clock));
}

Relay::Relay(const RelayEnds& ends, Monitor* monitor, const Nonce& run)
    : ends_(ends),
      monitor_(monitor),
      run_(run),
      to_guest_(ends.port),
      out_(ends.out),
      err_(ends.err),
      to_engine_(ends.control),
      file_(ends.layer) {}

void Relay::hear_engine() {
  static std::array<char, kMessageMax / 2> bytes;
  const ssize_t got = ::read(ends_.control, bytes.data(), bytes.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  std::string on;
  if (stopped_) {  // the program has come
    stopped_ = false;
    monitor_->forget_answers();
    monitor_->tell(R"({"execute":"cont"})");
    on = clock_message();
  }
  if (got > 0) {
    const std::string frames = from_engine_.take({bytes.data(), static_cast<std::size_t>(got)});
    for (std::size_t at = 0; at < frames.size(); at += kMessageMax)
      on += message_of(Message::kControl, std::string_view(frames).substr(at, kMessageMax));
  } else {
    engine_ended_ = true;
    on += message_of(Message::kControlEnd, "");
  }
  to_guest_.add(on);
}

std::vector<std::string> Relay::all_files() const {
  std::set<std::string> files = from_guest_.files();
  files.insert(from_engine_.files().begin(), from_engine_.files().end());
  return {files.begin(), files.end()};
}

// One at a time, when the program and its whole tree have ended: nobody is left who could change them.
void Relay::next_file() {
  fetching_ = !files_.empty();
  knows_kind_ = false;
  if (!fetching_) return;
  to_guest_.add(message_of(Message::kFile, files_.back()));
  file_.begin(files_.back());
  files_.pop_back();
}

// False: no word of a guest that keeps to the protocol.
bool Relay::take(const ReceivedMessage& said) {
  const std::string& payload = said.payload;
  const bool runs = !ended_.has_value();
  switch (said.type) {
    case Message::kReady: return runs;
    case Message::kOut: out_.add(payload); return runs;
    case Message::kErr: err_.add(payload); return runs;
    case Message::kControl:
      to_engine_.add(from_guest_.take(payload));
      if (monitor_ != nullptr && from_guest_.parked() == frame::kParkRounds && !parked_) {
        parked_ = stopped_ = true;
        monitor_->tell(R"({"execute":"stop"})");
      }
      return runs;
    case Message::kEnded:
      if (!runs || !read_value(payload, ended_.emplace()) || ended_->run != run_) return false;
      files_ = all_files();
      next_file();
      return true;
    case Message::kFileKind: {
      FileKind kind;
      if (!fetching_ || knows_kind_ || !read_value(payload, kind)) return false;
      knows_kind_ = true;
      file_.take_kind(kind);
      return true;
    }
    case Message::kFileData:
      if (knows_kind_) file_.take_data(payload);
      return knows_kind_;
    case Message::kFileEnd: {
      std::uint32_t failed = 0;
      if (!fetching_ || !read_value(payload, failed)) return false;
      file_.end(failed != 0);
      next_file();
      return true;
    }
    case Message::kFailed:
      std::fprintf(stderr, "casemate: the microvm's guest could not be made: %.200s\n", payload.c_str());
      return false;
    default: return false;
  }
}

// As much of what was read as the engine takes. False: the guest has broken its word.
bool Relay::take_said() {
  ReceivedMessage said;
  while (!full()) {
    const auto next = reader_.next(said);
    if (next == MessageReader::Next::kNone) return true;
    if (next == MessageReader::Next::kBroken || !take(said)) return false;
  }
  return true;
}

std::optional<GuestEnded> Relay::carry() {
  for (;;) {
    if (!take_said()) return std::nullopt;
    if (ended_ && !fetching_ && !full()) return ended_;
    const bool hears_engine = !engine_ended_ && !ended_ && to_guest_.size() < kHeldMax;
    std::array<pollfd, 6> items = {pollfd{full() ? -1 : ends_.port, POLLIN, 0},
                                   {hears_engine ? ends_.control : -1, POLLIN, 0},
                                   to_guest_.item(),
                                   out_.item(),
                                   err_.item(),
                                   to_engine_.item()};
    if (::poll(items.data(), items.size(), -1) < 0 && errno != EINTR) die("poll");
    if (items[1].revents != 0) hear_engine();
    for (Outlet* outlet : {&to_guest_, &out_, &err_, &to_engine_}) outlet->give();
    if (items[0].revents != 0 && !reader_.read(ends_.port)) return std::nullopt;
  }
}

}  // namespace casemate::guest
