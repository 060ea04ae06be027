#include "outcome/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "json/utf8.h"

namespace casemate::outcome {
namespace {

// Shares of the report, in sixteenths; stdout and stderr divide what the others leave, and their own
// share at least.
constexpr std::size_t kShares = 16;
constexpr std::size_t kHeadShare = 2;
constexpr std::size_t kExceptionShare = 4;
constexpr std::size_t kResultShare = 2;
constexpr std::size_t kArtifactsShare = 2;
constexpr std::size_t kLimitsShare = 2;

constexpr std::size_t kFramesShown = 8;
constexpr std::size_t kMessageMax = 1200;
constexpr std::size_t kRenderedMax = 2000;

// A guest's line that could pass for one of ours.
bool looks_like_ours(std::string_view line) {
  return (line.starts_with("--- ") && line.ends_with(" ---")) || line.starts_with("[artifact ");
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Leaves out the middle of a line that is too long.
std::string shortened(std::string_view line, std::size_t bytes_max) {
  if (line.size() <= bytes_max) return std::string(line);
  const std::string_view head = json::cut_text(line, bytes_max / 2);
  std::string_view tail = line.substr(line.size() - bytes_max / 4);
  while (!tail.empty() && (tail.front() & '\xC0') == '\x80') tail.remove_prefix(1);
  return std::string(head) + "[… " + std::to_string(line.size() - head.size() - tail.size()) + " bytes …]" +
         std::string(tail);
}

// Guest text of several lines: harmless, each line bounded, none of them like ours.
std::string guest_lines(std::string_view text, const ReportOptions& options) {
  std::string out;
  const std::string harmless = json::escape_control(text);
  for (const std::string_view line : lines_of(harmless)) {
    if (looks_like_ours(line)) out += '\\';
    out += shortened(line, options.line_bytes_max);
    out += '\n';
  }
  return out;
}

// Keeps whole lines from both ends, most of them from the front. The result has no more than
// `bytes_max` bytes and ends in a newline if the text did.
std::string clipped(const std::string& text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  constexpr std::size_t kMarkerRoom = 48;
  CHECK(bytes_max > 4 * kMarkerRoom);
  const std::size_t room = bytes_max - kMarkerRoom;
  std::string_view head = json::cut_text(text, room * 2 / 3);
  std::string_view tail = std::string_view(text).substr(text.size() - room / 3);
  if (const std::size_t end = head.rfind('\n'); end != std::string_view::npos && end > head.size() / 2) {
    head = head.substr(0, end);
  }
  while (!tail.empty() && (tail.front() & '\xC0') == '\x80') tail.remove_prefix(1);
  if (const std::size_t start = tail.find('\n'); start != std::string_view::npos && start < tail.size() / 2) {
    tail = tail.substr(start + 1);
  }
  return std::string(head) + "\n[… " + std::to_string(text.size() - head.size() - tail.size()) +
         " bytes left out …]\n" + std::string(tail);
}

std::string section(std::string_view title, const std::string& body) {
  return "--- " + std::string(title) + " ---\n" + body;
}

std::string decimal_size(std::uint64_t bytes) {
  constexpr std::array<const char*, 4> kUnits = {"B", "kB", "MB", "GB"};
  double amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (amount >= 999.5 && unit + 1 < kUnits.size()) {
    amount /= 1000;
    ++unit;
  }
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), unit > 0 && amount < 9.95 ? "%.1f%s" : "%.0f%s", amount,
                kUnits[unit]);
  return buffer.data();
}

// "1.2", "30": one decimal below ten, none when it says nothing.
std::string short_number(double number) {
  std::array<char, 32> buffer{};
  const double tenths = std::round(number * 10) / 10;
  const bool whole = tenths >= 10 || tenths == std::floor(tenths);
  std::snprintf(buffer.data(), buffer.size(), whole ? "%.0f" : "%.1f", number);
  return buffer.data();
}

std::string status_section(const Outcome& outcome) {
  const Ending& ending = outcome.ending;
  std::vector<std::string> details;
  if (ending.limit) details.emplace_back(limit_name(ending.limit->name));
  if (ending.reason) details.emplace_back(reason_name(ending.reason->code));
  if (ending.signal) details.push_back("killed by " + signal_name(*ending.signal));
  if (ending.exit_code && (ending.status != Status::kOk || *ending.exit_code != 0)) {
    details.push_back("exit code " + std::to_string(*ending.exit_code));
  }
  std::string text = std::string("status: ") + status_name(ending.status);
  for (std::size_t i = 0; i < details.size(); ++i) text += (i == 0 ? " (" : ", ") + details[i];
  text += details.empty() ? "\n" : ")\n";
  if (outcome.below_floor) {
    text += "isolation: " + json::one_line(outcome.isolation, 64) +
            ", below the floor that this request needs; the weakening was asked for by name\n";
  }
  for (const Weakening& weakening : outcome.weakenings) {
    text += "weakened by name: " + weakening.name + ", so " + weakening.loss + "\n";
  }
  for (const Withheld& withheld : outcome.withheld) {
    text += "withheld by policy: " + withheld.sink + " (" + std::to_string(withheld.bytes) +
            (withheld.sink == "artifact" ? "" : " bytes") + "): " + json::one_line(withheld.reason, 400) +
            "\n";
  }
  return text;
}

// A request that we or policy stopped: nothing about it is the program's fault.
std::string reason_section(const Outcome& outcome) {
  const ReasonGiven& reason = *outcome.ending.reason;
  std::string text = json::one_line(reason.message, 400) + "\n";
  text += std::string("What to do: ") + remedy_of(reason.code) + "\n";
  if (reason.retry_after_ms)
    text += "Retry after " + limit_amount(LimitName::kWall, *reason.retry_after_ms) + ".\n";
  text += outcome.ending.status == Status::kRefused
              ? "The program was not run. Do not change the program.\n"
              : "This is not the program's fault. Do not change the program.\n";
  return text;
}

// Whole when it is short, else its last lines.
std::string stream_section(std::string_view name, const StreamOutcome& stream, std::size_t bytes_max,
                           const ReportOptions& options) {
  const std::string body = guest_lines(stream.text, options);
  const std::vector<std::string_view> lines = lines_of(body);
  const bool whole = !stream.truncated && lines.size() <= options.lines_whole_max && body.size() <= bytes_max;
  std::string notes;
  std::string_view shown = body;
  if (!whole && !lines.empty()) {
    std::size_t count = 0;
    std::size_t size = 0;
    while (count < lines.size() && count < options.lines_last) {
      const std::size_t more = lines[lines.size() - 1 - count].size() + 1;
      if (count > 0 && size + more > bytes_max) break;
      size += more;
      ++count;
    }
    shown = shown.substr(shown.size() - size);
    notes = "last " + std::to_string(count) + " of " +
            std::to_string(std::max<std::uint64_t>(stream.lines, count)) + " lines";
  }
  if (stream.lossy) notes += std::string(notes.empty() ? "" : "; ") + "not all of it is UTF-8 text";
  if (stream.artifact)
    notes += std::string(notes.empty() ? "" : "; ") + "all: " + json::one_line(*stream.artifact, 80);
  return section(std::string(name) + (notes.empty() ? "" : " (" + notes + ")"), std::string(shown));
}

std::string place(const std::string& file, const std::optional<std::uint64_t>& line,
                  const std::string& program) {
  std::string text = file.empty() || file == program ? "" : file;
  if (line) text += (text.empty() ? "line " : " line ") + std::to_string(*line);
  return text;
}

// ": total = row['amount']": a line of source behind its place, without its indentation.
std::string after_place(const std::string& source) {
  const std::size_t start = source.find_first_not_of(' ');
  return start == std::string::npos ? "" : ": " + source.substr(start);
}

std::string frames_text(const Exception& exception, const std::string& program) {
  const std::vector<ExceptionFrame>& frames = exception.frames;
  std::string text;
  if (frames.size() > 1) {
    text += "frames, outermost first:\n";
    const std::size_t skipped = frames.size() > kFramesShown ? frames.size() - kFramesShown : 0;
    for (std::size_t i = 0; i < frames.size(); ++i) {
      if (skipped > 0 && i == kFramesShown / 2) {
        i += skipped;
        text += "  … " + std::to_string(skipped + exception.frames_left_out) + " more …\n";
      }
      const ExceptionFrame& frame = frames[i];
      text += "  " + place(frame.file, frame.line, program);
      if (!frame.function.empty()) text += " in " + frame.function;
      text += after_place(frame.source) + "\n";
    }
  }
  if (exception.hidden_frames > 0) {
    text += "(" + std::to_string(exception.hidden_frames) + " frames outside the program are not shown)\n";
  }
  return text;
}

bool has_more_than_one_exception(const Exception& exception) {
  if (exception.type.ends_with("ExceptionGroup")) return true;
  const std::string_view rendered = *exception.rendered;
  // Python's own words, from traceback.py.
  return rendered.find("The above exception was the direct cause") != std::string_view::npos ||
         rendered.find("During handling of the above exception") != std::string_view::npos;
}

std::string exception_section(const Exception& exception, const ReportOptions& options) {
  const std::string program =
      exception.frames.empty() ? exception.file.value_or("") : exception.frames.front().file;
  std::string text = exception.type;
  if (!exception.message.empty()) text += ": " + exception.message;
  text = clipped(guest_lines(text, options), kMessageMax);
  std::string details;
  if (const std::string at = place(exception.file.value_or(""), exception.line, program); !at.empty()) {
    details += "at " + at + after_place(exception.source.value_or("")) + "\n";
  }
  for (const std::string& hint : exception.hints) details += hint + "\n";
  if (exception.hints_left_out > 0)
    details += "(" + std::to_string(exception.hints_left_out) + " more hints)\n";
  details += frames_text(exception, program);
  text += guest_lines(details, options);
  if (exception.rendered && has_more_than_one_exception(exception)) {
    text += "in full:\n" + clipped(guest_lines(*exception.rendered, options), kRenderedMax);
  }
  return section("exception", text);
}

std::string result_section(const Outcome& outcome, const ReportOptions& options) {
  std::string text;
  std::string others;
  for (const auto& [media_type, form] : *outcome.result) {
    if (media_type == "text/plain") {
      text = guest_lines(form, options);
    } else {
      others +=
          (others.empty() ? "" : ", ") + json::one_line(media_type, 127) + " " + decimal_size(form.size());
    }
  }
  if (!others.empty()) text += "(in the outcome also as: " + others + ")\n";
  return section("result", text);
}

std::string artifact_line(const Artifact& artifact) {
  std::string text = "[artifact " + json::one_line(artifact.id, 80) + " ";
  text += artifact.media_type.empty() ? "application/octet-stream" : json::one_line(artifact.media_type, 127);
  text += " " + decimal_size(artifact.bytes);
  if (artifact.state != ArtifactState::kStored)
    text += std::string(" ") + artifact_state_name(artifact.state);
  if (!artifact.description.empty()) text += " " + json::one_line(artifact.description, 80);
  if (artifact.summary.empty()) return text + " " + json::one_line(artifact.name, 255) + "]\n";
  text += " \"";
  for (const char byte : json::one_line(artifact.summary, kSummaryMax)) {
    if (byte == '"' || byte == '\\') text += '\\';  // the quotes end where we end them
    text += byte;
  }
  return text + "\"]\n";
}

std::string artifacts_section(const Outcome& outcome, std::size_t bytes_max) {
  std::string text;
  bool claims = false;
  std::size_t shown = 0;
  for (const Artifact& artifact : outcome.artifacts) {
    const std::string line = artifact_line(artifact);
    if (text.size() + line.size() > bytes_max) break;
    text += line;
    claims = claims || !artifact.summary.empty();
    ++shown;
  }
  const std::uint64_t left = outcome.artifacts.size() - shown + outcome.artifacts_left_out;
  if (left > 0) text += "(and " + std::to_string(left) + " more)\n";
  return section(claims ? "artifacts (a text in quotes is the program's own claim)" : "artifacts", text);
}

std::string limits_section(const Outcome& outcome) {
  const Ending& ending = outcome.ending;
  std::string text;
  if (ending.limit) {
    const EndingLimit& limit = *ending.limit;
    text += std::string(limit_name(limit.name)) + ": the run was ended at its limit of " +
            limit_amount(limit.name, limit.ceiling) + " (used " + limit_amount(limit.name, limit.used) +
            "). " + limit.advice + "\n";
  }
  for (const MetLimit& met : ending.limits_met) {
    text += std::string(limit_name(met.name)) + ": the limit of " + limit_amount(met.name, met.ceiling) +
            " was met" + (met.times > 1 ? " " + std::to_string(met.times) + " times" : "") + ". " +
            limit_advice(met.name) + "\n";
  }
  if (!text.empty()) return section("limits", text);
  std::string used;
  if (outcome.effective.wall_ms) {
    used = "wall " + short_number(static_cast<double>(outcome.usage.wall_ms) / 1000) + " of " +
           short_number(static_cast<double>(*outcome.effective.wall_ms) / 1000) + " s";
  }
  if (outcome.effective.memory_bytes) {
    constexpr double kMiB = 1 << 20;
    used += (used.empty() ? "memory " : ", memory ") +
            short_number(static_cast<double>(outcome.usage.memory_peak_bytes) / kMiB) + " of " +
            short_number(static_cast<double>(*outcome.effective.memory_bytes) / kMiB) + " MiB";
  }
  return section("limits", "none reached" + (used.empty() ? "" : " (" + used + ")") + "\n");
}

}  // namespace

