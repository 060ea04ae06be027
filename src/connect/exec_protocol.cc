#include "connect/exec_protocol.h"

#include <utility>

#include "json/reader.h"
#include "json/utf8.h"
#include "json/writer.h"

namespace casemate::connect {
namespace {

using Kind = bridge::ConnectorAnswer::Kind;

constexpr std::size_t kErrorMax = 4096;
constexpr std::size_t kResultValuesMax = 1'000'000;

struct Ending {
  const char* key;
  Kind kind;
};
constexpr Ending kEndings[] = {{"result", Kind::kValue},
                               {"error", Kind::kToolError},
                               {"not_done", Kind::kDeclined},
                               {"unknown", Kind::kUnknown}};

}  // namespace

std::string line_of(std::uint64_t number, const bridge::ConnectorCall& call, milliseconds left) {
  json::Writer head;
  head.begin_object().field("id", number).field("capability", call.capability);
  head.field("run", call.run).field("idempotency_key", call.idempotency_key);
  head.field("time_left_ms", left.count()).end_object();
  std::string line = std::move(head).take();
  line.pop_back();
  line += ",\"arguments\":";
  // White space between the guest's tokens; in a JSON string there is none of these as it is.
  for (const char c : call.arguments) line += c == '\n' || c == '\r' ? ' ' : c;
  return line + "}\n";
}

Result<ExecAnswer> parse_answer(std::string_view line) {
  const json::ReadLimits limits{line.size(), json::kReaderDepthMax, kResultValuesMax};
  const json::Value value = TRY(json::read(line, limits));
  const auto none = [] {
    return fail(
        ErrorCode::kInvalid,
        "an answer is an object of \"id\" and one of \"result\", \"error\", \"not_done\" and \"unknown\"");
  };
  const json::Value* id = value.find("id");
  if (id == nullptr || value.members().size() != 2) return none();
  const json::Member& said = value.members()[value.members()[0].key == "id" ? 1 : 0];
  ExecAnswer answer;
  answer.number = TRY(id->as_uint64());
  for (const Ending& ending : kEndings) {
    if (said.key != ending.key) continue;
    answer.answer.kind = ending.kind;
    if (ending.kind == Kind::kValue) {
      json::Writer writer;
      writer.value(said.value);
      answer.answer.text = std::move(writer).take();
      return answer;
    }
    // Text, or an object as JSON-RPC has it.
    const json::Value* message =
        said.value.kind() == json::Value::Kind::kObject ? said.value.find("message") : &said.value;
    if (message == nullptr || !message->as_string())
      return fail(ErrorCode::kInvalid,
                  std::string("\"") + ending.key + "\" is text, or an object with a \"message\"");
    answer.answer.text = json::cut_text(*message->as_string(), kErrorMax);
    return answer;
  }
  return none();
}

}  // namespace casemate::connect
