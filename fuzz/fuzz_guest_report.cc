// What a box's runner says about its program: whatever it sends, what is kept is bounded, is valid
// text, and has no line that is two.
//
// Input: a stream of frames, read as the engine reads it.
#include <optional>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "frame/frame.h"
#include "fuzz.h"
#include "json/utf8.h"
#include "outcome/guest_report.h"

namespace casemate::outcome {
namespace {

// Bytes that are not UTF-8 become three bytes each.
constexpr std::size_t kTextMax = 3 * kReportTextMax + 16;

void check_line(std::string_view line, std::size_t bytes_max) {
  FUZZ_CHECK(line.size() <= bytes_max);
  FUZZ_CHECK(json::is_valid_utf8(line));
  FUZZ_CHECK(line.find_first_of("\n\r\x1b") == std::string_view::npos);
}

void check_text(std::string_view text) {
  FUZZ_CHECK(text.size() <= kTextMax);
  FUZZ_CHECK(json::is_valid_utf8(text));
}

void check_exception(const GuestException& told) {
  const Exception& exception = told.exception;
  check_line(exception.type, kGuestLineMax);
  check_text(exception.message);
  check_text(exception.rendered.value_or(""));
  check_line(exception.file.value_or(""), kGuestLineMax);
  check_line(exception.source.value_or(""), kGuestLineMax);
  FUZZ_CHECK(exception.frames.size() <= kReportFramesMax);
  for (const ExceptionFrame& frame : exception.frames) {
    check_line(frame.file, kGuestLineMax);
    check_line(frame.function, kGuestLineMax);
    check_line(frame.source, kGuestLineMax);
  }
  FUZZ_CHECK(exception.hints.size() <= kReportHintsMax);
  for (const std::string& hint : exception.hints) check_line(hint, kGuestLineMax);
  FUZZ_CHECK(!told.exit_code || (*told.exit_code >= 0 && *told.exit_code <= 255));
  FUZZ_CHECK(!told.errno_value || (*told.errno_value >= 1 && *told.errno_value <= 4095));
}

void check_report(const GuestReport& report) {
  FUZZ_CHECK(report.artifacts().size() <= kArtifactsMax);
  for (const GuestArtifact& artifact : report.artifacts()) {
    FUZZ_CHECK(!artifact.path.empty() && artifact.path.size() <= kPathMax);
    FUZZ_CHECK(artifact.path.find('\0') == std::string::npos);
    check_line(artifact.name, kGuestNameMax);
    FUZZ_CHECK(artifact.name.find('/') == std::string::npos);
    check_line(artifact.summary, kSummaryMax);
    check_line(artifact.media_type, kGuestMediaTypeMax);
  }
  if (report.result()) {
    for (const auto& [media_type, text] : report.result()->forms) {
      check_line(media_type, kGuestMediaTypeMax);
      FUZZ_CHECK(json::is_valid_utf8(text));
    }
  }
  if (report.exception()) check_exception(*report.exception());
}

void read_stream(std::string_view stream) {
  frame::Reader reader;
  GuestReport report;
  frame::Frame frame;
  FUZZ_CHECK(reader.feed(stream).has_value());
  while (true) {
    const Result<bool> next = reader.next(frame);
    if (!next || !*next) break;
    const bool parses = parse_guest(frame).has_value();
    const Result<std::optional<GuestOrder>> added = report.add(frame);
    FUZZ_CHECK(parses || !added);
    if (!added) {
      FUZZ_CHECK(report.broken());
      break;
    }
  }
  check_report(report);
}

}  // namespace
}  // namespace casemate::outcome

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  casemate::outcome::read_stream(casemate::fuzz::view(data, size));
  return 0;
}
