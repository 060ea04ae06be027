#include "http_server/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <system_error>

#include "http_server/limits.h"

namespace casemate::http_server {
namespace {

// Connections taken from one listener before the other has its turn.
constexpr int kAcceptBurst = 64;
// When the process has no descriptors left, the next try is after so long.
constexpr int kPauseMs = 20;
// For a connection that is cut to end: its thread has only to wake up.
constexpr milliseconds kEvictionTime{200};
constexpr Refusal kBusy{503, "busy", "all connections are busy: try again after a moment"};

// The one answer that is given without a thread: as much of it as the socket takes at once.
void turn_away(const sys::Fd& socket) {
  static const std::string text = [] {
    Answer answer = problem(kBusy);
    answer.fields.push_back({"Content-Length", std::to_string(answer.body.size())});
    answer.fields.push_back({"Connection", "close"});
    return answer_head(answer.status, answer.fields) + answer.body;
  }();
  (void)::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  // What is there already is read, so that closing does not reset the connection before the answer is seen.
  std::array<char, 4096> request{};
  for (int i = 0; i < 8 && ::recv(socket.get(), request.data(), request.size(), MSG_DONTWAIT) > 0; ++i) {
  }
}

Result<void> check_span(const char* name, milliseconds span) {
  if (span >= milliseconds(1) && span <= std::chrono::hours(24)) return {};
  return fail(ErrorCode::kInvalid, std::string(name) + " should be from 1 ms to 24 h");
}

}  // namespace

Result<void> check_options(const Options& options) {
  if (!options.loopback && options.unix_socket.empty())
    return fail(ErrorCode::kInvalid, "neither a port nor a unix socket is given to listen on");
  if (options.connections_max < 1 || options.connections_max > kConnectionsMost)
    return fail(ErrorCode::kInvalid,
                "connections_max should be from 1 to " + std::to_string(kConnectionsMost));
  if ((options.unix_mode & ~0777U) != 0)
    return fail(ErrorCode::kInvalid, "unix_mode should be a mode such as 0600");
  if (options.least_rate < 1 || options.least_rate > gib(1).count)
    return fail(ErrorCode::kInvalid, "least_rate should be from 1 to 2^30 bytes a second");
  if (options.bodies_max > gib(1024)) return fail(ErrorCode::kInvalid, "bodies_max should be at most 1 TiB");
  TRY(check_span("head_time", options.head_time));
  TRY(check_span("idle_time", options.idle_time));
  TRY(check_span("body_time", options.body_time));
  TRY(check_span("write_time", options.write_time));
  return check_span("linger_time", options.linger_time);
}

Server::Server(Handler& handler, Options options, sys::Fd stop, sys::Fd drain)
    : options_(std::move(options)),
      stop_(std::move(stop)),
      drain_(std::move(drain)),
      shared_{.handler = handler, .options = options_, .drain = drain_} {}

Result<std::unique_ptr<Server>> Server::start(Handler& handler, Options options) {
  TRY(check_options(options));
  sys::Fd stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  sys::Fd drain(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop || !drain) return fail_errno("eventfd");
  std::unique_ptr<Server> server(new Server(handler, std::move(options), std::move(stop), std::move(drain)));
  if (server->options_.loopback) {
    server->loopback_ = TRY(listen_on_loopback(*server->options_.loopback));
    server->port_ = TRY(port_of(server->loopback_));
  }
  if (!server->options_.unix_socket.empty())
    server->unix_ = TRY(UnixListener::open(server->options_.unix_socket, server->options_.unix_mode));
  // A signal is for the thread that waits for it. The acceptor's mask goes on to the threads that it makes.
  sigset_t all, before;
  ::sigfillset(&all);
  (void)::pthread_sigmask(SIG_BLOCK, &all, &before);
  const bool started = server->start_acceptor();
  (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started) return fail(ErrorCode::kSystem, "this host gives no thread to accept connections with");
  return server;
}

Server::~Server() {
  if (acceptor_.joinable()) (void)drain(Deadline::at(now()));
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ready_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool Server::start_acceptor() {
  try {
    acceptor_ = std::thread([this] { accept_all(); });
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void Server::accept_all() {
  for (;;) {
    // poll(2) passes over a descriptor that is negative.
    std::array<pollfd, 3> items = {
        {{stop_.get(), POLLIN, 0}, {loopback_.get(), POLLIN, 0}, {unix_.socket().get(), POLLIN, 0}}};
    if (::poll(items.data(), items.size(), -1) < 0 && errno != EINTR) return;
    if (items[0].revents != 0) return;
    for (const sys::Fd* listener : std::array<const sys::Fd*, 2>{&loopback_, &unix_.socket()})
      for (int i = 0; *listener && i < kAcceptBurst && accept_one(*listener); ++i) {
      }
  }
}

bool Server::accept_one(const sys::Fd& listener) {
  sys::Fd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) {
    if (errno == EINTR || errno == ECONNABORTED) return true;
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      if (shared_.roster.cut_one_waiting()) ++evicted_;
      pollfd stop{stop_.get(), POLLIN, 0};
      (void)::poll(&stop, 1, kPauseMs);
    }
    return false;
  }
  ++accepted_;
  if (&listener == &loopback_) {
    const int yes = 1;  // an answer is written whole; nothing follows that it could wait for
    (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  }
  if (!take_in(socket)) {
    ++turned_away_;
    turn_away(socket);
  }
  return true;
}

bool Server::take_in(sys::Fd& socket) {
  std::unique_lock lock(mutex_);
  const auto has_room = [this] { return live_ < options_.connections_max; };
  if (!has_room() && shared_.roster.cut_one_waiting()) {
    ++evicted_;
    // Who comes next waits in the kernel's queue: were more accepted than threads can end, newcomers would
    // push each other out, and idle connections with them.
    (void)ended_.wait_for(lock, kEvictionTime, has_room);
  }
  if (!has_room()) return false;
  if (free_threads_ <= queue_.size() && threads_.size() < options_.connections_max && !spawn()) return false;
  const Roster::Place place = shared_.roster.enter(socket);
  queue_.push_back({std::move(socket), place});
  ++live_;
  ready_.notify_one();
  return true;
}

bool Server::spawn() {
  try {
    threads_.emplace_back([this] { work(); });
    return true;
  } catch (const std::system_error&) {
    return false;  // the host gives no more threads
  }
}

void Server::work() {
  for (;;) {
    Accepted next;
    {
      std::unique_lock lock(mutex_);
      ++free_threads_;
      ready_.wait(lock, [this] { return ending_ || !queue_.empty(); });
      --free_threads_;
      if (queue_.empty()) return;
      next = std::move(queue_.front());
      queue_.pop_front();
    }
    {
      Connection connection(shared_, next.socket, next.place);
      connection.serve();
    }
    next.socket.reset();
    const std::lock_guard lock(mutex_);
    --live_;
    ended_.notify_all();
  }
}

std::size_t Server::drain(Deadline deadline) {
  (void)::eventfd_write(stop_.get(), 1);
  acceptor_.join();
  loopback_.reset();
  unix_.close();
  shared_.draining = true;
  (void)::eventfd_write(drain_.get(), 1);
  shared_.roster.drain();
  std::unique_lock lock(mutex_);
  const auto quiet = [this] { return live_ == 0; };
  if (ended_.wait_until(lock, deadline.instant(), quiet)) return 0;
  lock.unlock();
  return shared_.roster.cut_all();
}

Counts Server::counts() const {
  Counts counts;
  {
    const std::lock_guard lock(mutex_);
    counts.connections = live_;
  }
  counts.accepted = accepted_;
  counts.turned_away = turned_away_;
  counts.evicted = evicted_;
  counts.requests = shared_.requests;
  counts.refused = shared_.refused;
  counts.late = shared_.late;
  counts.unread = shared_.unread;
  return counts;
}

}  // namespace casemate::http_server
