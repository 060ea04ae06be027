// casemate-microvm: the first program of a box of the microvm rung. Starts QEMU, and is the guest's end of
// the engine's channels.
//
//     casemate-microvm run|template|restore NAME=VALUE... -- PROGRAM ARGUMENT...
//
// run       boots a kernel, an initramfs and the image of the program, and runs the program
// template  boots them, with the machine's memory in descriptor 5; when the program says that it is made,
// saves the
//           machine's devices into descriptor 6 and ends with 0
// restore   makes a machine of those two, which stay as they are; the program goes on in it
//
// machine: MiB of the guest; memory, processes, disk, inodes, file_size and open_files: limits, which the
// guest's own kernel keeps. Descriptors: 0, 1 and 2 are the program's, 3 is the control socket, 4 the image
// of the program as a squashfs. The environment is the program's. The box's own root has QEMU, the kernel and
// its modules.
//
//     engine ── control, stdout, stderr ── casemate-microvm ── a socket ── QEMU ── a port ── casemate-vm-init
//
// Everything that comes from QEMU is as hostile as the guest.
#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "init/end_frame.h"
#include "microvm/machine.h"
#include "microvm/message_io.h"
#include "microvm/monitor.h"
#include "microvm/relay.h"

namespace casemate::guest {
namespace {

constexpr int kControl = 3, kImage = 4, kMemory = 5, kState = 6;
constexpr int kExitFailed = 125;
constexpr int kExitSignalled = 128;

MachineRequest read_request(int argc, char** argv) {
  MachineRequest request;
  errno = EINVAL;
  const std::string_view kind = argc > 1 ? argv[1] : "";
  if (kind == "template") request.kind = MachineKind::kTemplate;
  if (kind == "restore") request.kind = MachineKind::kRestored;
  if (kind != "run" && request.kind == MachineKind::kBooted) die("read the command");
  int at = 2;
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

std::string control_frame(frame::GuestType type) {
  std::string frame;
  frame::append_frame(frame, static_cast<std::uint16_t>(type), "");
  return frame;
}

// The next message of a guest that does nothing but what it was told to. Nothing: it said what is none, or
// ended.
std::optional<ReceivedMessage> next_message(const Machine& machine, MessageReader& reader) {
  ReceivedMessage said;
  for (;;) {
    const auto next = reader.next(said);
    if (next == MessageReader::Next::kMessage) return said;
    pollfd item{machine.port, POLLIN, 0};
    if (next == MessageReader::Next::kBroken || (::poll(&item, 1, -1) < 0 && errno != EINTR))
      return std::nullopt;
    if (!reader.read(machine.port)) return std::nullopt;
  }
}

void tell(const Machine& machine, std::string_view bytes) {
  if (::write(machine.port, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    die("speak to the guest");
}

[[noreturn]] void end(const Machine& machine, int code) {
  (void)::kill(machine.pid, SIGKILL);
  (void)::waitpid(machine.pid, nullptr, 0);
  std::_Exit(code);
}

void expect_done(const Machine& machine, MessageReader& reader, const char* what) {
  const auto said = next_message(machine, reader);
  std::uint32_t failed = EPROTO;
  if (said && said->type == Message::kDone) (void)read_value(said->payload, failed);
  errno = static_cast<int>(failed);
  if (failed != 0) die(what);
}

template <typename Bytes>
Bytes random_bytes() {
  Bytes bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) die("getrandom");
  return bytes;
}

// ---- A template

// The end of what its program prints is the reason why there is none, if there is none. Kept here until then:
// nobody reads this box's stderr before it has ended.
[[noreturn]] void no_template(const Machine& machine, std::string_view printed) {
  (void)!::write(STDERR_FILENO, printed.data(), printed.size());
  end(machine, kExitFailed);
}

void await_made(const Machine& machine, MessageReader& reader) {
  constexpr std::size_t kPrintedMax = 4096;
  std::string control, printed;
  const std::string made = control_frame(frame::GuestType::kMade);
  while (control != made) {
    const auto said = next_message(machine, reader);
    if (!said) no_template(machine, printed);
    switch (said->type) {
      case Message::kReady:
      case Message::kOut: break;
      case Message::kErr:
        printed += said->payload;
        printed.erase(0, printed.size() - std::min(printed.size(), kPrintedMax));
        break;
      case Message::kControl: control += said->payload; break;
      case Message::kFailed:
        no_template(machine, "casemate: the microvm's guest could not be made: " +
                                 said->payload.substr(0, 200) + "\n");
      default: no_template(machine, printed);
    }
    if (!made.starts_with(control)) no_template(machine, printed);
  }
}

// The state begins with the template's name, which its memory has too: one without the other is no machine.
[[noreturn]] void make_template(const Machine& machine) {
  MessageReader reader;
  await_made(machine, reader);
  const auto name = random_bytes<Nonce>();
  tell(machine, message_of(Message::kTemplate, bytes_of(name)));
  expect_done(machine, reader, "name the template");
  if (::write(kState, name.data(), name.size()) != static_cast<ssize_t>(name.size())) die("write the state");
  Monitor monitor(machine.monitor);
  monitor.begin();
  monitor.save(kState);
  int status = 0;
  if (::waitpid(machine.pid, &status, 0) != machine.pid || status != 0) die("end QEMU");
  std::_Exit(0);
}

// ---- A machine restored from it

// Everything that two machines of one template must not share comes from here, before the program goes on.
// Its own name, which it has to give back in the end.
Nonce make_fresh(const Machine& machine, const Nonce& from) {
  const Restored restored{from, random_bytes<Nonce>()};
  const auto entropy = random_bytes<std::array<char, 64>>();
  tell(machine, message_of(Message::kFresh, bytes_of(restored)) +
                    message_of(Message::kEntropy, {entropy.data(), entropy.size()}) + clock_message());
  MessageReader reader;
  expect_done(machine, reader, "find the machine as its template was");
  expect_done(machine, reader, "stir the guest's entropy");
  tell(machine, message_of(Message::kControl, control_frame(frame::GuestType::kRestored)));
  return restored.run;
}

Nonce restore(const Machine& machine, Monitor& monitor) {
  Nonce from{};
  if (::read(kState, from.data(), from.size()) != static_cast<ssize_t>(from.size())) die("read the state");
  monitor.begin();
  monitor.load(kState);
  (void)monitor.ask(R"({"execute":"cont"})");
  return make_fresh(machine, from);
}

// ----

int run(const Machine& machine, Monitor* monitor, const Nonce& nonce) {
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO, kControl}) (void)::fcntl(fd, F_SETFL, O_NONBLOCK);
  Relay relay({kControl, STDOUT_FILENO, STDERR_FILENO, machine.port}, monitor, nonce);
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

int launch(int argc, char** argv) {
  const MachineRequest request = read_request(argc, argv);
  (void)::signal(SIGPIPE, SIG_IGN);
  for (const int fd : {kControl, kState}) (void)::fcntl(fd, F_SETFD, FD_CLOEXEC);
  const Machine machine = start_machine(request, kImage, kMemory);
  if (request.kind == MachineKind::kBooted) return run(machine, nullptr, {});
  if (request.kind == MachineKind::kTemplate) make_template(machine);
  Monitor monitor(machine.monitor);
  const Nonce nonce = restore(machine, monitor);
  return run(machine, &monitor, nonce);
}

}  // namespace
}  // namespace casemate::guest

int main(int argc, char** argv) { return casemate::guest::launch(argc, argv); }
