#include "policy_command.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "json/reader.h"
#include "json/utf8.h"
#include "policy/call_text.h"
#include "policy/judge.h"
#include "policy/policy.h"
#include "policy/tiers.h"
#include "policy_cases.h"
#include "policy_options.h"

namespace casemate {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitFault = 1;
constexpr int kExitUsage = 2;

int usage(const std::string& what) {
  std::fprintf(stderr, "casemate policy: %s\n", json::escape_control(what).c_str());
  return kExitUsage;
}

// The first `bytes_max` + 1 bytes of a file: one more than is allowed is told from what is allowed.
Result<std::string> read_file(const std::string& path, std::size_t bytes_max) {
  std::FILE* opened = path == "-" ? stdin : std::fopen(path.c_str(), "re");
  if (opened == nullptr) return fail_errno(path);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      opened, path == "-" ? [](std::FILE*) { return 0; } : &std::fclose);
  std::string text;
  std::array<char, 16384> buffer;
  std::size_t count = 0;
  while (text.size() <= bytes_max && (count = std::fread(buffer.data(), 1, buffer.size(), opened)) > 0) {
    text.append(buffer.data(), count);
  }
  if (std::ferror(opened) != 0) return fail_errno(path);
  return text;
}

void print_places(const std::string& file, const char* kind, const std::vector<toml::Mistake>& mistakes) {
  for (const toml::Mistake& mistake : mistakes) {
    std::printf("%s:%u:%u: %s%s\n", json::escape_control(file).c_str(), mistake.place.line,
                mistake.place.column, kind, mistake.what.c_str());
  }
}

void print_json(json::Writer writer) { std::printf("%s\n", std::move(writer).take().c_str()); }

// The policy of a file, or the exit code: its mistakes are said.
struct Opened {
  policy::Loaded loaded;
  std::optional<int> exit_code;
};

Opened open_policy(const std::string& path) {
  Opened opened;
  const auto text = read_file(path, kPolicyBytesMax);
  if (!text) {
    opened.exit_code = usage(text.error().message);
    return opened;
  }
  opened.loaded = policy::Policy::parse(*text);
  if (opened.loaded.policy) return opened;
  for (const toml::Mistake& mistake : opened.loaded.mistakes) {
    std::fprintf(stderr, "%s:%u:%u: %s\n", json::escape_control(path).c_str(), mistake.place.line,
                 mistake.place.column, mistake.what.c_str());
  }
  opened.exit_code = kExitFault;
  return opened;
}

int run_check(const PolicyArguments& arguments) {
  const auto text = read_file(arguments.file, kPolicyBytesMax);
  if (!text) return usage(text.error().message);
  const policy::Loaded loaded = policy::Policy::parse(*text);
  if (arguments.json) {
    json::Writer writer;
    writer.begin_object().field("ok", loaded.policy.has_value()).field("tests", loaded.tests);
    write_mistakes(loaded.mistakes, "mistakes", writer);
    write_mistakes(loaded.warnings, "warnings", writer);
    writer.end_object();
    print_json(std::move(writer));
    return loaded.policy ? kExitOk : kExitFault;
  }
  print_places(arguments.file, "", loaded.mistakes);
  print_places(arguments.file, "warning: ", loaded.warnings);
  if (!loaded.policy) return kExitFault;
  const policy::Rules& rules = loaded.policy->rules();
  std::printf("%s: %zu permissions, %zu flow rules, %zu budgets, %zu tests: no mistake\n",
              json::escape_control(arguments.file).c_str(), rules.permissions.size(), rules.flows.size(),
              rules.budgets.size(), loaded.tests);
  return kExitOk;
}

std::string line_of(const toml::Place& place) {
  return place.line == 0 ? std::string() : " (line " + std::to_string(place.line) + ")";
}

void print_verdict(const policy::Verdict& verdict) {
  std::printf("%s\n", std::string(policy::word(verdict.decision)).c_str());
  for (const policy::Ground& ground : verdict.grounds) {
    std::printf("  %-5s %s%s: %s\n", std::string(policy::word(ground.decision)).c_str(), ground.rule.c_str(),
                line_of(ground.place).c_str(), ground.reason.c_str());
  }
}

int run_batch() {
  char* line = nullptr;
  std::size_t room = 0;
  bool refused = false;
  for (ssize_t size = 0; (size = ::getline(&line, &room, stdin)) > 0;) {
    std::string_view text(line, static_cast<std::size_t>(size));
    if (text.ends_with('\n')) text.remove_suffix(1);
    if (text.empty()) continue;
    const std::string answer = answer_case(text);
    refused = refused || answer.starts_with("{\"error\"");
    std::printf("%s\n", answer.c_str());
  }
  std::free(line);
  return refused ? kExitUsage : kExitOk;
}

Result<policy::Verdict> explain(const policy::Policy& policy, const PolicyArguments& arguments,
                                std::optional<policy::Facts>& facts) {
  const policy::RunState run = policy::start(policy, TRY(labels_of(arguments.labels)));
  if (const auto sink = policy::pseudo_sink_of(arguments.call)) return policy::judge_sink(policy, *sink, run);
  std::size_t offset = 0;
  auto call = policy::parse_call(arguments.call, offset);
  if (!call) {
    return fail_with_context(call.error(), "CALL, column " + std::to_string(offset + 1));
  }
  const auto origin = policy::origin_of(arguments.from);
  if (!origin) return fail(ErrorCode::kInvalid, "--from is box or model");
  policy::Capability capability;
  capability.name = call->capability;
  capability.effects = TRY(effects_of(arguments.effects));
  capability.annotations = TRY(annotations_of(arguments.annotations));
  facts = policy::facts_of(policy, capability);
  return policy::judge(policy, capability, {call->arguments, *origin}, run);
}

