// casemate-microvm: the first program of a box of the microvm rung. Starts QEMU on a kernel, an initramfs and the
// image of the program, and is the guest's end of the engine's channels.
//
//     casemate-microvm NAME=VALUE... -- PROGRAM ARGUMENT...
//
// machine: MiB of the guest; memory, processes, disk, inodes, file_size and open_files: limits, which the guest's own
// kernel keeps. Descriptors: 0, 1 and 2 are
// the program's, 3 is the control socket, 4 the image of the program as a squashfs. The environment is the
// program's. The box's own root has QEMU, the kernel and its modules.
//
//     engine ── control, stdout, stderr ── casemate-microvm ── a socket ── QEMU ── a port ── casemate-vm-init
//
// Everything that comes from QEMU is as hostile as the guest. No wait here has a deadline of its own: the box's wall
// clock ends them all, from outside.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "init/end_frame.h"
#include "microvm/control_filter.h"
#include "microvm/layer_files.h"
#include "microvm/machine.h"
#include "microvm/message_io.h"

namespace casemate::guest {
namespace {

constexpr int kControl = 3, kImage = 4;
constexpr int kExitFailed = 125;
constexpr int kExitSignalled = 128;
constexpr std::size_t kHeldMax = std::size_t{256} << 10;  // for a guest that does not read

MachineRequest read_request(int argc, char** argv) {
  MachineRequest request;
  int at = 1;
  for (; at < argc && std::string_view(argv[at]) != "--"; ++at) {
    const std::string_view entry = argv[at];
    if (entry.starts_with("machine=")) {
      request.memory_mib = entry.substr(8);
    } else {
      request.limits += std::string(entry) + '\0';
    }
  }
  for (++at; at < argc; ++at) request.command += std::string(argv[at]) + '\0';
  request.command += '\0';
  for (char** entry = environ; *entry != nullptr; ++entry) request.command += std::string(*entry) + '\0';
  request.command += '\0' + request.limits;
  return request;
}

// Bytes for a descriptor that may not take them at once.
class Outlet {
 public:
  explicit Outlet(int fd) : fd_(fd) {}
  void add(std::string_view bytes) {
    if (!over_) held_ += bytes;
    give();
  }
  void give() {
    while (!held_.empty()) {
      const ssize_t put = ::write(fd_, held_.data(), held_.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0 && errno == EAGAIN) return;
      if (put <= 0) {  // nobody takes it any more
        over_ = true;
        return held_.clear();
      }
      held_.erase(0, static_cast<std::size_t>(put));
    }
  }
  bool holds() const { return !held_.empty(); }
  std::size_t size() const { return held_.size(); }
  pollfd item() const { return {holds() ? fd_ : -1, POLLOUT, 0}; }

 private:
  int fd_;
  std::string held_;
  bool over_ = false;
};

class Relay {
 public:
  explicit Relay(const Machine& machine) : port_(machine.port), to_guest_(machine.port) {}
  // Until the program has ended and all that it said and made is handed on. Nothing: the machine ended without a
  // word, or broke its word.
  std::optional<GuestEnded> carry();

 private:
  bool hear_guest();
  bool take(const ReceivedMessage& said);
  void hear_engine();
  std::vector<std::string> all_files() const;
  void next_file();

