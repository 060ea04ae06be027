#include "reconcile/rows.h"

#include "json/reader.h"
#include "json/value.h"
#include "json/writer.h"

namespace casemate::reconcile {
namespace {

constexpr std::size_t kTimeDigits = 27;  // audit::format_time()

constexpr std::size_t kValuesMax = 10'000;
constexpr std::size_t kRequestValuesMax = 1'000'000;  // as many as the arguments of a call may have

Result<json::Value> object_of(std::string_view line, std::size_t values_max = kValuesMax) {
  json::Value value = TRY(json::read(line, {line.size(), json::kReaderDepthMax, values_max}));
  if (value.kind() != json::Value::Kind::kObject) return fail(ErrorCode::kInvalid, "it is no object");
  return value;
}

// The text of a member; empty where there is none. Errors: invalid (no text, or too long for a name).
Result<std::string> name_in(const json::Value& object, std::string_view member) {
  const json::Value* value = object.find(member);
  if (value == nullptr) return std::string();
  const auto text = value->as_string();
  if (!text) return fail(ErrorCode::kInvalid, std::string(member) + ": " + text.error().message);
  if (text->size() > kNameMax)
    return fail(ErrorCode::kInvalid, std::string(member) + " is longer than a name may be");
  return std::string(*text);
}

Result<std::string> needed_name(const json::Value& object, std::string_view member) {
  std::string text = TRY(name_in(object, member));
  if (text.empty()) return fail(ErrorCode::kInvalid, "it has no " + std::string(member));
  return text;
}

// Without its time.
Result<Effect> effect_in(const json::Value& object) {
  Effect effect;
  effect.key = TRY(needed_name(object, "idempotency_key"));
  effect.capability = TRY(needed_name(object, "capability"));
  effect.run = TRY(needed_name(object, "run"));
  return effect;
}

std::optional<Record::Kind> kind_of(std::string_view kind, std::string_view step) {
  if (kind == "verdict") return Record::Kind::kVerdict;
  if (kind == "approval") return Record::Kind::kApproval;
  if (kind == "result") return Record::Kind::kResult;
  if (kind != "run") return std::nullopt;
  if (step == "allocated") return Record::Kind::kAllocated;
  if (step == "executed") return Record::Kind::kExecuted;
  if (step == "torn_down") return Record::Kind::kTornDown;
  return std::nullopt;
}

}  // namespace

Result<Time> time_of(std::string_view text) {
  std::string whole(text);
  if (whole.ends_with("+00:00")) whole.replace(whole.size() - 6, 6, "Z");
  if (!whole.empty() && whole.size() < kTimeDigits && whole.back() == 'Z') {
    whole.pop_back();
    if (whole.find('.') == std::string::npos) whole += '.';
    whole.resize(kTimeDigits - 1, '0');
    whole += 'Z';
  }
  return audit::parse_time(whole);
}

Result<std::optional<Record>> record_of(std::string_view line) {
  const audit::Line parts = TRY(audit::parse_line(line));
  if (parts.kind != "run" && parts.kind != "verdict" && parts.kind != "approval" && parts.kind != "result")
    return std::nullopt;
  const json::Value members = TRY(audit::read_members(line));
  const auto kind = kind_of(parts.kind, audit::text_member(members, "step"));
  if (!kind) return std::nullopt;
  Record record;
  record.kind = *kind;
  record.at = parts.at;
  record.run = audit::text_member(members, "run");
  record.call = audit::text_member(members, "call");
  record.capability = audit::text_member(members, "capability");
  const bool judges = *kind == Record::Kind::kVerdict || *kind == Record::Kind::kApproval;
  record.word = audit::text_member(members, judges ? "verdict" : "status");
  record.key = audit::text_member(members, "idempotency_key");
  record.box = audit::text_member(members, "sandbox");
  record.volume = audit::text_member(members, "volume");
  if (const json::Value* count = members.find("artifacts")) record.artifacts = TRY(count->as_uint64());
  return record;
}

Result<Effect> request_of(std::string_view line) {
  return effect_in(TRY(object_of(line, kRequestValuesMax)));
}

Result<Effect> effect_of(std::string_view line) {
  const json::Value object = TRY(object_of(line));
  Effect effect = TRY(effect_in(object));
  const std::string at = TRY(needed_name(object, "at"));
  auto time = time_of(at);
  if (!time) return fail(ErrorCode::kInvalid, "at is no time in UTC like 2026-07-30T12:00:00.123456Z");
  effect.at = *time;
  return effect;
}

std::string effect_line(const Effect& effect) {
  json::Writer out;
  out.begin_object().field("idempotency_key", effect.key).field("capability", effect.capability);
  out.field("run", effect.run).field("at", audit::format_time(effect.at)).end_object();
  return std::move(out).take() + "\n";
}

Result<Box> box_of(std::string_view line) {
  const json::Value object = TRY(object_of(line));
  Box box;
  box.run = TRY(name_in(object, "run"));
  box.box = TRY(needed_name(object, "box"));
  const json::Value* birth = object.find("birth");
  const json::Value* death = object.find("death");
  if (birth == nullptr || death == nullptr) return fail(ErrorCode::kInvalid, "it has no birth or no death");
  box.volume = TRY(name_in(*birth, "volume"));
  box.verdict = TRY(name_in(*death, "verdict"));
  box.born = birth->find("born_at") != nullptr;
  const std::string asked = TRY(name_in(*birth, "asked_at"));
  if (!asked.empty()) box.asked_at = TRY(time_of(asked));
  return box;
}

}  // namespace casemate::reconcile
