#include "outcome/box_record.h"

#include <array>
#include <cstdio>
#include <ctime>
#include <string_view>

namespace casemate::outcome {
namespace {

using Row = BoxRecord::Row;

std::string time_text(BoxRecord::Time time) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  const std::time_t seconds = std::chrono::system_clock::to_time_t(whole);
  const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(time - whole).count();
  std::tm parts{};
  (void)::gmtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text.data() + size, text.size() - size, ".%03dZ", static_cast<int>(rest));
  return text.data();
}

std::string ms_text(std::uint64_t us) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f ms", static_cast<double>(us) / 1000);
  return text.data();
}

void time_field(json::Writer& out, std::string_view name, const std::optional<BoxRecord::Time>& time) {
  if (time) out.field(name, time_text(*time));
}

template <typename T>
void optional_field(json::Writer& out, std::string_view name, const std::optional<T>& value) {
  if (value) out.field(name, *value);
}

void text_field(json::Writer& out, std::string_view name, const std::string& text) {
  if (!text.empty()) out.field(name, text);
}

void write_rows(json::Writer& out, std::string_view name, const std::vector<Row>& rows) {
  out.key(name).begin_array();
  for (const Row& row : rows) {
    out.begin_object().field("name", row.name).field("state", row.state);
    text_field(out, "proves", row.proves);
    out.end_object();
  }
  out.end_array();
}

// The names of the rows that are in this state.
std::string names(const std::vector<Row>& rows, std::string_view state) {
  std::string text;
  for (const Row& row : rows) {
    if (row.state == state) text += " " + row.name;
  }
  return text;
}

}  // namespace

void write_record(json::Writer& out, const BoxRecord& record) {
  out.begin_object().field("box", record.box);
  text_field(out, "run", record.run);
  if (record.slot != 0) out.field("slot", record.slot).field("nest", record.nest);
  out.field("image", record.image).field("isolation", record.isolation).field("level", record.level);
  text_field(out, "cold_reason", record.cold_reason);
  out.key("birth").begin_object().field("volume", record.volume);
  time_field(out, "asked_at", record.asked_at);
  time_field(out, "born_at", record.born_at);
  optional_field(out, "outside_id", record.outside_id);
  optional_field(out, "setup_us", record.setup_us);
  write_rows(out, "walls", record.walls);
  out.end_object();
  out.key("death").begin_object().field("why", record.why).field("verdict", record.verdict);
  text_field(out, "quarantined_for", record.quarantined_for);
  time_field(out, "leased_at", record.leased_at);
  time_field(out, "over_at", record.over_at);
  time_field(out, "dead_at", record.dead_at);
  optional_field(out, "teardown_us", record.teardown_us);
  write_rows(out, "proof", record.proof);
  out.end_object().end_object();
}

std::string record_text(const BoxRecord& record) {
  std::string text = "record of " + record.box;
  if (!record.run.empty()) text += ", run " + record.run;
  text += "\n  " + record.level;
  if (record.slot != 0) {
    text += ": slot " + std::to_string(record.slot) + " of nest " + std::to_string(record.nest);
  } else {
    text += ": made for its run";
  }
  if (!record.cold_reason.empty()) text += ", since " + record.cold_reason;
  text += "\n  image " + record.image + "\n  volume " + record.volume;
  if (record.outside_id) text += ", user id on the host " + std::to_string(*record.outside_id);
  text += "\n";
  if (record.born_at) {
    text += "  born " + time_text(*record.born_at);
    if (record.setup_us) text += ", set up in " + ms_text(*record.setup_us);
    text += "\n  walls on:" + names(record.walls, "on") + "\n";
    for (const char* state : {"waived", "off"}) {
      if (const std::string found = names(record.walls, state); !found.empty())
        text += std::string("  walls ") + state + ":" + found + "\n";
    }
  } else {
    text += "  never whole\n";
  }
  text += "  " + record.verdict + (record.dead_at ? " " + time_text(*record.dead_at) : "");
  if (record.teardown_us) text += ", in " + ms_text(*record.teardown_us);
  text += ": " + record.why + "\n";
  if (!record.quarantined_for.empty()) text += "  quarantined: " + record.quarantined_for + "\n";
  if (record.proof.empty()) text += "  nothing was shown of its end\n";
  for (const Row& row : record.proof)
    text += "  " + row.name + (row.state == "on" ? " shown: " : " NOT shown: ") + row.proves + "\n";
  return text;
}

}  // namespace casemate::outcome
