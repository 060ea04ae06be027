#include "grants.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <map>
#include <utility>

#include "audit_options.h"
#include "base/duration.h"
#include "bridge/tools_file.h"
#include "connect/connectors.h"
#include "crypto/sha256.h"
#include "host_paths.h"
#include "inputs.h"

namespace casemate {
namespace {

// Processes that may write to one audit directory at once, each a log of its own.
constexpr int kWritersMax = 64;
constexpr std::size_t kCallThreads = 64;
constexpr milliseconds kAskTimeMin{1000};
constexpr milliseconds kAskTimeMax{7 * 86'400'000LL};

// Each on a line of its own: "tools.toml:3:14: …".
Error error_of(const std::string& file, const std::vector<toml::Mistake>& mistakes) {
  std::string text;
  for (const toml::Mistake& mistake : mistakes) {
    text += (text.empty() ? "" : "\n") + file + ":" + std::to_string(mistake.place.line) + ":" +
            std::to_string(mistake.place.column) + ": " + mistake.what;
  }
  return {ErrorCode::kInvalid, std::move(text)};
}

Result<std::unique_ptr<audit::Log>> open_log(const std::optional<std::string>& named) {
  audit::LogOptions options;
  options.directory = TRY(audit_directory_of(named));
  Result<std::unique_ptr<audit::Log>> log = fail(ErrorCode::kUnavailable, "no log");
  for (int i = 0; i < kWritersMax; ++i) {
    options.writer = "run-" + std::to_string(i);
    log = audit::Log::open(options);
    if (log || log.error().errno_value != EBUSY) break;  // else another process has that one
  }
  return log;
}

#ifdef CASEMATE_TEST_HOOKS
// Spends the proof of one call on another that nobody judged: what reconcile is there to find.
class UnrecordedCalls final : public bridge::Connector {
 public:
  UnrecordedCalls(std::shared_ptr<bridge::Connector> real, int each) : real_(std::move(real)), each_(each) {}
  bridge::ConnectorAnswer call(audit::Recorded record, const bridge::ConnectorCall& call,
                               Deadline deadline) override {
    if (++calls_ % each_ != 0) return real_->call(std::move(record), call, deadline);
    const std::string key = std::string(call.idempotency_key) + "-unrecorded";
    bridge::ConnectorCall other = call;
    other.idempotency_key = key;
    return real_->call(std::move(record), other, deadline);
  }

 private:
  const std::shared_ptr<bridge::Connector> real_;
  const int each_;
  std::atomic<int> calls_{0};
};
#endif

Result<std::vector<bridge::Tool>> tools_of(const RunOptions& options, const std::string& text) {
  bridge::ToolsFile file = bridge::read_tools_file(text);
  if (!file.mistakes.empty()) return tl::unexpected(error_of(options.tools, file.mistakes));
  connect::Places places;
  places.folder =
      options.tools.find('/') == std::string::npos ? "." : options.tools.substr(0, options.tools.rfind('/'));
  places.http_program = TRY(programs_folder()) + "/casemate-http";
  std::map<std::string, std::shared_ptr<bridge::Connector>> connectors;
  for (const bridge::ConnectorSpec& spec : file.specs) {
    if (spec.kind == bridge::ConnectorSpec::Kind::kExec && !options.accepts("unboxed-connector"))
      return fail(
          ErrorCode::kInvalid,
          options.tools + ": connectors." + spec.name +
              " is a program that would run outside of any box: say --weaken unboxed-connector if that is "
              "meant");
    connectors[spec.name] = TRY(connect::make_connector(spec, places));
#ifdef CASEMATE_TEST_HOOKS
    if (const int each = TRY(parse_count(options.unrecorded, "--test-unrecorded")); each > 0)
      connectors[spec.name] = std::make_shared<UnrecordedCalls>(connectors[spec.name], each);
#endif
  }
  for (std::size_t i = 0; i < file.tools.size(); ++i)
    file.tools[i].connector = connectors[file.connectors[i]];
  return std::move(file.tools);
}

// Who is asked about a call, if anybody. Without a terminal nobody is, unless it is asked for: a run that
// waits for a person who does not know of it would wait in vain.
Result<void> open_desk(const RunOptions& options, bridge::Grants& grants, RunGrants& made) {
  const bool terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
  if (options.ask != "auto" && options.ask != "terminal" && options.ask != "wait" && options.ask != "deny")
    return fail(ErrorCode::kInvalid, "--ask takes terminal, wait or deny, not '" + options.ask + "'");
  if (options.ask == "terminal" && !terminal)
    return fail(
        ErrorCode::kInvalid,
        "--ask terminal needs one as standard input and standard error: --ask wait waits for `casemate "
        "approvals`");
  grants.ask_time = TRY(parse_duration(options.ask_timeout));
  if (grants.ask_time < kAskTimeMin || grants.ask_time > kAskTimeMax)
    return fail(ErrorCode::kInvalid, "--ask-timeout takes 1s to 7d, not '" + options.ask_timeout + "'");
  if (options.ask == "deny" || (options.ask == "auto" && !terminal)) return {};
  made.at_terminal = options.ask != "wait";
  made.desk = std::make_unique<approve::Desk>();
  const std::string directory = TRY(approve::approvals_directory());
  made.server = TRY(approve::Server::start(*made.desk, directory));
  grants.desk = made.desk.get();
  return {};
}

}  // namespace

Result<RunGrants> make_grants(const RunOptions& options) {
  RunGrants made;
  if (options.tools.empty()) {
    if (!options.policy.empty())
      return fail(ErrorCode::kInvalid, "--policy judges calls of --tools, which is not given");
    if (options.ask != "auto")
      return fail(ErrorCode::kInvalid, "--ask is about calls of --tools, which is not given");
    // Asked for by name alone: the usual place is where calls are recorded.
    if (options.audit) made.log = TRY(open_log(options.audit));
    return made;
  }
  // Without a file each call asks, and nobody is there: a tools file alone grants nothing.
  const std::string text =
      options.policy.empty() ? "" : TRY(read_input(options.policy, kPolicyBytesMax, "--policy"));
  policy::Loaded policy = policy::Policy::parse(text);
  if (!policy.policy) return tl::unexpected(error_of(options.policy, policy.mistakes));
  auto grants = std::make_shared<bridge::Grants>(std::move(*policy.policy));
  grants->policy_sha256 = crypto::sha256_hex(text);
  const std::string tools_text = TRY(read_input(options.tools, kToolsFileMax.count, "--tools"));
  made.tools_sha256 = crypto::sha256_hex(tools_text);
  std::vector<bridge::Tool> tools = TRY(tools_of(options, tools_text));
  grants->tools = TRY(bridge::Toolbox::make(std::move(tools)));
  for (const bridge::Granted* granted : grants->tools.all())
    grants->brings.join(policy::labels_of(grants->policy, granted->tool.capability));
  TRY(open_desk(options, *grants, made));
  made.log = TRY(open_log(options.audit));
  grants->log = made.log.get();
  made.workers = std::make_unique<bridge::Workers>(kCallThreads);
  grants->workers = made.workers.get();
  made.grants = std::move(grants);
  return made;
}

}  // namespace casemate
