#include "approve/server.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "approve/messages.h"

namespace casemate::approve {
namespace {

constexpr milliseconds kPeerTime{2000};
constexpr int kBacklog = 16;
constexpr std::size_t kChunk = std::size_t{64} << 10;

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path))
    return fail(ErrorCode::kInvalid, path + " is too long a path for a socket");
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Result<void> make_own(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) < 0 && errno != EEXIST) return fail_errno("make " + path);
  struct stat status {};
  if (::lstat(path.c_str(), &status) < 0) return fail_errno(path);
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 0077) != 0)
    return fail(ErrorCode::kDenied,
                path + " is not this user's alone: remove it, or mend its owner and mode");
  return {};
}

// Up to a line end, which is not in it. `stop`: -1, or gives up when it is readable.
Result<std::string> read_line(const sys::Fd& peer, std::size_t most, int stop, Deadline deadline) {
  std::string line;
  std::string chunk(kChunk, '\0');
  for (;;) {
    std::array<pollfd, 2> items = {{{peer.get(), POLLIN, 0}, {stop, POLLIN, 0}}};
    const int ready = ::poll(items.data(), items.size(), deadline.poll_timeout_ms(now()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return fail_errno("poll");
    if (ready == 0) return fail(ErrorCode::kDeadline, "no answer in time");
    if (items[1].revents != 0) return fail(ErrorCode::kCancelled, "it ends");
    const std::size_t got = TRY(sys::read_some(peer, chunk));
    if (got == 0) return fail(ErrorCode::kUnavailable, "the other end is gone");
    const std::size_t end = std::string_view(chunk).substr(0, got).find('\n');
    line.append(chunk, 0, std::min(end, got));
    if (line.size() > most) return fail(ErrorCode::kExhausted, "too long a message");
    if (end < got) return line;
  }
}

Result<sys::Fd> connect_to(const std::string& path) {
  const sockaddr_un address = TRY(address_of(path));
  sys::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno("socket");
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) < 0)
    return fail(ErrorCode::kUnavailable, "nobody listens at " + path);
  return socket;
}

// Left by a process that was killed.
bool is_stale(const std::string& path) {
  const std::size_t name = path.rfind('/') + 1;
  int pid = 0;
  std::from_chars(path.data() + name, path.data() + path.size(), pid);
  return pid > 0 && ::kill(pid, 0) < 0 && errno == ESRCH;
}

}  // namespace

Result<std::string> approvals_directory() {
  std::string base = "/run/casemate";
  if (::geteuid() != 0) {
    const char* given = ::getenv("XDG_RUNTIME_DIR");
    base = given != nullptr && *given == '/' ? std::string(given) + "/casemate"
                                             : "/tmp/casemate-" + std::to_string(::geteuid());
  }
  TRY(make_own(base));
  return base;
}

Result<std::unique_ptr<Server>> Server::start(Desk& desk, const std::string& directory) {
  (void)TRY(sockets_in(directory));  // removes what killed processes left
  const std::string path = directory + "/" + std::to_string(::getpid()) + ".sock";
  const sockaddr_un address = TRY(address_of(path));
  sys::Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return fail_errno("socket");
  (void)::unlink(path.c_str());  // of another process that had our pid
  // The directory keeps others out from the first moment on; the mode says so again.
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) < 0)
    return fail_errno("bind " + path);
  if (::chmod(path.c_str(), 0600) < 0 || ::listen(listener.get(), kBacklog) < 0) {
    const int why = errno;
    (void)::unlink(path.c_str());
    return fail_errno("listen at " + path, why);
  }
  sys::Fd stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop) return fail_errno("eventfd");
  // A signal is for the thread that waits for it: Ctrl-C would end the process here, boxes and all.
  sigset_t all, before;
  ::sigfillset(&all);
  (void)::pthread_sigmask(SIG_BLOCK, &all, &before);
  std::unique_ptr<Server> server(new Server(desk, path, std::move(listener), std::move(stop)));
  (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return server;
}

Server::Server(Desk& desk, std::string path, sys::Fd listener, sys::Fd stop)
    : desk_(desk),
      path_(std::move(path)),
      listener_(std::move(listener)),
      stop_(std::move(stop)),
      thread_([this] { serve(); }) {}

Server::~Server() {
  (void)::eventfd_write(stop_.get(), 1);
  thread_.join();
  (void)::unlink(path_.c_str());
}

void Server::serve() {
  for (;;) {
    std::array<pollfd, 2> items = {{{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
    if (::poll(items.data(), items.size(), -1) < 0 && errno != EINTR) return;
    if (items[1].revents != 0) return;
    if (items[0].revents == 0) continue;
    const sys::Fd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (peer) serve_one(peer);
  }
}

void Server::serve_one(const sys::Fd& peer) {
  ucred who{};
  socklen_t size = sizeof(who);
  if (::getsockopt(peer.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) < 0) return;
  if (who.uid != ::geteuid() && who.uid != 0) return;
  const auto line = read_line(peer, kRequestMax.count, stop_.get(), Deadline::in(kPeerTime));
  if (!line) return;  // it is told by the end of its connection
  (void)sys::write_all(peer, answer_request(desk_, *line, now()) + "\n", Deadline::in(kPeerTime));
}

Result<std::vector<std::string>> sockets_in(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(directory.c_str()), ::closedir);
  if (!listing) return fail_errno("look for runs in " + directory);
  std::vector<std::string> found;
  while (const dirent* entry = ::readdir(listing.get())) {
    if (!std::string_view(entry->d_name).ends_with(".sock")) continue;
    std::string path = directory + "/" + entry->d_name;
    if (is_stale(path))
      (void)::unlink(path.c_str());
    else
      found.push_back(std::move(path));
  }
  std::sort(found.begin(), found.end());
  return found;
}

Result<std::string> ask_server(const std::string& socket, const std::string& line, Deadline deadline) {
  const sys::Fd peer = TRY(connect_to(socket));
  TRY(sys::set_nonblocking(peer));
  TRY(sys::write_all(peer, line + "\n", deadline));
  return read_line(peer, kReplyMax.count, -1, deadline);
}

}  // namespace casemate::approve
