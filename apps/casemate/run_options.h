// What `casemate run` is told, and the request that follows from it.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "engine/request.h"
#include "options.h"

namespace casemate {

// What the command line said, before it is checked.
struct RunOptions {
  std::string file;
  std::optional<std::string> code;
  std::vector<std::string> arguments;
  std::string language = "python";
  std::string image = "python";
  std::string store;
  std::string isolation = "auto";
  std::string trust = "untrusted";
  std::vector<std::string> weaken;
  bool below_floor = false;
  bool share_sandbox = false;
  std::optional<std::string> memory, cpu_time, wall, disk, file_size, output, cpus, pids, open_files;
  std::vector<std::string> files, artifacts, environment;
  std::string tools, policy;
  std::string ask = "auto", ask_timeout = "10m";
  std::optional<std::string> audit;
  std::vector<std::string> labels;
  std::optional<std::string> out;
  std::optional<std::string> stdin_file;
  std::string repeat = "1";
  std::string parallel = "1";
  std::string start = "auto";
  bool record = false;
  std::string records;
  bool json = false;
  bool quiet = false;
  bool accepts(const std::string& weakening) const {
    return std::find(weaken.begin(), weaken.end(), weakening) != weaken.end();
  }
#ifdef CASEMATE_TEST_HOOKS
  std::string walls_off = "0";
  std::string fail_stage = "0";
  std::string pool_memory = "1GiB";
  std::string unrecorded = "0";  // each so-many-th call is made as one that no record is of
#endif
};

Command command_of(RunOptions& options);

// Without what the request is granted (grants.h). Errors: invalid; one line that says what is wrong.
Result<engine::Request> make_request(const RunOptions& options);

// All of the text is one number. Errors: invalid.
Result<int> parse_count(const std::string& text, const char* option);

}  // namespace casemate
