// A command's options: one table that both the parser and --help read.
//
// The command line is read from left to right. `--name VALUE` and `--name=VALUE`, `-c VALUE` and `-cVALUE`
// are the same; `-` is an argument; what follows `--` is left alone. Names are whole: a prefix that is
// unique today would change its meaning with the next option. Reading a command line with a library made
// of streams and functions cost a twentieth of a cold run.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

namespace casemate {

struct Option {
  const char* name;   // "--memory", "-c"
  const char* value;  // what stands for its value in --help; nullptr: a flag, which takes none
  const char* what;   // one line
  // Where it goes. A list may be given again, each time with one value; anything else once.
  std::variant<bool*, std::string*, std::optional<std::string>*, std::vector<std::string>*> to;
};

struct Argument {
  const char* name;  // "PROGRAM"
  const char* what;
  std::string* to;
  bool required = false;
};

struct Command {
  const char* name;     // "casemate run"
  const char* summary;  // one line
  std::vector<Argument> arguments;
  std::vector<Option> options;
  const char* footer;                        // examples and what else is to be known
  std::vector<std::string>* rest = nullptr;  // what follows `--`; nullptr: nothing may
};

// Fills what the table points to from argv[1] on. True: --help or -h was asked for, and nothing was checked
// after it. Errors: invalid, one line that names the option.
Result<bool> parse_command(const Command& command, int argc, const char* const* argv);

// What --help prints.
std::string help_text(const Command& command);

// Parses; prints --help to standard output and an error to standard error. The exit code when there is no
// more to do, else nothing.
std::optional<int> read_command(const Command& command, int argc, const char* const* argv);

}  // namespace casemate
