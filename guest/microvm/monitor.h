// QEMU's monitor (QMP): how a machine is saved, restored, stopped and let run.
#pragma once

#include <string>
#include <string_view>

namespace casemate::guest {

// Over a stream socket. Before any guest has run QEMU is ours; afterwards what it answers is not believed,
// and a machine that does not do as it is told is ended by the box's limits. Ends this process when QEMU
// refuses.
class Monitor {
 public:
  explicit Monitor(int fd) : fd_(fd) {}
  // The greeting, and what is needed for memory that stays where it is.
  void begin();
  // Saves the machine's devices into the file, its memory staying in the file that it lies in. Ends the
  // machine.
  void save(int file);
  // Loads such a file into a machine that waits for it.
  void load(int file);
  // Told, not waited for.
  void tell(std::string_view command);
  // As told, and the answer.
  std::string ask(std::string_view command, int with_file = -1);
  // Throws away what it has said meanwhile.
  void forget_answers();

 private:
  std::string line();
  void send(std::string_view text, int with_file);
  void wait_migrated();

  int fd_;
  std::string held_;
};

}  // namespace casemate::guest
