#include "audit_options.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/limits.h"

namespace casemate {
namespace {

constexpr std::size_t kLinesUsual = 10;

// The table of a command that the options below are common to.
Command command_of(const char* name, const char* summary, const char* examples, AuditArguments& arguments) {
  return Command{
      name,
      summary,
      {},
      {{"--audit", "DIR",
        "directory of the audit log (default: $CASEMATE_AUDIT, else /var/lib/casemate/audit for root, else "
        "$XDG_STATE_HOME/casemate/audit)",
        &arguments.directory}},
      examples};
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

}  // namespace

// A day, a second or a microsecond; a day begins at midnight UTC.
Result<audit::Time> audit_time_of(const char* option, std::string text) {
  if (text.size() == 10) text += "T00:00:00Z";
  if (text.size() == 20) text.insert(19, ".000000");
  auto time = audit::parse_time(text);
  if (!time) {
    return fail(ErrorCode::kInvalid, std::string(option) +
                                         " takes a time in UTC: 2026-07-30, 2026-07-30T12:00:00Z or "
                                         "2026-07-30T12:00:00.123456Z");
  }
  return time;
}

const char* const kAuditUsage =
    "Looks at the audit log: what was judged, what was done, and whether the log is whole.\n"
    "\n"
    "  casemate audit tail       the last records; -f waits for more\n"
    "  casemate audit show RUN   all records of a run\n"
    "  casemate audit verify     whether every record is there as it was written; exit 1 on a fault\n"
    "  casemate audit export     records as JSON lines\n"
    "\n"
    "`casemate audit COMMAND --help` says more.\n";

Command audit_tail_table(AuditArguments& arguments) {
  Command command =
      command_of("casemate audit tail", "Shows the last records of all writers, oldest first.",
                 "Examples:\n  casemate audit tail -n 50\n  casemate audit tail -f --writer main", arguments);
  command.options.push_back({"-n", "N", "how many (default: 10)", &arguments.lines});
  command.options.push_back({"-f", nullptr, "wait for more, until interrupted", &arguments.follow});
  command.options.push_back({"--writer", "NAME", "of this writer alone", &arguments.writer});
  command.options.push_back({"--json", nullptr, "as JSON lines, as `export` prints them", &arguments.json});
  return command;
}

Command audit_show_table(AuditArguments& arguments) {
  Command command = command_of(
      "casemate audit show", "Shows all records of a run, in the order of time.",
      "Examples:\n  casemate audit show run_4f1c09\n  casemate audit show run_4f1c09 --json", arguments);
  command.arguments.push_back({"RUN", "the run_id of an outcome", &arguments.run, /*required=*/true});
  command.options.push_back({"--json", nullptr, "one JSON document", &arguments.json});
  return command;
}

Command audit_verify_table(AuditArguments& arguments) {
  Command command = command_of(
      "casemate audit verify", "Reads the whole log and names the first fault; exit 1 on one.",
      "It finds damage, and what somebody changed who could not write all of it. Who can write all of it "
      "can\n"
      "make another log that is whole in itself: keep a head that is printed here elsewhere, and ask for\n"
      "it. docs/audit.md says more.\n"
      "\n"
      "Examples:\n"
      "  casemate audit verify\n"
      "  casemate audit verify --head 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n"
      "  casemate audit verify --audit /mnt/copy/audit --json",
      arguments);
  command.options.push_back(
      {"--head", "DIGEST",
       "a record with this digest must be there: nothing before it was changed. May be given again",
       &arguments.heads});
  command.options.push_back({"--json", nullptr, "one JSON document", &arguments.json});
  return command;
}

Command audit_export_table(AuditArguments& arguments) {
  Command command = command_of(
      "casemate audit export", "Prints records as JSON lines, each with the name of its writer in front.",
      "A line without that name, that is with '{' in the place of '{\"writer\":\"NAME\",', is the record as "
      "it is in\n"
      "the log, and has the digest that it states. With a filter the lines are in the order of time; without "
      "one,\n"
      "one writer comes after the other.\n"
      "\n"
      "Examples:\n"
      "  casemate audit export > audit.jsonl\n"
      "  casemate audit export --run run_4f1c09\n"
      "  casemate audit export --capability mail.send --from 2026-07-01 --to 2026-08-01",
      arguments);
  command.options.push_back({"--run", "RUN", "of this run", &arguments.run});
  command.options.push_back({"--capability", "NAME", "of this capability", &arguments.capability});
  command.options.push_back({"--verdict", "VERDICT", "allow, deny or ask", &arguments.verdict});
  command.options.push_back({"--from", "TIME", "not before this time, in UTC", &arguments.from});
  command.options.push_back({"--to", "TIME", "before this time, in UTC", &arguments.to});
  return command;
}

Result<std::string> audit_directory_of(const std::optional<std::string>& named_so) {
  constexpr std::string_view kBelowState = "/casemate/audit";
  if (named_so) {
    if (named_so->empty()) return fail(ErrorCode::kInvalid, "--audit names no directory");
    return *named_so;
  }
  if (const std::string named = variable("CASEMATE_AUDIT"); named.starts_with('/')) return named;
  if (::geteuid() == 0) return std::string("/var/lib/casemate/audit");
  // The XDG specification: a relative path is invalid and to be ignored.
  if (const std::string state = variable("XDG_STATE_HOME"); state.starts_with('/'))
    return state + std::string(kBelowState);
  if (const std::string home = variable("HOME"); home.starts_with('/'))
    return home + "/.local/state" + std::string(kBelowState);
  return fail(ErrorCode::kNotFound, "there is no audit log: neither XDG_STATE_HOME nor HOME is set");
}

Result<audit::Query> audit_query_of(const AuditArguments& arguments) {
  audit::Query query;
  query.run = arguments.run;
  query.capability = arguments.capability.value_or("");
  query.verdict = arguments.verdict.value_or("");
  for (const char* known : {"", "allow", "deny", "ask"}) {
    if (query.verdict != known) continue;
    if (arguments.from) query.from = TRY(audit_time_of("--from", *arguments.from));
    if (arguments.to) query.to = TRY(audit_time_of("--to", *arguments.to));
    return query;
  }
  return fail(ErrorCode::kInvalid, "--verdict takes allow, deny or ask");
}

Result<std::size_t> audit_lines_of(const AuditArguments& arguments) {
  if (!arguments.lines) return kLinesUsual;
  std::size_t count = 0;
  const char* end = arguments.lines->data() + arguments.lines->size();
  const auto [rest, error] = std::from_chars(arguments.lines->data(), end, count);
  if (error != std::errc{} || rest != end || count > kAuditTailMax)
    return fail(ErrorCode::kInvalid, "-n takes a number, at most " + std::to_string(kAuditTailMax));
  return count;
}

}  // namespace casemate
