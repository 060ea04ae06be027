#include "http_server/listen.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "http_server/limits.h"

namespace casemate::http_server {
namespace {

constexpr int kSocketFlags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path) || path.find('\0') != std::string::npos)
    return fail(ErrorCode::kInvalid, path + " is no path for a socket: it should have 1 to 107 bytes");
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// Whoever may write there could put another socket in the place of ours.
Result<void> check_directory(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  struct stat status {};
  if (::stat(directory.c_str(), &status) < 0) return fail_errno("look at " + directory);
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    return fail(ErrorCode::kDenied, directory + " belongs to another user: choose a directory of this one");
  if ((status.st_mode & 0022) != 0 && (status.st_mode & S_ISVTX) == 0)
    return fail(ErrorCode::kDenied,
                directory + " can be written by others: choose another, or mend its mode");
  return {};
}

Result<sys::Fd> take_lock(const std::string& path) {
  const std::string name = path + ".lock";
  sys::Fd lock(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!lock) return fail_errno("open " + name);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return fail_errno("lock " + name);
  return fail(ErrorCode::kUnavailable,
              "another process listens at " + path + ": end it, or choose another path");
}

// With the lock held.
Result<void> remove_stale(const std::string& path, const sockaddr_un& address) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) < 0) {
    if (errno == ENOENT) return {};
    return fail_errno("look at " + path);
  }
  if (!S_ISSOCK(status.st_mode) || status.st_uid != ::geteuid())
    return fail(ErrorCode::kInvalid,
                path + " is there, and is no socket of this user's: choose another path");
  const sys::Fd probe(::socket(AF_UNIX, kSocketFlags, 0));
  if (!probe) return fail_errno("socket");
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ||
      errno != ECONNREFUSED)
    return fail(ErrorCode::kUnavailable, "something answers at " + path + ": end it, or choose another path");
  if (::unlink(path.c_str()) < 0) return fail_errno("remove the dead socket " + path);
  return {};
}

}  // namespace

Result<sys::Fd> listen_on_loopback(const Options::Loopback& where) {
  sys::Fd socket(::socket(where.ipv6 ? AF_INET6 : AF_INET, kSocketFlags, 0));
  if (!socket) return fail_errno("socket");
  const int yes = 1;  // a restart does not wait for connections that have just ended
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0)
    return fail_errno("SO_REUSEADDR");
  sockaddr_in6 address6{};
  address6.sin6_family = AF_INET6;
  address6.sin6_addr = in6addr_loopback;
  address6.sin6_port = htons(where.port);
  sockaddr_in address4{};
  address4.sin_family = AF_INET;
  address4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address4.sin_port = htons(where.port);
  const auto* address = where.ipv6 ? reinterpret_cast<const sockaddr*>(&address6)
                                   : reinterpret_cast<const sockaddr*>(&address4);
  if (::bind(socket.get(), address, where.ipv6 ? sizeof(address6) : sizeof(address4)) < 0) {
    if (errno != EADDRINUSE) return fail_errno("bind port " + std::to_string(where.port));
    return fail(ErrorCode::kUnavailable, "port " + std::to_string(where.port) + " is taken: choose another");
  }
  if (::listen(socket.get(), static_cast<int>(kListenBacklog)) < 0) return fail_errno("listen");
  return socket;
}

Result<std::uint16_t> port_of(const sys::Fd& listener) {
  sockaddr_in6 address{};  // large enough for both
  socklen_t size = sizeof(address);
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) < 0)
    return fail_errno("getsockname");
  if (address.sin6_family == AF_INET6) return ntohs(address.sin6_port);
  sockaddr_in address4{};
  std::memcpy(&address4, &address, sizeof(address4));
  return ntohs(address4.sin_port);
}

Result<UnixListener> UnixListener::open(const std::string& path, unsigned mode) {
  const sockaddr_un address = TRY(address_of(path));
  TRY(check_directory(path));
  UnixListener made;
  made.lock_ = TRY(take_lock(path));
  TRY(remove_stale(path, address));
  made.socket_ = sys::Fd(::socket(AF_UNIX, kSocketFlags, 0));
  if (!made.socket_) return fail_errno("socket");
  // The file is made with the mode of the socket less the umask: nobody else can ever open it in between.
  if (::fchmod(made.socket_.get(), 0600) < 0) return fail_errno("set the socket's mode");
  if (::bind(made.socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) < 0)
    return fail_errno("bind " + path);
  struct stat status {};
  if (::lstat(path.c_str(), &status) < 0) return fail_errno("look at " + path);
  made.path_ = path;
  made.device_ = status.st_dev;
  made.inode_ = status.st_ino;
  if (::chmod(path.c_str(), mode) < 0) return fail_errno("set the mode of " + path);
  if (::listen(made.socket_.get(), static_cast<int>(kListenBacklog)) < 0)
    return fail_errno("listen at " + path);
  return made;
}

UnixListener& UnixListener::operator=(UnixListener&& other) noexcept {
  close();
  path_ = std::exchange(other.path_, {});
  device_ = other.device_;
  inode_ = other.inode_;
  lock_ = std::move(other.lock_);
  socket_ = std::move(other.socket_);
  return *this;
}

void UnixListener::close() {
  if (!path_.empty()) {
    struct stat status {};
    if (::lstat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_)
      (void)::unlink(path_.c_str());  // at worst a dead socket stays, which the next start removes
    path_.clear();
  }
  socket_.reset();
  lock_.reset();
}

}  // namespace casemate::http_server