  int port_;
  Outlet to_guest_, out_{STDOUT_FILENO}, err_{STDERR_FILENO}, to_engine_{kControl};
  bool engine_ended_ = false;
  ControlFilter from_guest_{ControlFilter::From::kGuest}, from_engine_{ControlFilter::From::kEngine};
  MessageReader reader_;
  std::optional<GuestEnded> ended_;
  std::vector<std::string> files_;  // to be fetched, the last first
  bool fetching_ = false;
  LayerFile file_;
};

void Relay::hear_engine() {
  static std::array<char, kMessageMax / 2> bytes;
  const ssize_t got = ::read(kControl, bytes.data(), bytes.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0) {
    const std::string on = from_engine_.take({bytes.data(), static_cast<std::size_t>(got)});
    for (std::size_t at = 0; at < on.size(); at += kMessageMax)
      to_guest_.add(message_of(Message::kControl, std::string_view(on).substr(at, kMessageMax)));
    return;
  }
  engine_ended_ = true;
  to_guest_.add(message_of(Message::kControlEnd, ""));
}

std::vector<std::string> Relay::all_files() const {
  std::set<std::string> files = from_guest_.files();
  files.insert(from_engine_.files().begin(), from_engine_.files().end());
  return {files.begin(), files.end()};
}

// One at a time, when the program and its whole tree have ended: nobody is left who could change them.
void Relay::next_file() {
  fetching_ = !files_.empty();
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
    case Message::kControl: to_engine_.add(from_guest_.take(payload)); return runs;
    case Message::kEnded:
      if (!runs || !read_value(payload, ended_.emplace())) return false;
      files_ = all_files();
      next_file();
      return true;
    case Message::kFileKind: {
      FileKind kind;
      if (!fetching_ || !read_value(payload, kind)) return false;
      file_.take_kind(kind);
      return true;
    }
    case Message::kFileData: file_.take_data(payload); return fetching_;
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

// False when nothing more is to be heard.
bool Relay::hear_guest() {
  if (!reader_.read(port_)) return false;
  ReceivedMessage said;
  for (auto next = reader_.next(said); next != MessageReader::Next::kNone; next = reader_.next(said)) {
    if (next == MessageReader::Next::kBroken || !take(said)) return false;
  }
  return true;
}

std::optional<GuestEnded> Relay::carry() {
  for (;;) {
    const bool full = out_.holds() || err_.holds() || to_engine_.holds();
    if (ended_ && !fetching_ && !full) return ended_;
    const bool hears_engine = !engine_ended_ && !ended_ && to_guest_.size() < kHeldMax;
    std::array<pollfd, 6> items = {pollfd{full ? -1 : port_, POLLIN, 0},
                                   {hears_engine ? kControl : -1, POLLIN, 0},
                                   to_guest_.item(),
                                   out_.item(),
                                   err_.item(),
                                   to_engine_.item()};
    if (::poll(items.data(), items.size(), -1) < 0 && errno != EINTR) die("poll");
    if (items[1].revents != 0) hear_engine();
    for (Outlet* outlet : {&to_guest_, &out_, &err_, &to_engine_}) outlet->give();
    if (items[0].revents != 0 && !hear_guest()) return std::nullopt;
  }
}

int launch(int argc, char** argv) {
  const MachineRequest request = read_request(argc, argv);
  (void)::signal(SIGPIPE, SIG_IGN);
  (void)::fcntl(kControl, F_SETFD, FD_CLOEXEC);
  const Machine machine = start_machine(request, kImage);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO, kControl}) (void)::fcntl(fd, F_SETFL, O_NONBLOCK);
  Relay relay(machine);
  const std::optional<GuestEnded> ended = relay.carry();
  (void)::kill(machine.pid, SIGKILL);
  (void)::waitpid(machine.pid, nullptr, 0);
  if (!ended) return kExitFailed;
  const int status = static_cast<int>(ended->status & 0xffff);
  if (!WIFEXITED(status) && !WIFSIGNALED(status)) return kExitFailed;
  using frame::Tag;
  tell_end(kControl, {{Tag::kWaitStatus, ended->status & 0xffff},
                      {Tag::kOomKills, ended->oom_kills},
                      {Tag::kMemoryPeak, ended->memory_peak},
                      {Tag::kPidsRefused, ended->pids_refused},
                      {Tag::kPidsPeak, ended->pids_peak},
                      {Tag::kDiskUsed, ended->disk_used},
                      {Tag::kDiskFree, ended->disk_free},
                      {Tag::kInodesFree, ended->inodes_free}});
  return WIFEXITED(status) ? WEXITSTATUS(status) : kExitSignalled + WTERMSIG(status);
}

}  // namespace
}  // namespace casemate::guest

int main(int argc, char** argv) { return casemate::guest::launch(argc, argv); }
