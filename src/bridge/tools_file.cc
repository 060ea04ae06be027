#include "bridge/tools_file.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/duration.h"
#include "base/limits.h"
#include "bridge/http_spec.h"
#include "json/reader.h"
#include "policy/vocabulary.h"
#include "toml/table.h"

namespace casemate::bridge {
namespace {

using toml::Mistakes;
using toml::Table;
using toml::Text;

constexpr std::size_t kListMax = 64;
constexpr std::size_t kDescriptionMax = 8192;
constexpr milliseconds kTimeMost{600'000};

template <typename Enum, typename Of>
void add_words(const std::optional<toml::Texts>& texts, policy::Set<Enum>& set, Of of, const char* what,
               std::span<const Enum> all, Mistakes& mistakes) {
  if (!texts) return;
  for (const Text& text : texts->items) {
    if (const auto value = of(text.text)) {
      set.add(*value);
      continue;
    }
    std::string known;
    for (const Enum one : all) known += (known.empty() ? "" : ", ") + std::string(policy::word(one));
    mistakes.add(text.place, "'" + toml::shown(text.text) + "' is no " + what + "; there are " + known);
  }
}

std::optional<schema::Schema> read_schema(Table& table, const char* key, Mistakes& mistakes) {
  const auto text = table.text(key);
  if (!text) return std::nullopt;
  const auto document = json::read(text->text);
  if (!document) {
    mistakes.add(text->body, table.name() + "." + key + " is no JSON: " + document.error().message);
    return std::nullopt;
  }
  auto compiled = schema::Schema::compile(*document);
  if (compiled) return std::move(*compiled);
  for (const schema::Fault& fault : compiled.error())
    mistakes.add(text->body, table.name() + "." + key + ": " + schema::line_of(fault));
  return std::nullopt;
}

void read_time(Table& table, Tool& tool, Mistakes& mistakes) {
  const auto text = table.text("time_max");
  if (!text) return;
  const auto time = parse_duration(text->text);
  if (!time || time->count() < 1 || *time > kTimeMost)
    mistakes.add(text->place, table.name() + ".time_max should be a time such as \"30s\", at most " +
                                  format_duration(kTimeMost));
  else
    tool.time_max = *time;
}

void read_tool(Table& table, ToolsFile& file, Mistakes& mistakes) {
  Tool tool;
  table.need("name");
  table.need("connector");
  if (const auto name = table.text("name")) {
    tool.capability.name = name->text;
    if (!policy::is_capability_name(name->text) || name->text.starts_with("casemate."))
      mistakes.add(name->place, "'" + toml::shown(name->text) +
                                    "' is no name of a capability: letters, digits and _ . - / :"
                                    ", and not beginning with casemate.");
  }
  const auto connector = table.text("connector");
  const auto known = [&](const ConnectorSpec& spec) { return connector && spec.name == connector->text; };
  if (connector && std::none_of(file.specs.begin(), file.specs.end(), known))
    mistakes.add(connector->place, "there is no [connectors." + toml::shown(connector->text) + "]");
  if (const auto text = table.text("description")) {
    tool.description = text->text;
    if (text->text.size() > kDescriptionMax)
      mistakes.add(text->place, table.name() + ".description is longer than " +
                                    std::to_string(kDescriptionMax) + " bytes");
  }
  add_words<policy::Effect>(table.texts("effects", kListMax), tool.capability.effects, policy::effect_of,
                            "effect", policy::kEffects, mistakes);
  add_words<policy::Annotation>(table.texts("annotations", kListMax), tool.capability.annotations,
                                policy::annotation_of, "annotation", policy::kAnnotations, mistakes);
  if (const auto tier = table.integer("tier", 1, 2))
    tool.capability.tier = tier->value == 1 ? policy::Tier::kOne : policy::Tier::kTwo;
  if (const auto labels = table.texts("labels", kListMax)) {
    for (const Text& label : labels->items) {
      if (!policy::is_label(label.text))
        mistakes.add(label.place,
                     "'" + toml::shown(label.text) + "' is no label: small letters, digits, _ and -");
      tool.capability.labels.push_back(label.text);
    }
  }
  tool.arguments = read_schema(table, "arguments", mistakes);
  tool.result = read_schema(table, "result", mistakes);
  if (const auto destination = table.text("destination")) tool.destination = destination->text;
  if (const auto durable = table.boolean("durable")) tool.durable = durable->value;
  read_time(table, tool, mistakes);
  table.finish();
  file.tools.push_back(std::move(tool));
  file.connectors.push_back(connector ? connector->text : "");
}

void read_exec(Table& table, ConnectorSpec& spec, Mistakes& mistakes) {
  table.need("command");
  if (const auto command = table.texts("command", kListMax)) {
    for (const Text& word : command->items) spec.command.push_back(word.text);
    if (command->items.empty()) mistakes.add(command->place, table.name() + ".command is empty");
  }
  const auto unboxed = table.boolean("unboxed");
  if (!unboxed || !unboxed->value)
    mistakes.add(
        unboxed ? unboxed->place : table.place(),
        table.name() + " would run in a box of its own, which this version cannot: say unboxed = true");
}

void read_connector(Table& table, const std::string& name, ToolsFile& file, Mistakes& mistakes) {
  ConnectorSpec spec;
  spec.name = name;
  table.need("kind");
  const auto kind = table.word("kind", {"exec", "http", "caller"});
  if (kind && kind->text == "exec") read_exec(table, spec, mistakes);
  if (kind && kind->text == "http") {
    spec.kind = ConnectorSpec::Kind::kHttp;
    spec.http = read_http_spec(table);
  }
  if (kind && kind->text == "caller") spec.kind = ConnectorSpec::Kind::kCaller;
  if (const auto parallel = table.integer("parallel", 1, 256))
    spec.parallel = static_cast<std::size_t>(parallel->value);
  if (kind) table.finish();
  file.specs.push_back(std::move(spec));
}

void read_file(const toml::Node& root, ToolsFile& file, Mistakes& mistakes) {
  Table table(root, "", mistakes);
  if (auto connectors = table.table("connectors")) {
    for (const toml::Entry& entry : connectors->entries()) {
      if (entry.value.kind != toml::Node::Kind::kTable) {
        mistakes.add(entry.value.place, "connectors." + toml::shown(entry.key.text) + " should be a table");
        continue;
      }
      Table one(entry.value, "connectors." + toml::shown(entry.key.text), mistakes);
      read_connector(one, entry.key.text, file, mistakes);
    }
  }
  std::set<std::string> names;
  for (Table& tool : table.tables("tools", kToolsMax)) {
    read_tool(tool, file, mistakes);
    const std::string& name = file.tools.back().capability.name;
    if (!name.empty() && !names.insert(name).second)
      mistakes.add(tool.place(), "there is another capability " + toml::shown(name));
  }
  table.finish();
}

}  // namespace

ToolsFile read_tools_file(std::string_view text) {
  ToolsFile file;
  Mistakes mistakes;
  toml::ReadLimits limits;
  limits.bytes_max = kToolsFileMax.count;
  if (const auto root = toml::read(text, limits, mistakes)) read_file(*root, file, mistakes);
  file.mistakes = mistakes.list();
  return file;
}

}  // namespace casemate::bridge
