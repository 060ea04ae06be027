// A segment of any bytes, as verify reads it. What is taken for a record is one: written again from what was
// read of it, it is the same line; and no line is lost or made up between two buffers.
#include <string>
#include <string_view>

#include "audit/chain_check.h"
#include "audit/segment.h"
#include "fuzz.h"
#include "sys/sealed.h"

namespace casemate::audit {
namespace {

void check_line(std::string_view text) {
  const Result<Line> line = parse_line(text);
  if (!line) {
    FUZZ_CHECK(line.error().code == ErrorCode::kInvalid);
    return;
  }
  FUZZ_CHECK(line->sequence > 0 && is_kind_name(line->kind));
  FUZZ_CHECK(parse_time(format_time(line->at)).value() == line->at);
  std::string again;
  const Position before{line->sequence - 1, std::string(line->previous)};
  const Position made = append_line(again, before, line->at, line->kind, line->body);
  const std::string same = std::string(text) + "\n";
  FUZZ_CHECK((again == same) == digest_holds(text, *line));
  FUZZ_CHECK(made.sequence == line->sequence);
}

void check_segment(std::string_view bytes) {
  auto file = sys::sealed_bytes("segment", bytes);
  FUZZ_CHECK(file.has_value());
  LineReader reader(std::move(*file));
  ChainCheck check("main");
  check.begin_segment(1);
  bool at_fault = false;
  std::string_view rest = bytes;
  for (;;) {
    std::string_view text;
    const Result<LineReader::What> what = reader.next(text);
    FUZZ_CHECK(what.has_value());
    if (*what != LineReader::What::kLine) {
      FUZZ_CHECK(*what == LineReader::What::kTooLong || text == rest);
      return;
    }
    FUZZ_CHECK(reader.line_offset() == bytes.size() - rest.size());
    FUZZ_CHECK(text == rest.substr(0, rest.find('\n')));
    rest.remove_prefix(text.size() + 1);
    check_line(text);
    if (at_fault) continue;
    const Position before = check.head();
    const auto fault = check.next(text, reader.line_offset());
    at_fault = fault.has_value();
    FUZZ_CHECK(at_fault ? !fault->what.empty() && check.head() == before
                        : check.head().sequence == before.sequence + 1);
  }
}

}  // namespace
}  // namespace casemate::audit

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = casemate::fuzz::view(data, size);
  casemate::audit::check_segment(bytes);
  casemate::audit::check_line(bytes);
  return 0;
}
