#include "audit_command.h"

#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "audit/select.h"
#include "audit/verify.h"
#include "audit_options.h"
#include "audit_output.h"
#include "audit_tail.h"
#include "json/utf8.h"
#include "json/writer.h"

namespace casemate {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitFault = 1;
constexpr int kExitUsage = 2;
constexpr int kExitUnavailable = 4;

int report(const Error& error) {
  if (error.errno_value == EPIPE) return kExitOk;  // who read it has had enough
  std::fprintf(stderr, "casemate audit: %s\n", json::escape_control(error.message).c_str());
  return kExitUnavailable;
}

int usage(const std::string& what) {
  std::fprintf(stderr, "casemate audit: %s; see casemate audit --help\n", json::escape_control(what).c_str());
  return kExitUsage;
}

Result<void> print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) return fail_errno("write");
  return {};
}

int ended(const Result<void>& done) {
  if (!done) return report(done.error());
  if (std::fflush(stdout) != 0) return report(fail_errno("write").value());
  return kExitOk;
}

int run_tail(const AuditArguments& arguments, const std::string& directory) {
  const auto lines = audit_lines_of(arguments);
  if (!lines) return usage(lines.error().message);
  TailOptions options;
  options.directory = directory;
  options.writer = arguments.writer.value_or("");
  options.lines = *lines;
  options.follow = arguments.follow;
  options.json = arguments.json;
  return ended(audit_tail(options));
}

int run_show(const AuditArguments& arguments, const std::string& directory) {
  std::size_t count = 0;
  const auto shown =
      audit::select(directory, {.run = arguments.run}, [&](const std::string& writer, std::string_view line) {
        if (!arguments.json) {
          ++count;
          return print(audit_record_text(writer, line));
        }
        std::string before = ",\n";
        if (count == 0) {
          json::Writer run;
          run.begin_object().field("run", arguments.run).end_object();
          before = std::move(run).take();
          before.back() = ',';
          before += "\"records\":[\n";
        }
        ++count;
        return print(before + audit_record_json(writer, line));
      });
  if (shown && count == 0)
    return report(fail(ErrorCode::kNotFound, "there is no record of run " + arguments.run).value());
  if (shown && arguments.json) return ended(print("\n]}\n"));
  return ended(shown);
}

int run_verify(const AuditArguments& arguments, const std::string& directory) {
  const auto found = audit::verify(directory, {.heads = arguments.heads});
  if (!found)
    return found.error().code == ErrorCode::kInvalid ? usage(found.error().message) : report(found.error());
  const int code = ended(print(arguments.json ? audit_report_json(*found) : audit_report_text(*found)));
  return code == kExitOk && !found->ok() ? kExitFault : code;
}

int run_export(const AuditArguments& arguments, const std::string& directory) {
  const auto query = audit_query_of(arguments);
  if (!query) return usage(query.error().message);
  return ended(audit::select(directory, *query, [](const std::string& writer, std::string_view line) {
    return print(audit_record_json(writer, line) + "\n");
  }));
}

struct Subcommand {
  const char* name;
  Command (*table)(AuditArguments&);
  int (*run)(const AuditArguments&, const std::string&);
};
constexpr Subcommand kCommands[] = {{"tail", audit_tail_table, run_tail},
                                    {"show", audit_show_table, run_show},
                                    {"verify", audit_verify_table, run_verify},
                                    {"export", audit_export_table, run_export}};

}  // namespace

int audit_command(int argc, char** argv) {
  const std::string_view asked = argc > 1 ? argv[1] : "";
  if (asked == "--help" || asked == "-h") {
    std::fputs(kAuditUsage, stdout);
    return kExitOk;
  }
  for (const Subcommand& command : kCommands) {
    if (asked != command.name) continue;
    AuditArguments arguments;
    if (const auto done = read_command(command.table(arguments), argc - 1, argv + 1)) return *done;
    const auto directory = audit_directory_of(arguments.directory);
    if (!directory)
      return directory.error().code == ErrorCode::kInvalid ? usage(directory.error().message)
                                                           : report(directory.error());
    return command.run(arguments, *directory);
  }
  constexpr const char* kThereAre = "there are tail, show, verify and export";
  if (asked.empty()) return usage(std::string("a command is missing; ") + kThereAre);
  return usage("there is no command '" + std::string(asked) + "'; " + kThereAre);
}

}  // namespace casemate
