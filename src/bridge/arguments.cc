#include "bridge/arguments.h"

#include <optional>
#include <utility>

#include "json/reader.h"
#include "json/writer.h"
#include "schema/check.h"

namespace casemate::bridge {
namespace {

constexpr std::size_t kValuesMax = 100'000;

// The arguments as the schema names them, where a program has spelled one as Python does; nothing: it has
// not.
std::optional<std::string> named_arguments(const Granted& granted, const json::Value& arguments) {
  bool spelled = false;
  json::Writer writer;
  writer.begin_object();
  for (const json::Member& member : arguments.members()) {
    std::string_view name = member.key;
    for (const schema::Parameter& parameter : granted.parameters) {
      const bool is_it = parameter.python == name && parameter.name != name;
      if (!is_it || arguments.find(parameter.name) != nullptr) continue;
      name = parameter.name;
      spelled = true;
      break;
    }
    writer.key(name).value(member.value);
  }
  writer.end_object();
  if (!spelled) return std::nullopt;
  return std::move(writer).take();
}

}  // namespace

Result<Arguments> check_arguments(const Granted& granted, std::string text, Bytes most) {
  if (text.size() > most.count)
    return fail(ErrorCode::kInvalid, "its arguments are longer than " + format_bytes(most));
  const json::ReadLimits limits{most.count, json::kReaderDepthMax, kValuesMax};
  auto value = json::read(text, limits);
  if (!value)
    return fail(ErrorCode::kInvalid, "its arguments are no JSON that can be taken: " + value.error().message);
  if (value->kind() != json::Value::Kind::kObject)
    return fail(ErrorCode::kInvalid,
                "its arguments should be an object, and are " + std::string(kind_name(value->kind())));
  if (auto named = named_arguments(granted, *value)) {
    text = std::move(*named);
    value = json::read(text, limits);
    if (!value) return fail(ErrorCode::kInvalid, value.error().message);
  }
  if (granted.tool.arguments) {
    const auto report = schema::check(*granted.tool.arguments, *value);
    if (!report)
      return fail(ErrorCode::kInvalid, "its arguments cannot be checked: " + report.error().message);
    if (!report->faults.empty())
      return fail(ErrorCode::kInvalid,
                  schema::error_of(report->faults).message + ": " + signature_of(granted));
  }
  return Arguments{std::move(text), std::move(*value)};
}

}  // namespace casemate::bridge
