// Asks the person at the terminal about the calls that wait: all that wait are shown together, then each is
// asked about. A thread of its own, since the engine's goes on meanwhile; it writes only while the run waits.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "approve/desk.h"
#include "sys/fd.h"

namespace casemate {

class AskTerminal {
 public:
  // Reads standard input and writes standard error, which have to be terminals. The desk must outlive it.
  // Errors: system.
  static Result<std::unique_ptr<AskTerminal>> start(approve::Desk& desk);
  ~AskTerminal();
  AskTerminal(const AskTerminal&) = delete;
  AskTerminal& operator=(const AskTerminal&) = delete;

  // The run waits for answers now, or does not any more. Thread-safe.
  void waiting(bool waits);

 private:
  AskTerminal(approve::Desk& desk, sys::Fd changed);
  enum class Read { kLine, kGone, kEnd };

  void work();
  void ask_all();
  void ask_one(const std::string& id);
  Read read_line(const std::string& id, std::string& line);
  bool waits() const;

  approve::Desk& desk_;
  sys::Fd changed_;  // an eventfd: readable when waits_ or over_ is another
  mutable std::mutex mutex_;
  bool waits_ = false;
  bool over_ = false;
  std::string typed_;      // of a line that is not whole
  bool deserted_ = false;  // standard input has ended
  std::thread thread_;     // the last here: it uses the others
};

}  // namespace casemate
