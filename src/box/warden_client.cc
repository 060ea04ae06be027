#include "box/warden_client.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
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

Result<sys::Message> WardenClient::receive(Deadline deadline) {
  if (!TRY(sys::wait_readable(socket_, deadline))) {
    return fail(ErrorCode::kDeadline, "the warden does not answer");
  }
  auto message = sys::receive_message(socket_, frame::kMessageMax);
  if (!message || message->end) return tl::unexpected<Error>(gone());
  return message;
}

Result<frame::Hello> WardenClient::hello(Deadline deadline) {
  for (bool scope = false;; scope = true) {
    const sys::Message message = TRY(receive(deadline));
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

Result<void> WardenClient::tell(std::string_view message, std::span<const int> fds) {
  // Whatever it is that stops a message, the warden cannot be asked any more.
  if (!sys::send_message(socket_, message, fds)) return tl::unexpected<Error>(gone());
  return {};
}

}  // namespace casemate::box