std::string make_report(const Outcome& outcome, const ReportOptions& options) {
  CHECK(options.bytes_max >= (std::size_t{8} << 10));
  const Ending& ending = outcome.ending;
  const auto share = [&](std::size_t sixteenths) { return options.bytes_max / kShares * sixteenths; };

  std::string head = status_section(outcome);
  if (ending.reason) head += reason_section(outcome);
  head = clipped(head, share(kHeadShare));

  const bool wrote = outcome.stdout_text.bytes > 0 || outcome.stderr_text.bytes > 0;
  const bool ran = wrote || ending.exit_code || ending.signal || !ending.reason;
  if (!ran) return head;

  std::string rest;
  if (ending.exception) {
    rest += clipped(exception_section(*ending.exception, options), share(kExceptionShare));
  }
  if (outcome.result) rest += clipped(result_section(outcome, options), share(kResultShare));
  if (!outcome.artifacts.empty() || outcome.artifacts_left_out > 0) {
    rest += artifacts_section(outcome, share(kArtifactsShare) - 128);
  }
  // A run whose end was not seen may have met anything.
  if (ending.status != Status::kUnavailable || ending.exit_code) {
    rest += clipped(limits_section(outcome), share(kLimitsShare));
  }

  // What is left is for the streams: stderr up to a third or what stdout does not need.
  constexpr std::size_t kTitleMax = 256;
  const std::size_t room = options.bytes_max - head.size() - rest.size() - 2 * kTitleMax;
  ReportOptions narrow = options;
  narrow.line_bytes_max = std::min(options.line_bytes_max, room / 4);
  const std::string err_least = stream_section("stderr", outcome.stderr_text, room / 3, narrow);
  const std::size_t err_used = std::min(err_least.size(), room / 3);
  const std::string out_text = stream_section("stdout", outcome.stdout_text, room - err_used, narrow);
  const std::size_t out_used = std::min(out_text.size(), room);
  const std::string err_text = stream_section("stderr", outcome.stderr_text, room - out_used, narrow);
  return head + out_text + (err_text.size() > err_least.size() ? err_text : err_least) + rest;
}

}  // namespace casemate::outcome
