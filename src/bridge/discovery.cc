#include "bridge/discovery.h"

#include <algorithm>
#include <set>

#include "base/split.h"
#include "json/reader.h"
#include "json/utf8.h"
#include "json/writer.h"

namespace casemate::bridge {
namespace {

constexpr std::size_t kFoundMax = 100;
constexpr std::size_t kQueryMax = 1024;
constexpr std::size_t kSummaryBytes = 200;

CallError wrong(std::string message) { return {"invalid", std::move(message), false}; }

std::string small(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return out;
}

// The words of a query: what stands between anything but letters, digits and what is not ASCII.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : small(text)) {
    const bool in = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c & '\x80') != 0;
    if (in)
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// How well a capability fits: a word in its name counts four times as much as one in what is said of it.
int score_of(const Granted& granted, const std::vector<std::string>& words) {
  const std::string name = small(granted.tool.capability.name);
  const std::string text = small(granted.tool.description);
  int score = 0;
  for (const std::string& word : words) {
    score += name.find(word) != std::string::npos ? 4 : 0;
    score += text.find(word) != std::string::npos ? 1 : 0;
    for (const schema::Parameter& parameter : granted.parameters) score += small(parameter.name) == word ? 1 : 0;
  }
  return score;
}

std::string summary_of(const Granted& granted) {
  const std::string_view text = granted.tool.description;
  return json::one_line(text.substr(0, text.find('\n')), kSummaryBytes);
}

std::string found(const Toolbox& tools, std::string_view query, std::size_t limit) {
  std::vector<std::pair<int, const Granted*>> ranked;
  const std::vector<std::string> words = words_of(query);
  for (const Granted* granted : tools.all()) {
    const int score = score_of(*granted, words);
    if (score > 0 || words.empty()) ranked.emplace_back(-score, granted);
  }
  // The names' order where they fit equally well.
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  json::Writer writer;
  writer.begin_array();
  for (std::size_t i = 0; i < std::min(limit, ranked.size()); ++i) {
    const Granted& granted = *ranked[i].second;
    writer.begin_object().field("name", granted.tool.capability.name);
    writer.field("signature", schema::python_signature(stub_source(granted)));
    writer.field("summary", summary_of(granted)).end_object();
  }
  writer.end_array();
  return std::move(writer).take();
}

// The parts that come next after a prefix such as "" or "github.".
std::string names(const Toolbox& tools, std::string_view prefix) {
  std::set<std::string> next;
  for (const Granted* granted : tools.all()) {
    const std::string& path = granted->path;
    if (path.starts_with(prefix)) next.insert(path.substr(prefix.size(), path.find('.', prefix.size()) - prefix.size()));
  }
  json::Writer writer;
  writer.begin_array();
  for (const std::string& name : next) writer.value(name);
  writer.end_array();
  return std::move(writer).take();
}

Reply value(std::string json) { return {frame::ReplyStatus::kValue, std::move(json), {}}; }

Reply describe(const Toolbox& tools, std::string_view name) {
  const Granted* granted = tools.find(name);
  if (granted == nullptr) {
    std::string near;
    for (const std::string& one : tools.near(name)) near += (near.empty() ? "; near it are " : ", ") + one;
    return reply_of(name, CallError{"not_granted", "not granted" + near, false});
  }
  json::Writer writer;
  writer.value(schema::python_stub(stub_source(*granted)));
  return value(std::move(writer).take());
}

std::string text_of(const json::Value& arguments, std::string_view key) {
  const json::Value* found = arguments.find(key);
  return found != nullptr ? std::string(found->as_string().value_or("")) : "";
}

}  // namespace

bool is_discovery(std::string_view name) {
  return name == "casemate.search" || name == "casemate.describe" || name == "casemate.names";
}

Reply discover(const Toolbox& tools, const WantedCall& wanted) {
  const auto arguments = json::read(wanted.arguments);
  if (!arguments) return reply_of(wanted.name, wrong(arguments.error().message));
  if (wanted.name == "casemate.names") return value(names(tools, text_of(*arguments, "prefix")));
  if (wanted.name == "casemate.describe") return describe(tools, text_of(*arguments, "name"));
  const json::Value* limit = arguments->find("limit");
  const std::uint64_t most = limit != nullptr ? limit->as_uint64().value_or(0) : 20;
  const std::string query = text_of(*arguments, "query");
  if (most < 1 || most > kFoundMax || query.size() > kQueryMax)
    return reply_of(wanted.name, wrong("limit should be 1 to 100, and query at most 1024 bytes of text"));
  return value(found(tools, query, static_cast<std::size_t>(most)));
}

}  // namespace casemate::bridge
