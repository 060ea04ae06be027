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

// First the arguments, then the environment, each ended by NUL.
Result<void> put_strings(const std::vector<std::string>& arguments,
                         const std::vector<std::string>& environment,
                         std::array<char, frame::kStringsSize>& out) {
  std::size_t at = 0;
  for (const auto* list : {&arguments, &environment}) {
    for (const std::string& text : *list) {
      if (text.find('\0') != std::string::npos)
        return fail(ErrorCode::kInvalid, "an argument has a NUL byte in it");
      if (at + text.size() + 1 > out.size()) {
        return fail(ErrorCode::kInvalid, "the box's own arguments and environment are too long");
      }
      std::memcpy(out.data() + at, text.data(), text.size());
      at += text.size() + 1;  // the array is zero: the NUL is there
    }
  }
  return {};
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
  auto message = sys::receive_message(socket_, frame::kMessageMax);
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
  TRY(put_strings(spec.arguments, spec.environment, message.strings));
  message.nest = spec.nest;
  message.rehearse = spec.rehearse ? 1 : 0;
  message.rung = spec.rung;
  message.parks = spec.parks ? 1 : 0;
  std::vector<int> fds = {ends.stdin_fd, ends.stdout_fd, ends.stderr_fd, ends.control};
  if (spec.nest == 0) fds.insert(fds.begin(), {ends.image, ends.guest});
  for (const int fd : ends.runtime) {
    if (fd < 0) continue;
    fds.push_back(fd);
    ++message.runtime_files;
  }
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

Result<void> WardenClient::make_nest(std::uint64_t nest, const NestSpec& spec, int image, int guest) {
  frame::MakeNest message;
  message.header.box = nest;
  message.memory_max_bytes = spec.memory.count;
  message.ready_max_ms = static_cast<std::uint64_t>(spec.ready_max.count());
  message.walls_off = spec.walls_off;
  message.argument_count = static_cast<std::uint32_t>(spec.arguments.size());
  message.environment_count = static_cast<std::uint32_t>(spec.environment.size());
  TRY(put_strings(spec.arguments, spec.environment, message.strings));
  const std::array<int, 2> fds = {image, guest};
  return tell(frame::bytes_of(message), fds);
}

Result<void> WardenClient::end_nest(std::uint64_t nest) {
  frame::EndNest message;
  message.header.box = nest;
  return tell(frame::bytes_of(message), {});
}

Result<void> WardenClient::park_box(std::uint64_t box) {
  frame::ParkBox message;
  message.header.box = box;
  return tell(frame::bytes_of(message), {});
}

Result<void> WardenClient::start_box(std::uint64_t box, milliseconds wall, milliseconds cpu_time,
                                     microseconds running) {
  frame::StartBox message;
  message.header.box = box;
  message.wall_max_ms = static_cast<std::uint64_t>(wall.count());
  message.cpu_time_max_ms = static_cast<std::uint64_t>(cpu_time.count());
  message.running_us = static_cast<std::uint64_t>(running.count());
  return tell(frame::bytes_of(message), {});
}

Result<void> WardenClient::freeze_box(std::uint64_t box, milliseconds most) {
  frame::FreezeBox message;
  message.header.box = box;
  message.freeze = 1;
  message.wait_max_ms = static_cast<std::uint64_t>(most.count());
  return tell(frame::bytes_of(message), {});
}

Result<void> WardenClient::thaw_box(std::uint64_t box) {
  frame::FreezeBox message;
  message.header.box = box;
  return tell(frame::bytes_of(message), {});
}

Result<void> WardenClient::begin_destroy(std::uint64_t box) {
  frame::DestroyBox message;
  message.header.box = box;
  return tell(frame::bytes_of(message), {});
}

Result<WardenEvent> WardenClient::event_of(sys::Message& message) {
  using frame::WardenType;
  const auto as = [&]<typename T>(T) -> Result<WardenEvent> {
    return WardenEvent(TRY(frame::parse_message<T>(message.bytes)));
  };
  switch (TRY(frame::warden_type(message.bytes))) {
    case WardenType::kBoxStarted: return as(frame::BoxStarted{});
    case WardenType::kBoxEnded: return as(frame::BoxEnded{});
    case WardenType::kBoxGone: return as(frame::BoxGone{});
    case WardenType::kBoxParked: {
      const auto parked = TRY(frame::parse_message<frame::BoxParked>(message.bytes));
      if (message.fds.empty()) return fail(ErrorCode::kInvalid, "a parked box without its descriptors");
      sys::Fd timer = std::move(message.fds.front());
      message.fds.erase(message.fds.begin());
      UsageFiles usage = TRY(UsageFiles::from(parked, std::move(message.fds)));
      return WardenEvent(Parked{parked.header, parked.walls_on, parked.setup_us, parked.outside_id,
                                parked.processor, std::move(timer), std::move(usage)});
    }
    case WardenType::kNestReady: return as(frame::NestReady{});
    case WardenType::kNestEnded: return as(frame::NestEnded{});
    case WardenType::kBoxFrozen: return as(frame::BoxFrozen{});
    case WardenType::kZygoteGone: return as(frame::ZygoteGone{});
    default: return WardenEvent(std::monostate{});
  }
}

Result<WardenEvent> WardenClient::next() {
  if (!events_.empty()) {
    WardenEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
  }
  auto message = sys::receive_message(socket_, frame::kMessageMax);
  if (!message || message->end) return tl::unexpected<Error>(gone());
  return event_of(*message);
}

// About one box at a time: events of others that come first are kept.
template <typename T>
Result<T> WardenClient::await_answer(frame::WardenType type, std::uint64_t box, Deadline deadline,
                                     std::vector<sys::Fd>& fds) {
  for (;;) {
    sys::Message message = TRY(await(deadline));
    frame::WardenHeader header;
    if (TRY(frame::warden_type(message.bytes)) == type) {
      std::memcpy(&header, message.bytes.data(), sizeof(header));
      if (header.box == box) {
        fds = std::move(message.fds);
        return frame::parse_message<T>(message.bytes);
      }
    }
    events_.push_back(TRY(event_of(message)));
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
  const auto answer =
      TRY(await_answer<frame::FileOpened>(frame::WardenType::kFileOpened, box, deadline, fds));
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
  TRY(begin_destroy(box));
  std::vector<sys::Fd> fds;
  return await_answer<frame::BoxGone>(frame::WardenType::kBoxGone, box, deadline, fds);
}

}  // namespace casemate::box
