#include "approvals_options.h"

namespace casemate {

const char* const kApprovalsUsage =
    "Answers the calls of running programs that policy asks a person about. docs/tools.md says more.\n"
    "\n"
    "  casemate approvals list       the calls that wait, of all runs of this user\n"
    "  casemate approvals show ID    one of them, with all of its arguments\n"
    "  casemate approvals allow ID   let it be made, once\n"
    "  casemate approvals deny ID    refuse it; the program can catch that\n"
    "\n"
    "Runs wait for this with `casemate run --ask wait`, or when they ask on a terminal.\n"
    "`casemate approvals COMMAND --help` says more.\n";

Command approvals_list_table(ApprovalsArguments& arguments) {
  return Command{"casemate approvals list",
                 "Shows the calls that wait for a person, of all runs of this user.",
                 {},
                 {{"--json", nullptr, "one JSON document; arguments are cut at 4 KiB", &arguments.json}},
                 "Examples:\n"
                 "  casemate approvals list\n"
                 "  casemate approvals list --json\n"
                 "\n"
                 "Exit codes: 0 they are shown, also when there are none, 2 usage."};
}

Command approvals_show_table(ApprovalsArguments& arguments) {
  return Command{"casemate approvals show",
                 "Shows one call that waits: its arguments, the labels of its run and what brought them.",
                 {{"ID", "of the call", &arguments.id, true}},
                 {{"--json", nullptr, "one JSON document", &arguments.json}},
                 "Examples:\n"
                 "  casemate approvals show run_0f6b2a-1\n"
                 "  casemate approvals show --json run_0f6b2a-1\n"
                 "\n"
                 "Exit codes: 0 it is shown, 1 it does not wait (any more), 2 usage."};
}

Command approvals_allow_table(ApprovalsArguments& arguments) {
  return Command{
      "casemate approvals allow",
      "Lets a call be made: this one, once. With other arguments it is checked and judged again.",
      {{"ID", "of the call", &arguments.id, true}},
      {{"--arguments", "JSON", "an object, in the place of the program's", &arguments.arguments},
       {"--json", nullptr, "one JSON document", &arguments.json}},
      "Examples:\n"
      "  casemate approvals allow run_0f6b2a-1\n"
      "  casemate approvals allow run_0f6b2a-1 --arguments '{\"to\": \"me@example.com\"}'\n"
      "\n"
      "What policy denies stays denied, whoever allows it.\n"
      "Exit codes: 0 it is answered, 1 it does not wait (any more), 2 usage, or arguments that its\n"
      "schema does not allow: then it still waits."};
}

Command approvals_deny_table(ApprovalsArguments& arguments) {
  return Command{"casemate approvals deny",
                 "Refuses a call. The program can catch that, and sees the reason.",
                 {{"ID", "of the call", &arguments.id, true}},
                 {{"--reason", "TEXT", "for whoever wrote the program", &arguments.reason},
                  {"--json", nullptr, "one JSON document", &arguments.json}},
                 "Examples:\n"
                 "  casemate approvals deny run_0f6b2a-1\n"
                 "  casemate approvals deny run_0f6b2a-1 --reason 'not before Monday'\n"
                 "\n"
                 "Exit codes: 0 it is answered, 1 it does not wait (any more), 2 usage."};
}

}  // namespace casemate
