// An HTTP/1.1 server: one thread accepts, and each connection has a thread, of which there is a bounded
// number.
//
// A thread that waits costs some memory and nothing else, so slow and silent clients are kept until they are
// late, and give way to others before that when all threads are taken (Options::connections_max). What a
// client may send is in docs/http.md. Nothing is logged; counts() says what happened.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "http_server/connection.h"
#include "http_server/handler.h"
#include "http_server/listen.h"
#include "http_server/options.h"
#include "sys/fd.h"

namespace casemate::http_server {

class Server {
 public:
  // Serves from now on. The handler must outlive it. All signals are blocked in its threads.
  // Errors: invalid (the options), unavailable (the port or path is taken), denied, system.
  static Result<std::unique_ptr<Server>> start(Handler& handler, Options options);
  // As drain() with a deadline that has passed. Waits for handlers that are called to return.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Of the loopback address; 0 if there is none.
  std::uint16_t port() const { return port_; }

  // Accepts no more, removes the unix socket, ends what waits for its client, and lets requests that are
  // under way be answered; what is not at the deadline is cut, and its handler sees its client gone. How many
  // that were. Once, by one thread.
  std::size_t drain(Deadline deadline);

  Counts counts() const;

 private:
  Server(Handler& handler, Options options, sys::Fd stop, sys::Fd drain);

  struct Accepted {
    sys::Fd socket;
    Roster::Place place;
  };

  bool start_acceptor();
  void accept_all();
  // False when no more can be taken now.
  bool accept_one(const sys::Fd& listener);
  // Takes it into the queue, or leaves it and is false.
  bool take_in(sys::Fd& socket);
  bool spawn();
  void work();

  const Options options_;
  const sys::Fd stop_;   // readable: the acceptor ends
  const sys::Fd drain_;  // readable: handlers learn of it
  Shared shared_;
  sys::Fd loopback_;
  UnixListener unix_;
  std::uint16_t port_ = 0;
  std::atomic<std::uint64_t> accepted_{0}, turned_away_{0}, evicted_{0};

  mutable std::mutex mutex_;
  std::condition_variable ready_;  // the queue has something, or it is the end
  std::condition_variable ended_;  // live_ is less than it was
  // Guarded by mutex_. Connections that wait for a thread; there is one that is free, or soon will be.
  std::deque<Accepted> queue_;
  std::vector<std::thread> threads_;
  std::size_t free_threads_ = 0;
  std::size_t live_ = 0;  // connections in the queue and on threads: at most connections_max
  bool ending_ = false;

  std::thread acceptor_;
};

}  // namespace casemate::http_server
