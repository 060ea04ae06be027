#include "audit_output.h"

#include <array>

#include "base/bytes.h"
#include "crypto/digest.h"
#include "json/utf8.h"
#include "json/value.h"
#include "json/writer.h"

namespace casemate {
namespace {

constexpr std::size_t kDigestShown = 12;
constexpr std::size_t kValueShownMax = 400;
// What every record has: shown once, in front.
constexpr std::array<std::string_view, 5> kOfEveryRecord{"seq", "prev", "at", "kind", "digest"};

std::string shown(const json::Value& value) {
  if (const auto text = value.as_string()) {
    if (crypto::is_lower_hex(*text, audit::kDigestDigits))
      return std::string(text->substr(0, kDigestShown)) + "…";
    const std::string line = json::one_line(*text, kValueShownMax);
    return line.empty() || line.find(' ') != std::string::npos ? "\"" + line + "\"" : line;
  }
  if (const auto number = value.as_number_text()) return std::string(*number);
  if (const auto truth = value.as_boolean()) return *truth ? "true" : "false";
  std::string list;
  for (const json::Value& item : value.items()) list += (list.empty() ? "" : ",") + shown(item);
  if (value.kind() == json::Value::Kind::kArray) return "[" + list + "]";
  return value.kind() == json::Value::Kind::kNull ? "null" : "{…}";
}

const char* state_of(const audit::ChainReport& chain) {
  if (chain.live) return "open";
  if (chain.name == "manifest") return "whole";
  return chain.closed ? "closed" : "not closed";
}

std::string place_text(const audit::Fault& fault) {
  std::string text = fault.writer.empty() ? "" : fault.writer + ": ";
  if (fault.sequence != 0) text += "record " + std::to_string(fault.sequence);
  if (fault.segment != 0)
    text += " (segment " + std::to_string(fault.segment) + ", byte " + std::to_string(fault.offset) + ")";
  return text.empty() || text.ends_with(": ") ? text : text + ": ";
}

}  // namespace

std::string audit_record_text(const std::string& writer, std::string_view line) {
  const auto parsed = audit::parse_line(line);
  const auto members = audit::read_members(line);
  if (!parsed || !members)
    return writer + ": what is no record: " + json::one_line(line, kValueShownMax) + "\n";
  std::string text = audit::format_time(parsed->at) + " " + writer + " " + std::to_string(parsed->sequence) +
                     " " + std::string(parsed->kind);
  for (const json::Member& member : members->members()) {
    bool is_other = true;
    for (const std::string_view name : kOfEveryRecord) is_other = is_other && member.key != name;
    if (is_other) text += " " + json::one_line(member.key, kValueShownMax) + "=" + shown(member.value);
  }
  return text + "\n";
}

std::string audit_record_json(const std::string& writer, std::string_view line) {
  return R"({"writer":")" + writer + R"(",)" + std::string(line.substr(1));
}

std::string audit_report_text(const audit::VerifyReport& report) {
  std::string text;
  for (const audit::ChainReport& chain : report.chains) {
    text += chain.name + ": " + std::to_string(chain.records) + " records, " +
            format_bytes(Bytes{chain.bytes}) + " in " + std::to_string(chain.segments) +
            (chain.segments == 1 ? " segment, " : " segments, ");
    text += chain.fault ? "at fault" : state_of(chain);
    if (chain.torn_tails != 0) text += ", cut after a crash: " + std::to_string(chain.torn_tails);
    if (chain.indexed != 0) text += ", indexed: " + std::to_string(chain.indexed);
    text += "\n  head " + std::to_string(chain.head.sequence) + " " + chain.head.digest + "\n";
  }
  for (const std::string& note : report.notes) text += "note: " + json::escape_control(note) + "\n";
  for (const audit::Fault& fault : report.faults) {
    text += std::string("fault: ") + audit::fault_kind_name(fault.kind) + ": " + place_text(fault) +
            json::escape_control(fault.what) + "\n";
  }
  return text + (report.ok() ? "no fault\n" : "");
}

std::string audit_report_json(const audit::VerifyReport& report) {
  json::Writer out;
  out.begin_object().field("ok", report.ok()).key("chains").begin_array();
  for (const audit::ChainReport& chain : report.chains) {
    out.begin_object().field("name", chain.name).field("instance", chain.instance);
    out.field("segments", chain.segments).field("records", chain.records).field("size_bytes", chain.bytes);
    out.key("head")
        .begin_object()
        .field("seq", chain.head.sequence)
        .field("digest", chain.head.digest)
        .end_object();
    out.field("live", chain.live).field("closed", chain.closed).field("torn_tails", chain.torn_tails);
    out.field("indexed", chain.indexed).field("fault", chain.fault.has_value()).end_object();
  }
  out.end_array().key("faults").begin_array();
  for (const audit::Fault& fault : report.faults) {
    out.begin_object().field("kind", audit::fault_kind_name(fault.kind)).field("writer", fault.writer);
    out.field("segment", fault.segment).field("offset", fault.offset).field("seq", fault.sequence);
    out.field("what", fault.what).end_object();
  }
  out.end_array().key("notes").begin_array();
  for (const std::string& note : report.notes) out.value(note);
  out.end_array().end_object();
  return std::move(out).take() + "\n";
}

}  // namespace casemate
