#include "approvals_command.h"

#include <cstdio>
#include <string_view>

#include "approvals_options.h"
#include "approve/messages.h"
#include "approve/server.h"
#include "approve/text.h"
#include "json/utf8.h"
#include "outcome/outcome.h"

namespace casemate {
namespace {

using outcome::kExitError;
using outcome::kExitOk;
using outcome::kExitUsage;

constexpr milliseconds kAnswerTime{5000};
constexpr std::size_t kAllOfIt = std::size_t{16} << 20;

int fail_with(const std::string& message, int exit_code) {
  std::fprintf(stderr, "casemate approvals: %s\n", json::one_line(message, 4096).c_str());
  return exit_code;
}

// Each process that answers, and what it says. One that has just ended is none.
Result<std::vector<approve::Listed>> ask(const std::string& socket, const approve::Request& request) {
  const std::string line = approve::write_request(request);
  return approve::read_reply(TRY(approve::ask_server(socket, line, Deadline::in(kAnswerTime))));
}

void print_json(const std::vector<approve::Listed>& asks) {
  json::Writer writer;
  writer.begin_object().key("asks").begin_array();
  for (const approve::Listed& listed : asks) {
    writer.begin_object();
    approve::write_listed(writer, listed);
    writer.end_object();
  }
  writer.end_array().end_object();
  std::printf("%s\n", std::move(writer).take().c_str());
}

void print_text(const std::vector<approve::Listed>& asks, std::size_t arguments_max) {
  for (const approve::Listed& listed : asks) {
    std::printf("%s  %s", json::one_line(listed.question.id, 256).c_str(),
                approve::question_text(listed.question, arguments_max).c_str());
    if (listed.question.arguments.size() < listed.arguments_bytes)
      std::printf("    … cut: `casemate approvals show` has all %llu bytes\n",
                  static_cast<unsigned long long>(listed.arguments_bytes));
    std::printf("  left      %llu s, then it is denied\n",
                static_cast<unsigned long long>(listed.left_ms / 1000));
  }
}

int run_list(const ApprovalsArguments& arguments, const std::vector<std::string>& sockets) {
  std::vector<approve::Listed> all;
  for (const std::string& socket : sockets) {
    auto asks = ask(socket, {"list", {}, {}, {}});
    if (!asks && asks.error().code != ErrorCode::kUnavailable)
      (void)fail_with("ignoring a run that does not answer: " + asks.error().message, kExitOk);
    if (!asks) continue;
    for (approve::Listed& listed : *asks) all.push_back(std::move(listed));
  }
  if (arguments.json) {
    print_json(all);
  } else if (all.empty()) {
    std::printf("no call waits for a person\n");
  } else {
    print_text(all, approve::kArgumentsShownMax);
  }
  return kExitOk;
}

// Whoever knows the call answers; the others say that they do not.
int run_about_one(const char* what, const ApprovalsArguments& arguments,
                  const std::vector<std::string>& sockets) {
  std::string why =
      "no call '" + arguments.id + "' waits for an answer: `casemate approvals list` shows those";
  for (const std::string& socket : sockets) {
    const auto asks = ask(socket, {what, arguments.id, arguments.arguments, arguments.reason});
    if (asks) {
      if (arguments.json) print_json(*asks);
      if (!arguments.json) print_text(*asks, kAllOfIt);
      return kExitOk;
    }
    if (asks.error().code == ErrorCode::kInvalid) return fail_with(asks.error().message, kExitUsage);
    if (asks.error().code == ErrorCode::kDenied) return fail_with(asks.error().message, kExitError);
    if (asks.error().code != ErrorCode::kUnavailable && asks.error().code != ErrorCode::kNotFound)
      why = asks.error().message;
  }
  return fail_with(why, kExitError);
}

struct Subcommand {
  const char* name;
  Command (*table)(ApprovalsArguments&);
};
constexpr Subcommand kCommands[] = {{"list", approvals_list_table},
                                    {"show", approvals_show_table},
                                    {"allow", approvals_allow_table},
                                    {"deny", approvals_deny_table}};

}  // namespace

int approvals_command(int argc, char** argv) {
  const std::string_view asked = argc > 1 ? argv[1] : "";
  if (asked == "--help" || asked == "-h") {
    std::fputs(kApprovalsUsage, stdout);
    return kExitOk;
  }
  for (const Subcommand& command : kCommands) {
    if (asked != command.name) continue;
    ApprovalsArguments arguments;
    if (const auto done = read_command(command.table(arguments), argc - 1, argv + 1)) return *done;
    const auto directory = approve::approvals_directory();
    if (!directory) return fail_with(directory.error().message, kExitError);
    const auto sockets = approve::sockets_in(*directory);
    if (!sockets) return fail_with(sockets.error().message, kExitError);
    return asked == "list" ? run_list(arguments, *sockets) : run_about_one(command.name, arguments, *sockets);
  }
  const std::string there = "; there are list, show, allow and deny";
  if (asked.empty()) return fail_with("a command is missing" + there, kExitUsage);
  return fail_with("there is no command '" + std::string(asked) + "'" + there, kExitUsage);
}

}  // namespace casemate
