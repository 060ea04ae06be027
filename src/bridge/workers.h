// Threads for calls that wait: for the disk, for connectors.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace casemate::bridge {

// At most so many threads, each started when there is work and nobody free. Thread-safe.
class Workers {
 public:
  explicit Workers(std::size_t threads_max) : threads_max_(threads_max) {}
  // Waits for what is begun; what is not begun any more is done first. Every job must have a deadline of its
  // own.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // `job` runs once, in the order of the calls of this. It must not throw.
  void run(std::function<void()> job);

 private:
  void work();

  const std::size_t threads_max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool over_ = false;
};

}  // namespace casemate::bridge
