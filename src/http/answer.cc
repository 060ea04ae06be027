#include "http/answer.h"

#include <algorithm>
#include <utility>

#include "json/reader.h"
#include "json/utf8.h"
#include "json/writer.h"

namespace casemate::http {
namespace {

constexpr std::size_t kTextMax = 4096;
constexpr std::size_t kResultValuesMax = 1'000'000;
constexpr std::size_t kIdempotencyKeyMax = 256;

std::string line_of(std::uint64_t id, const char* key, std::string_view text) {
  json::Writer writer;
  writer.begin_object().field("id", id).field(key, json::cut_text(text, kTextMax)).end_object();
  return std::move(writer).take() + "\n";
}

// As it stands within JSON text.
std::string quoted(const std::string& secret) {
  json::Writer writer;
  writer.value(secret);
  const std::string text = std::move(writer).take();
  return text.substr(1, text.size() - 2);
}

bool repeats_a_secret(const std::string& line, const Config& config) {
  return std::any_of(config.secrets.begin(), config.secrets.end(), [&](const std::string& secret) {
    return line.find(quoted(secret)) != std::string::npos;
  });
}

// The one member that says what became of it; nullptr: there is none, or more.
const json::Member* ending_of(const json::Value& answer, std::uint64_t id, long status) {
  const json::Member* said = nullptr;
  for (const json::Member& member : answer.members()) {
    if (member.key == "id") {
      const auto number = member.value.as_uint64();
      if (!number || *number != id) return nullptr;
      continue;
    }
    const bool fits =
        member.key == "not_done" || (status / 100 == 2 && (member.key == "result" || member.key == "error"));
    if (!fits || said != nullptr) return nullptr;
    said = &member;
  }
  return said;
}

}  // namespace

Result<Asked> read_asked(std::string_view line) {
  json::ReadLimits limits;
  limits.bytes_max = line.size();
  limits.values_max = kResultValuesMax;
  const json::Value value = TRY(json::read(line, limits));
  const json::Value* id = value.find("id");
  const json::Value* left = value.find("time_left_ms");
  const json::Value* key = value.find("idempotency_key");
  if (id == nullptr || left == nullptr || key == nullptr)
    return fail(ErrorCode::kInvalid, "a call has an id, an idempotency key and the time that is left");
  Asked asked;
  asked.id = TRY(id->as_uint64());
  asked.time_left = milliseconds{TRY(left->as_int64())};
  asked.idempotency_key = TRY(key->as_string());
  TRY(url::check_header_value(asked.idempotency_key));
  if (asked.idempotency_key.size() > kIdempotencyKeyMax)
    return fail(ErrorCode::kInvalid, "an idempotency key has at most 256 bytes");
  return asked;
}

std::string not_done(std::uint64_t id, std::string_view why) { return line_of(id, "not_done", why); }
std::string unknown(std::uint64_t id, std::string_view why) { return line_of(id, "unknown", why); }

std::string answer_of(std::uint64_t id, long status, std::string_view body, const Config& config) {
  const json::ReadLimits limits{body.size(), json::kReaderDepthMax - 1, kResultValuesMax};
  const auto answer = json::read(body, limits);
  const json::Member* said = answer ? ending_of(*answer, id, status) : nullptr;
  if (said == nullptr) {
    if (status / 100 != 2)
      return unknown(id, "the server answers with the HTTP status " + std::to_string(status));
    return unknown(id, "the server's answer is no JSON object of \"result\", \"error\" or \"not_done\"");
  }
  std::string line;
  if (said->key == "result") {
    json::Writer writer;
    writer.begin_object().field("id", id).key("result").value(said->value).end_object();
    line = std::move(writer).take() + "\n";
  } else {
    // Text, or an object as JSON-RPC has it.
    const json::Value* message =
        said->value.kind() == json::Value::Kind::kObject ? said->value.find("message") : &said->value;
    if (message == nullptr || !message->as_string())
      return unknown(id,
                     "the server's \"" + said->key + "\" is neither text nor an object with a \"message\"");
    line = line_of(id, said->key.c_str(), *message->as_string());
  }
  if (line.size() > config.answer_max.count) return unknown(id, "the server's answer is longer than may be");
  if (repeats_a_secret(line, config))
    return unknown(id, "the server's answer repeats a secret of this connector, and is withheld");
  return line;
}

}  // namespace casemate::http
