#include "reconcile_command.h"

#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/select.h"
#include "audit/verify.h"
#include "audit_options.h"
#include "audit_output.h"
#include "base/duration.h"
#include "json/utf8.h"
#include "options.h"
#include "reconcile/json_lines.h"
#include "reconcile/outcomes.h"
#include "reconcile/reconcile.h"
#include "record_store.h"

namespace casemate {
namespace {

using reconcile::Question;
using reconcile::Reconciler;
using reconcile::SourceLine;

constexpr int kExitIncomplete = 1;
constexpr int kExitUsage = 2;
constexpr int kExitUnavailable = 4;

struct Arguments {
  std::optional<std::string> directory, since, tolerance;
  std::string run;
  std::vector<std::string> effects, records, outcomes;
  bool json = false;
};

Command table_of(Arguments& arguments) {
  return Command{
      "casemate reconcile",
      "Holds the audit log against what others saw: every run, box, call, effect and artifact.",
      {},
      {{"--audit", "DIR", "directory of the audit log (default: as casemate audit)", &arguments.directory},
       {"--effects", "FILE", "effects that a tap or a peer wrote down; may be given again",
        &arguments.effects},
       {"--records", "FILE",
        "records of the boxes of these runs and no others; may be given again (default: the usual file)",
        &arguments.records},
       {"--outcomes", "FILE", "outcomes, one `casemate run --json` a line; may be given again",
        &arguments.outcomes},
       {"--run", "RUN", "of this run alone", &arguments.run},
       {"--since", "TIME", "of runs that began then or later, in UTC", &arguments.since},
       {"--tolerance", "TIME", "how far an observer's clock may be behind (1s)", &arguments.tolerance},
       {"--json", nullptr, "one JSON document", &arguments.json}},
      "What is not there counts as not as it should be: a call that was made and that nobody saw, a run "
      "without\n"
      "an end. docs/reconcile.md has the files' forms and what each word means.\n"
      "\n"
      "Exit codes: 0 all of it, 1 something is missing or the log is at fault, 2 usage, 4 a file cannot be "
      "read.\n"
      "\n"
      "Examples:\n"
      "  casemate reconcile --effects effects.jsonl\n"
      "  casemate reconcile --effects effects.jsonl --records boxes.jsonl --outcomes outcomes.jsonl\n"
      "  casemate reconcile --effects effects.jsonl --run run_4f1c09 --json"};
}

int report(const Error& error) {
  std::fprintf(stderr, "casemate reconcile: %s\n", json::escape_control(error.message).c_str());
  return error.code == ErrorCode::kInvalid ? kExitUsage : kExitUnavailable;
}

Result<reconcile::Scope> scope_of(const Arguments& arguments) {
  reconcile::Scope scope;
  scope.run = arguments.run;
  if (arguments.since) scope.since = TRY(audit_time_of("--since", *arguments.since));
  if (arguments.tolerance) scope.tolerance = TRY(parse_duration(*arguments.tolerance));
  scope.boxes_of_these = !arguments.records.empty();
  return scope;
}

Result<void> add_records(const std::string& directory, Reconciler& to) {
  std::map<std::string, std::uint64_t> writers;
  const auto add = [&](const std::string& writer, std::string_view line) -> Result<void> {
    auto record = TRY(reconcile::record_of(line));
    if (!record) return {};
    record->writer = writers.emplace(writer, writers.size()).first->second;
    return to.add(std::move(*record));
  };
  return audit::select(directory, {}, add);
}

Result<void> add_effect(const SourceLine& line, Reconciler& to) {
  Result<reconcile::Effect> effect = fail(ErrorCode::kInvalid, line.fault);
  if (line.fault.empty()) effect = reconcile::effect_of(line.text);
  if (!effect) {
    to.unreadable(Question::kEffects, line.where, effect.error().message);
    return {};
  }
  effect->where = line.where;
  return to.add(*effect);
}

Result<void> add_box(const SourceLine& line, Reconciler& to) {
  Result<reconcile::Box> box = fail(ErrorCode::kInvalid, line.fault);
  if (line.fault.empty()) box = reconcile::box_of(line.text);
  if (!box) {
    to.unreadable(Question::kLayers, line.where, box.error().message);
    return {};
  }
  box->where = line.where;
  return to.add(*box);
}

// The usual file, and the one before it, need not be there: then no run has a box.
Result<void> add_usual_boxes(Reconciler& to) {
  const std::string file = TRY(usual_record_file());
  for (const std::string& name : {file + ".1", file}) {
    const auto added = reconcile::each_line(name, reconcile::kBoxLineMax,
                                            [&](const SourceLine& line) { return add_box(line, to); });
    if (!added && added.error().code != ErrorCode::kNotFound) return added;
  }
  return {};
}

Result<reconcile::Report> join(const Arguments& arguments, const std::string& directory,
                               reconcile::Scope scope) {
  Reconciler to = TRY(Reconciler::make(std::move(scope)));
  TRY(add_records(directory, to));
  const auto effect = [&](const SourceLine& line) { return add_effect(line, to); };
  for (const std::string& file : arguments.effects)
    TRY(reconcile::each_line(file, reconcile::kEffectLineMax, effect));
  const auto box = [&](const SourceLine& line) { return add_box(line, to); };
  for (const std::string& file : arguments.records)
    TRY(reconcile::each_line(file, reconcile::kBoxLineMax, box));
  if (arguments.records.empty()) TRY(add_usual_boxes(to));
  const auto outcome = [&](const SourceLine& line) { return reconcile::add_outcome(line, to); };
  for (const std::string& file : arguments.outcomes)
    TRY(reconcile::each_line(file, reconcile::kOutcomeLineMax, outcome));
  return to.finish();
}

int print(const std::string& text, bool complete) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    std::fputs("casemate reconcile: standard output cannot be written\n", stderr);
    return kExitUnavailable;
  }
  return complete ? 0 : kExitIncomplete;
}

}  // namespace

int reconcile_command(int argc, char** argv) {
  Arguments arguments;
  if (const auto done = read_command(table_of(arguments), argc, argv)) return *done;
  auto scope = scope_of(arguments);
  if (!scope) return report(scope.error());
  const auto directory = audit_directory_of(arguments.directory);
  if (!directory) return report(directory.error());
  const auto verified = audit::verify(*directory, {});
  if (!verified) return report(verified.error());
  if (!verified->ok()) {
    std::fputs("casemate reconcile: the log is at fault, so nothing is joined with it\n", stderr);
    return print(arguments.json ? audit_report_json(*verified) : audit_report_text(*verified), false);
  }
  const auto found = join(arguments, *directory, std::move(*scope));
  if (!found) return report(found.error());
  return print(arguments.json ? reconcile::report_json(*found) : reconcile::report_text(*found), found->ok());
}

}  // namespace casemate
