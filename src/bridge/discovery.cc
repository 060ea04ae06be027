#include "bridge/discovery.h"

#include <algorithm>

#include "json/reader.h"
#include "json/writer.h"

namespace casemate::bridge {
namespace {

constexpr std::string_view kStub = ".pyi";

std::string text_of(const json::Value& arguments, std::string_view key) {
  const json::Value* found = arguments.find(key);
  return found != nullptr ? std::string(found->as_string().value_or("")) : "";
}

Reply value(json::Writer writer) { return {frame::ReplyStatus::kValue, std::move(writer).take(), {}}; }

void write_found(json::Writer& writer, const std::string& name, const std::string& signature,
                 const std::string& summary) {
  writer.begin_object()
      .field("name", name)
      .field("signature", signature)
      .field("summary", summary)
      .end_object();
}

// Without words: all of them, in the order of their names.
Reply search(const Toolbox& tools, const json::Value& arguments) {
  const json::Value* limit = arguments.find("limit");
  const std::uint64_t most = limit != nullptr ? limit->as_uint64().value_or(0) : 20;
  if (most < 1 || most > catalog::kFoundMax)
    return reply_of("casemate.search", CallError{"invalid", "limit should be 1 to 100", false});
  const std::string query = text_of(arguments, "query");
  json::Writer writer;
  writer.begin_array();
  if (query.find_first_not_of(' ') == std::string::npos) {
    std::size_t left = most;
    for (const Granted* granted : tools.all()) {
      if (left-- == 0) break;
      write_found(writer, granted->tool.capability.name, signature_of(*granted),
                  granted->tool.description.substr(0, granted->tool.description.find('\n')));
    }
  } else if (tools.catalog() != nullptr) {
    for (const catalog::Found& found : tools.catalog()->search(query, most))
      write_found(writer, found.name, found.signature, found.summary);
  }
  writer.end_array();
  return value(std::move(writer));
}

Reply describe(const Toolbox& tools, const std::string& name) {
  const Granted* granted = tools.find(name);
  if (granted == nullptr) return reply_of(name, CallError{"not_granted", "not granted", false});
  std::string file = granted->path;
  std::replace(file.begin(), file.end(), '.', '/');
  json::Writer writer;
  writer.value(tools.catalog()->read(file.append(kStub)).value_or(""));
  return value(std::move(writer));
}

// The parts that come next after a prefix such as "" or "github.".
Reply names(const Toolbox& tools, std::string prefix) {
  if (prefix.ends_with('.')) prefix.pop_back();
  std::replace(prefix.begin(), prefix.end(), '.', '/');
  json::Writer writer;
  writer.begin_array();
  const auto entries = tools.catalog() != nullptr ? tools.catalog()->list(prefix) : std::nullopt;
  std::string last;
  for (const catalog::Entry& entry : entries.value_or(std::vector<catalog::Entry>())) {
    const std::string_view name = entry.name;
    // One that is a capability and has others beneath it is there twice.
    std::string part(entry.is_folder ? name : name.substr(0, name.size() - kStub.size()));
    if (part != last) writer.value(part);
    last = std::move(part);
  }
  writer.end_array();
  return value(std::move(writer));
}

}  // namespace

bool is_discovery(std::string_view name) {
  return name == "casemate.search" || name == "casemate.describe" || name == "casemate.names";
}

Reply discover(const Toolbox& tools, const WantedCall& wanted) {
  const auto arguments = json::read(wanted.arguments);
  if (!arguments) return reply_of(wanted.name, CallError{"invalid", arguments.error().message, false});
  if (wanted.name == "casemate.names") return names(tools, text_of(*arguments, "prefix"));
  if (wanted.name == "casemate.describe") return describe(tools, text_of(*arguments, "name"));
  return search(tools, *arguments);
}

}  // namespace casemate::bridge
