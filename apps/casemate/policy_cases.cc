#include "policy_cases.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "json/reader.h"
#include "policy/policy.h"

namespace casemate {
namespace {

constexpr json::ReadLimits kCaseLimits{.bytes_max = std::size_t{4} << 20};

Result<std::vector<std::string>> words_of(const json::Value& object, std::string_view key) {
  std::vector<std::string> words;
  const json::Value* list = object.find(key);
  if (list == nullptr) return words;
  if (list->kind() != json::Value::Kind::kArray) {
    return fail(ErrorCode::kInvalid, std::string(key) + " should be a list");
  }
  for (const json::Value& item : list->items()) words.emplace_back(TRY(item.as_string()));
  return words;
}

Result<void> only_keys(const json::Value& object, const std::vector<std::string_view>& keys) {
  if (object.kind() != json::Value::Kind::kObject) return fail(ErrorCode::kInvalid, "an object is due");
  for (const json::Member& member : object.members()) {
    if (std::find(keys.begin(), keys.end(), member.key) == keys.end()) {
      return fail(ErrorCode::kInvalid, "unknown key \"" + member.key + "\"");
    }
  }
  return {};
}

Result<std::string> text_of(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find(key);
  if (value == nullptr) return fail(ErrorCode::kInvalid, std::string(key) + " is missing");
  return std::string(TRY(value->as_string()));
}

// What a capability has in a case, with or without the call around it.
Result<policy::Capability> capability_of(const json::Value& value) {
  policy::Capability capability;
  capability.name = TRY(text_of(value, "name"));
  const std::vector<std::string> effects = TRY(words_of(value, "effects"));
  capability.effects = TRY(effects_of(effects));
  const std::vector<std::string> annotations = TRY(words_of(value, "annotations"));
  capability.annotations = TRY(annotations_of(annotations));
  capability.labels = TRY(words_of(value, "labels"));
  if (const json::Value* tier = value.find("tier")) {
    const std::int64_t number = TRY(tier->as_int64());
    if (number != 1 && number != 2) return fail(ErrorCode::kInvalid, "a tier is 1 or 2");
    capability.tier = policy::Tier(number);
  }
  return capability;
}

Result<policy::Verdict> judge_next(const policy::Policy& policy, const json::Value& entry,
                                   policy::RunState& run) {
  if (entry.find("sink") != nullptr) {
    TRY(only_keys(entry, {"sink"}));
    const std::string name = TRY(text_of(entry, "sink"));
    const auto sink = policy::pseudo_sink_of(name);
    if (!sink) return fail(ErrorCode::kInvalid, "a sink is stdout, result or artifact");
    return policy::judge_sink(policy, *sink, run);
  }
  TRY(only_keys(entry, {"name", "effects", "annotations", "tier", "labels", "arguments", "from"}));
  const policy::Capability capability = TRY(capability_of(entry));
  const json::Value* arguments = entry.find("arguments");
  if (arguments == nullptr) return fail(ErrorCode::kInvalid, "arguments is missing");
  policy::Call call{*arguments};
  if (entry.find("from") != nullptr) {
    const std::string from = TRY(text_of(entry, "from"));
    const auto origin = policy::origin_of(from);
    if (!origin) return fail(ErrorCode::kInvalid, "from is box or model");
    call.origin = *origin;
  }
  policy::Verdict verdict = policy::judge(policy, capability, call, run);
  if (verdict.decision != policy::Decision::kDeny) {
    policy::charge(policy, capability, call, run);
    policy::deliver(policy, capability, run);
  }
  return verdict;
}

Result<std::string> answer(std::string_view line) {
  const json::Value value = TRY(json::read(line, kCaseLimits));
  TRY(only_keys(value, {"policy", "labels", "calls"}));
  const std::string text = TRY(text_of(value, "policy"));
  const std::vector<std::string> labels = TRY(words_of(value, "labels"));
  const policy::Labels seed = TRY(labels_of(labels));
  const policy::Loaded loaded = policy::Policy::parse(text);
  json::Writer writer;
  writer.begin_object();
  if (!loaded.policy) {
    write_mistakes(loaded.mistakes, "mistakes", writer);
    writer.end_object();
    return std::move(writer).take();
  }
  policy::RunState run = policy::start(*loaded.policy, seed);
  writer.key("verdicts").begin_array();
  const json::Value* calls = value.find("calls");
  if (calls == nullptr) return fail(ErrorCode::kInvalid, "calls is missing");
  for (const json::Value& entry : calls->items()) {
    const policy::Verdict verdict = TRY(judge_next(*loaded.policy, entry, run));
    writer.begin_object();
    write_verdict(verdict, writer);
    writer.key("labels").begin_array();
    for (const auto& [label, source] : run.labels.all()) writer.value(label);
    writer.end_array().end_object();
  }
  writer.end_array().end_object();
  return std::move(writer).take();
}

}  // namespace

Result<policy::Effects> effects_of(const std::vector<std::string>& words) {
  policy::Effects effects;
  for (const std::string& one : words) {
    const auto effect = policy::effect_of(one);
    if (!effect) return fail(ErrorCode::kInvalid, "there is no effect '" + one + "'");
    effects.add(*effect);
  }
  return effects;
}

Result<policy::Annotations> annotations_of(const std::vector<std::string>& words) {
  policy::Annotations annotations;
  for (const std::string& one : words) {
    const auto annotation = policy::annotation_of(one);
    if (!annotation) return fail(ErrorCode::kInvalid, "there is no annotation '" + one + "'");
    annotations.add(*annotation);
  }
  return annotations;
}

Result<policy::Labels> labels_of(const std::vector<std::string>& words) {
  policy::Labels labels;
  for (const std::string& one : words) {
    if (!policy::is_label(one)) return fail(ErrorCode::kInvalid, "'" + one + "' is no label");
    labels.add(one, "the harness");
  }
  return labels;
}

Result<policy::Capability> read_capability(const json::Value& value) {
  TRY(only_keys(value, {"name", "effects", "annotations", "tier", "labels"}));
  auto capability = capability_of(value);
  if (capability && !policy::is_capability_name(capability->name)) {
    return fail(ErrorCode::kInvalid, "no capability can have the name \"" + capability->name + "\"");
  }
  return capability;
}

std::string answer_case(std::string_view line) {
  auto answered = answer(line);
  if (answered) return std::move(*answered);
  json::Writer writer;
  writer.begin_object().field("error", answered.error().message).end_object();
  return std::move(writer).take();
}

void write_verdict(const policy::Verdict& verdict, json::Writer& writer) {
  writer.field("verdict", policy::word(verdict.decision)).key("grounds").begin_array();
  for (const policy::Ground& ground : verdict.grounds) {
    writer.begin_object()
        .field("decision", policy::word(ground.decision))
        .field("kind", policy::word(ground.kind))
        .field("rule", ground.rule)
        .field("line", ground.place.line)
        .field("column", ground.place.column)
        .field("reason", ground.reason)
        .field("unknown", ground.unknown)
        .end_object();
  }
  writer.end_array();
}

void write_mistakes(const std::vector<toml::Mistake>& mistakes, std::string_view key, json::Writer& writer) {
  writer.key(key).begin_array();
  for (const toml::Mistake& mistake : mistakes) {
    writer.begin_object()
        .field("line", mistake.place.line)
        .field("column", mistake.place.column)
        .field("what", mistake.what)
        .end_object();
  }
  writer.end_array();
}

}  // namespace casemate
