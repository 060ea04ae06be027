#include "policy_options.h"

namespace casemate {

const char* const kPolicyUsage =
    "Checks policy files and explains what they say. docs/policy.md has their form.\n"
    "\n"
    "  casemate policy check FILE          every mistake of the file, and its own tests\n"
    "  casemate policy explain FILE CALL   the verdict on a call, and what speaks for it\n"
    "  casemate policy tiers FILE          which capabilities are tier 1, why, and who names them\n"
    "\n"
    "`casemate policy COMMAND --help` says more.\n";

Command policy_check_table(PolicyArguments& arguments) {
  return Command{
      "casemate policy check",
      "Reads a policy file and runs its tests; says all that is wrong with it, each with its place.",
      {{"FILE", "the policy; - reads standard input", &arguments.file, true}},
      {{"--json", nullptr, "one JSON document", &arguments.json}},
      "Examples:\n"
      "  casemate policy check policy.toml\n"
      "  casemate policy check --json - < policy.toml\n"
      "\n"
      "Exit codes: 0 nothing is wrong, 1 something is, 2 usage."};
}

Command policy_explain_table(PolicyArguments& arguments) {
  return Command{
      "casemate policy explain",
      "Says what a policy decides about a call, by which rule, and what else applies.",
      {{"FILE", "the policy", &arguments.file},
       {"CALL", "\"mail.send(to='a@example.com')\", or a way out: stdout, result, artifact",
        &arguments.call}},
      {{"--label", "LABEL", "the run has it (may be given again)", &arguments.labels},
       {"--from", "WHO", "who calls: box (the default) or model", &arguments.from},
       {"--effect", "EFFECT", "the capability has it, beside what the file says", &arguments.effects},
       {"--annotation", "WARNING", "its server says destructive, open-world or writes",
        &arguments.annotations},
       {"--json", nullptr, "one JSON document", &arguments.json},
       {"--batch", nullptr, "cases from standard input, one JSON object a line; no FILE and CALL",
        &arguments.batch}},
      "Examples:\n"
      "  casemate policy explain policy.toml \"mail.send(to='a@example.com')\"\n"
      "  casemate policy explain policy.toml \"mail.send(to='a@example.com')\" --label untrusted\n"
      "  casemate policy explain policy.toml 'payment.send({\"amount\": 250.00, \"currency\": \"EUR\"})' "
      "--json\n"
      "  casemate policy explain policy.toml stdout --label private\n"
      "\n"
      "Exit codes: 0 there is a verdict, whichever, 1 the file has mistakes, 2 usage."};
}

Command policy_tiers_table(PolicyArguments& arguments) {
  return Command{"casemate policy tiers",
                 "Shows the tier of each capability that a policy names, why, and which rule names it.",
                 {{"FILE", "the policy", &arguments.file, true}},
                 {{"--catalogue", "FILE",
                   "capabilities beside those that the policy names: a JSON list of {\"name\", \"effects\", "
                   "\"annotations\", \"tier\"}",
                   &arguments.catalogue},
                  {"--json", nullptr, "one JSON document", &arguments.json}},
                 "Examples:\n"
                 "  casemate policy tiers policy.toml\n"
                 "  casemate policy tiers policy.toml --catalogue tools.json\n"
                 "\n"
                 "Exit codes: 0 it is shown, 1 the file has mistakes, 2 usage."};
}

}  // namespace casemate
