#include "box/warden_client.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace casemate::box {
namespace {

constexpr milliseconds kWardenEndTime{20'000};
constexpr const char* kSystemdRun = "/usr/bin/systemd-run";

struct Started {
  sys::Fd socket;
  sys::Child child;
};

// Where the user's manager is, and the locks of this user's instances. `su`, `sudo -u` and cron leave the
// variable out, but the directory is there (pam_systemd(8)); and with two places for the locks two
// instances could have the same number, and their boxes the same outside user ids.
std::string runtime_directory() {
  if (const char* given = ::getenv("XDG_RUNTIME_DIR")) return given;
  const std::string usual = "/run/user/" + std::to_string(::geteuid());
  struct stat status {};
  return ::stat(usual.c_str(), &status) == 0 && status.st_uid == ::geteuid() ? usual : std::string();
}

// `scope`: in a transient scope of the user's manager, whose control group is the user's own.
Result<Started> start_warden(const WardenOptions& options, bool scope) {
  sys::Pair pair = TRY(sys::make_seqpacket_pair());
  sys::SpawnOptions spawn;
  if (scope) {
    spawn.arguments = {kSystemdRun, "--user", "--scope", "--quiet", "--collect", "-p", "Delegate=yes", "--"};
    spawn.program = kSystemdRun;
  } else {
    spawn.program = options.program;
  }
  spawn.arguments.push_back(options.program);
  if (options.weakenings.single_id) spawn.arguments.insert(spawn.arguments.end(), {"--weaken", "single-id"});
  if (options.weakenings.no_cgroup) spawn.arguments.insert(spawn.arguments.end(), {"--weaken", "no-cgroup"});
  if (const std::string directory = runtime_directory(); !directory.empty()) {
    spawn.environment.push_back("XDG_RUNTIME_DIR=" + directory);
  }
  if (const char* bus = ::getenv("DBUS_SESSION_BUS_ADDRESS")) {
    spawn.environment.push_back(std::string("DBUS_SESSION_BUS_ADDRESS=") + bus);
  }
  spawn.fds = {-1, -1, STDERR_FILENO, pair.second.get()};
  spawn.new_session = true;  // Ctrl-C is for the engine: the warden cleans up
  sys::Child child = TRY(sys::spawn(spawn));
  return Started{std::move(pair.first), std::move(child)};
}

bool has_user_manager() {
  return ::access((runtime_directory() + "/systemd/private").c_str(), F_OK) == 0 &&
         ::access(kSystemdRun, X_OK) == 0;
}

Error gone() { return Error{ErrorCode::kUnavailable, "the warden is gone", 0}; }

}  // namespace

Result<WardenClient> WardenClient::start(const WardenOptions& options) {
  Started started = TRY(start_warden(options, /*scope=*/false));
  return WardenClient(options, std::move(started.socket), std::move(started.child));
}

WardenClient::~WardenClient() {
  if (!child_) return;
  socket_.reset();
  (void)child_.wait(Deadline::in(kWardenEndTime));  // past it the destructor of Child kills it
}

Result<sys::Message> WardenClient::await(Deadline deadline) {
  if (!TRY(sys::wait_readable(socket_, deadline))) {
    return fail(ErrorCode::kDeadline, "the warden does not answer");
  }
  auto message = sys::receive_message(socket_, frame::kWardenMessageMax);
  if (!message || message->end) return tl::unexpected<Error>(gone());
  return message;
}

Result<frame::Hello> WardenClient::hello(Deadline deadline) {
  for (bool scope = false;; scope = true) {
    const sys::Message message = TRY(await(deadline));
    const frame::Hello hello = TRY(frame::parse_message<frame::Hello>(message.bytes));
    if (TRY(frame::warden_type(message.bytes)) != frame::WardenType::kHello)
      return tl::unexpected<Error>(gone());
    if (hello.ready != 0) return hello;
    if (scope || hello.wants_delegation == 0 || ::geteuid() == 0 || !has_user_manager()) {
      return fail(ErrorCode::kDenied, frame::get_text(hello.text));
    }
    Started started = TRY(start_warden(options_, /*scope=*/true));
    socket_ = std::move(started.socket);
    child_ = std::move(started.child);
    started_again_ = true;
  }
}

Result<void> WardenClient::make_box(std::uint64_t box, const BoxSpec& spec, const BoxEnds& ends) {
  frame::MakeBox message;
  message.header.box = box;
  message.memory_max_bytes = spec.limits.memory.count;
  message.disk_max_bytes = spec.limits.disk.count;
  message.disk_inodes_max = spec.limits.inodes;
  message.file_size_max_bytes = spec.limits.file_size.count;
  message.wall_max_ms = static_cast<std::uint64_t>(spec.limits.wall.count());
  message.cpu_time_max_ms = static_cast<std::uint64_t>(spec.limits.cpu_time.count());
  message.cpus_milli = spec.limits.cpus_milli;
  message.pids_max = spec.limits.pids;
  message.open_files_max = spec.limits.open_files;
  message.walls_off = spec.walls_off;
  message.fail_stage = spec.fail_stage;
  message.argument_count = static_cast<std::uint32_t>(spec.arguments.size());
  message.environment_count = static_cast<std::uint32_t>(spec.environment.size());
  std::size_t at = 0;
  for (const auto* list : {&spec.arguments, &spec.environment}) {
    for (const std::string& text : *list) {
      if (text.find('\0') != std::string::npos)
        return fail(ErrorCode::kInvalid, "an argument has a NUL byte in it");
      if (at + text.size() + 1 > message.strings.size()) {
        return fail(ErrorCode::kInvalid, "the box's own arguments and environment are too long");
      }
      std::memcpy(message.strings.data() + at, text.data(), text.size());
      at += text.size() + 1;  // the array is zero: the NUL is there
    }
  }
  const std::array<int, 6> fds = {ends.image,     ends.guest,     ends.stdin_fd,
                                  ends.stdout_fd, ends.stderr_fd, ends.control};
  return tell(frame::bytes_of(message), fds);
}

Result<void> WardenClient::tell(std::string_view message, std::span<const int> fds) {
  // Whatever it is that stops a message, the warden cannot be asked any more.
  if (!sys::send_message(socket_, message, fds)) return tl::unexpected<Error>(gone());
  return {};
}

Result<void> WardenClient::end_box(std::uint64_t box, frame::EndCause cause) {
  frame::EndBox message;
  message.header.box = box;
  message.cause = cause;
  return tell(frame::bytes_of(message), {});
}

Result<WardenEvent> WardenClient::next() {
  auto message = sys::receive_message(socket_, frame::kWardenMessageMax);
  if (!message || message->end) return tl::unexpected<Error>(gone());
  switch (TRY(frame::warden_type(message->bytes))) {
    case frame::WardenType::kBoxStarted:
      return WardenEvent(TRY(frame::parse_message<frame::BoxStarted>(message->bytes)));
    case frame::WardenType::kBoxEnded:
      return WardenEvent(TRY(frame::parse_message<frame::BoxEnded>(message->bytes)));
    default: return WardenEvent(std::monostate{});
  }
}

template <typename T>
Result<T> WardenClient::await_answer(frame::WardenType type, Deadline deadline, std::vector<sys::Fd>& fds) {
  for (;;) {
    sys::Message message = TRY(await(deadline));
    if (TRY(frame::warden_type(message.bytes)) != type) continue;  // an event that came first and is over
    fds = std::move(message.fds);
    return frame::parse_message<T>(message.bytes);
  }
}

Result<sys::Fd> WardenClient::open_file(std::uint64_t box, const std::string& path, Deadline deadline) {
  frame::OpenFile request;
  request.header.box = box;
  if (path.size() >= request.path.size() || path.find('\0') != std::string::npos) {
    return fail(ErrorCode::kInvalid, "the path is too long or has a NUL byte in it");
  }
  frame::put_text(request.path, path);
  TRY(tell(frame::bytes_of(request), {}));
  std::vector<sys::Fd> fds;
  const auto answer = TRY(await_answer<frame::FileOpened>(frame::WardenType::kFileOpened, deadline, fds));
  switch (answer.errno_value) {
    case 0: break;
    case ENOENT: return fail(ErrorCode::kNotFound, "there is no such file");
    case EPERM:
      return fail(ErrorCode::kDenied,
                  "it is not a regular file with one name (a link, a pipe, a directory, ...)");
    default: return fail_errno("open it in the layer", static_cast<int>(answer.errno_value));
  }
  if (fds.size() != 1) return fail(ErrorCode::kUnavailable, "the warden sent no file");
  return std::move(fds.front());
}

Result<frame::BoxGone> WardenClient::destroy_box(std::uint64_t box, Deadline deadline) {
  frame::DestroyBox request;
  request.header.box = box;
  TRY(tell(frame::bytes_of(request), {}));
  std::vector<sys::Fd> fds;
  return await_answer<frame::BoxGone>(frame::WardenType::kBoxGone, deadline, fds);
}

}  // namespace casemate::box