void write_facts(const policy::Facts& facts, json::Writer& writer) {
  writer.field("tier", static_cast<int>(facts.tier)).field("tier_why", facts.tier_why);
  writer.key("effects").begin_array();
  for (const policy::Effect effect : policy::kEffects) {
    if (facts.effects.has(effect)) writer.value(policy::word(effect));
  }
  writer.end_array();
}

int run_explain(const PolicyArguments& arguments) {
  if (arguments.batch) {
    return arguments.file.empty() ? run_batch() : usage("--batch takes neither FILE nor CALL");
  }
  if (arguments.call.empty()) return usage("FILE and CALL are due; see casemate policy explain --help");
  const Opened opened = open_policy(arguments.file);
  if (opened.exit_code) return *opened.exit_code;
  std::optional<policy::Facts> facts;
  const auto verdict = explain(*opened.loaded.policy, arguments, facts);
  if (!verdict) return usage(verdict.error().message);
  if (arguments.json) {
    json::Writer writer;
    writer.begin_object();
    write_verdict(*verdict, writer);
    if (facts) write_facts(*facts, writer);
    writer.end_object();
    print_json(std::move(writer));
    return kExitOk;
  }
  print_verdict(*verdict);
  if (facts) std::printf("tier %d: %s\n", static_cast<int>(facts->tier), facts->tier_why.c_str());
  return kExitOk;
}

Result<std::vector<policy::Capability>> read_catalogue(const PolicyArguments& arguments) {
  std::vector<policy::Capability> catalogue;
  if (!arguments.catalogue) return catalogue;
  constexpr json::ReadLimits kLimits{.bytes_max = std::size_t{16} << 20, .values_max = 1'000'000};
  const std::string text = TRY(read_file(*arguments.catalogue, kLimits.bytes_max));
  const auto value = json::read(text, kLimits);
  if (!value) return fail_with_context(value.error(), *arguments.catalogue);
  if (value->kind() != json::Value::Kind::kArray) {
    return fail(ErrorCode::kInvalid, *arguments.catalogue + ": a list is due");
  }
  for (const json::Value& item : value->items()) {
    auto capability = read_capability(item);
    if (!capability) return fail_with_context(capability.error(), *arguments.catalogue);
    catalogue.push_back(std::move(*capability));
  }
  return catalogue;
}

void print_tiers_json(const std::vector<policy::TierRow>& rows, const std::vector<toml::Mistake>& warnings) {
  json::Writer writer;
  writer.begin_object().key("capabilities").begin_array();
  for (const policy::TierRow& row : rows) {
    writer.begin_object().field("name", row.facts.name);
    write_facts(row.facts, writer);
    writer.field("named", row.named_by != nullptr);
    if (row.named_by != nullptr) writer.field("named_line", row.named_by->text.place.line);
    if (!row.proposal.empty()) writer.field("proposal", row.proposal);
    writer.end_object();
  }
  writer.end_array();
  write_mistakes(warnings, "warnings", writer);
  writer.end_object();
  print_json(std::move(writer));
}

int run_tiers(const PolicyArguments& arguments) {
  const Opened opened = open_policy(arguments.file);
  if (opened.exit_code) return *opened.exit_code;
  const auto catalogue = read_catalogue(arguments);
  if (!catalogue) return usage(catalogue.error().message);
  const auto rows = policy::tier_rows(*opened.loaded.policy, *catalogue);
  const auto warnings = policy::tier_warnings(*opened.loaded.policy, rows);
  if (arguments.json) {
    print_tiers_json(rows, warnings);
    return kExitOk;
  }
  for (const policy::TierRow& row : rows) {
    std::printf("tier %d  %-28s %s", static_cast<int>(row.facts.tier),
                json::escape_control(row.facts.name).c_str(), row.facts.tier_why.c_str());
    if (row.named_by != nullptr) {
      std::printf("; a rule names it%s", line_of(row.named_by->text.place).c_str());
    } else if (row.facts.tier == policy::Tier::kOne) {
      std::printf("; no rule names it: code in a box may not call it");
    }
    std::printf("\n");
    if (!row.proposal.empty()) std::printf("        proposal: %s\n", row.proposal.c_str());
  }
  print_places(arguments.file, "warning: ", warnings);
  return kExitOk;
}

struct Subcommand {
  const char* name;
  Command (*table)(PolicyArguments&);
  int (*run)(const PolicyArguments&);
};
constexpr Subcommand kCommands[] = {{"check", policy_check_table, run_check},
                                    {"explain", policy_explain_table, run_explain},
                                    {"tiers", policy_tiers_table, run_tiers}};

}  // namespace

int policy_command(int argc, char** argv) {
  const std::string_view asked = argc > 1 ? argv[1] : "";
  if (asked == "--help" || asked == "-h") {
    std::fputs(kPolicyUsage, stdout);
    return kExitOk;
  }
  for (const Subcommand& command : kCommands) {
    if (asked != command.name) continue;
    PolicyArguments arguments;
    if (const auto done = read_command(command.table(arguments), argc - 1, argv + 1)) return *done;
    return command.run(arguments);
  }
  if (asked.empty()) return usage("a command is missing; there are check, explain and tiers");
  return usage("there is no command '" + std::string(asked) + "'; there are check, explain and tiers");
}

}  // namespace casemate
