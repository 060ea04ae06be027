// A local program as the body of capabilities: one JSON message a line, on its standard input and output
// (exec_protocol.h).
//
// It is started at the first call and serves many at once, in any order. It sees nothing of our environment
// but PATH, LANG, HOME and what the file names. One that ends, answers what is no answer, or does not stop
// talking is ended: its calls fail, those that it was sent with nobody knowing what it did, and the next
// starts it anew.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/secret.h"
#include "bridge/connector.h"

namespace casemate::connect {

struct ExecOptions {
  std::vector<std::string> command;      // the program's path first, or a name that is looked for in PATH
  std::string called;                    // what messages call it
  std::vector<std::string> environment;  // NAME=VALUE
  std::string folder;                    // where it runs
  std::size_t parallel = 16;             // calls that it is given at once; others wait for their turn
  Bytes answer_max = mib(17);            // one line
  Secret first_line;  // what it is told before any call, with its end of line; may be empty
};

// Thread-safe.
class ExecConnector final : public bridge::Connector {
 public:
  explicit ExecConnector(ExecOptions options);
  // Ends the program.
  ~ExecConnector() override;

  bridge::ConnectorAnswer call(audit::Recorded record, const bridge::ConnectorCall& call,
                               Deadline deadline) override;

 private:
  struct Waiting;
  struct Program;

  Result<std::shared_ptr<Program>> program(Deadline deadline);
  static Result<std::shared_ptr<Program>> start(const ExecOptions& options, Deadline deadline);
  static bridge::ConnectorAnswer ask(Program& program, const bridge::ConnectorCall& call, Deadline deadline);

  const ExecOptions options_;
  std::mutex mutex_;
  std::condition_variable turn_;
  std::size_t at_work_ = 0;
  std::shared_ptr<Program> program_;  // the last that was started
};

}  // namespace casemate::connect
