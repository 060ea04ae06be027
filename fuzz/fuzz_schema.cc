// schema: a schema, a line "VALUE", and a value, both of them anything.
//
// What compiles is asked; the answer is the same when it is asked again, twice as loudly, and as the only
// alternative of anyOf; under `not` it is the opposite. The stub and the signature of every schema are
// bounded text.
#include <optional>
#include <string>
#include <string_view>

#include "fuzz.h"
#include "json/reader.h"
#include "json/utf8.h"
#include "schema/check.h"
#include "schema/stub.h"

namespace casemate::schema {
namespace {

constexpr std::string_view kBetween = "\nVALUE\n";
constexpr CheckLimits kLimits{.steps_max = 200'000};

void check_line(const std::string& line, std::size_t bytes_max) {
  FUZZ_CHECK(line.size() <= bytes_max && json::is_valid_utf8(line));
  FUZZ_CHECK(line.find_first_of("\n\r\x1b") == std::string::npos);
}

void check_fault(const Fault& fault) { check_line(line_of(fault), 4096); }

// Whether the schema takes the value; nullopt when a limit was reached first.
std::optional<bool> answer(std::string_view schema, const json::Value& value) {
  const auto document = json::read(schema);
  if (!document) return std::nullopt;  // deeper than may be read, with what was put around it
  const auto compiled = Schema::compile(*document);
  if (!compiled) return std::nullopt;
  const auto report = check(*compiled, value, kLimits);
  if (!report) return std::nullopt;
  for (const Fault& fault : report->faults) check_fault(fault);
  return report->faults.empty();
}

void check_stub(const Schema& schema, std::string_view text) {
  const std::string description = json::to_text(text.substr(0, 3000)).text;
  const StubSource source{"a.b", "a.b", description, {}, &schema, &schema};
  FUZZ_CHECK(python_stub(source).size() < 400'000 && json::is_valid_utf8(python_stub(source)));
  check_line(python_signature(source), kSignatureMax);
}

void run(std::string_view input) {
  const std::size_t between = input.find(kBetween);
  const std::string_view schema_text = input.substr(0, between);
  const auto document = json::read(schema_text, {.bytes_max = 1 << 16});
  if (!document) return;
  const auto schema = Schema::compile(*document);
  if (!schema) {
    FUZZ_CHECK(!schema.error().empty() && schema.error().size() <= kFaultsMax);
    for (const Fault& fault : schema.error()) check_fault(fault);
    return;
  }
  check_stub(*schema, schema_text);
  if (between == std::string_view::npos) return;
  const auto value = json::read(input.substr(between + kBetween.size()), {.bytes_max = 1 << 16});
  if (!value) return;
  const auto report = check(*schema, *value, kLimits);
  if (!report) {
    FUZZ_CHECK(report.error().code == ErrorCode::kExhausted);
    return;
  }
  FUZZ_CHECK(report->faults.size() <= kFaultsMax);
  for (const Fault& fault : report->faults) check_fault(fault);
  const bool valid = report->faults.empty();
  const auto one = check(*schema, *value, {.steps_max = kLimits.steps_max, .faults_max = 1});
  FUZZ_CHECK(!one || one->faults.empty() == valid);
  // Around a document, "#" and "#/…" mean another place: only what has no reference can be put into another.
  if (schema_text.find("\"$") != std::string_view::npos) return;
  const std::string text(schema_text);
  const auto in_any_of = answer("{\"anyOf\":[" + text + "]}", *value);
  FUZZ_CHECK(!in_any_of || *in_any_of == valid);
  const auto in_not = answer("{\"not\":" + text + "}", *value);
  FUZZ_CHECK(!in_not || *in_not != valid);
}

}  // namespace
}  // namespace casemate::schema

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  casemate::schema::run(casemate::fuzz::view(data, size));
  return 0;
}
