// What a guest wrote, made into text: always valid UTF-8, within its bound, and the same whether the
// bytes come at once or in pieces.
//
// Input: one byte n, n bytes of piece sizes, then the bytes.
#include <algorithm>
#include <string>
#include <string_view>

#include "fuzz.h"
#include "json/utf8.h"

namespace casemate::json {
namespace {

// No byte that moves a cursor: controls other than newline and tab.
bool is_tame(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7f) || byte == '\n' || byte == '\t';
  });
}

void check_whole(std::string_view bytes) {
  const Text text = to_text(bytes);
  FUZZ_CHECK(is_valid_utf8(text.text));
  FUZZ_CHECK(text.lossy == !is_valid_utf8(bytes));
  if (!text.lossy) FUZZ_CHECK(text.text == bytes);
  FUZZ_CHECK(to_text(text.text).text == text.text);

  const std::string escaped = escape_control(text.text);
  FUZZ_CHECK(is_valid_utf8(escaped));
  FUZZ_CHECK(is_tame(escaped));
  FUZZ_CHECK(is_valid_utf8(escape_control(bytes)));

  const std::size_t ready = complete_prefix(bytes);
  FUZZ_CHECK(ready <= bytes.size() && bytes.size() - ready <= 3);

  for (const std::size_t bound : {std::size_t{3}, std::size_t{20}, std::size_t{200}}) {
    const std::string line = one_line(bytes, bound);
    FUZZ_CHECK(line.size() <= bound);
    FUZZ_CHECK(is_valid_utf8(line));
    FUZZ_CHECK(is_tame(line) && line.find_first_of("\n\t") == std::string::npos);
    const std::string_view cut = cut_text(text.text, bound);
    FUZZ_CHECK(cut.size() <= bound && is_valid_utf8(cut));
    FUZZ_CHECK(cut.size() + 3 >= std::min(bound, text.text.size()));
  }
}

void check_pieces(std::string_view bytes, std::string_view sizes) {
  const Text whole = to_text(bytes);
  const std::string tamed = escape_control(whole.text);
  TextStream stream;
  ControlEscaper escaper(CarriageReturn::kFinalState);
  std::string text;
  std::string escaped;
  for (std::size_t turn = 0; !bytes.empty(); ++turn) {
    const std::size_t wanted =
        sizes.empty() ? 1 : std::size_t{1} + static_cast<unsigned char>(sizes[turn % sizes.size()]);
    const std::size_t size = std::min(wanted, bytes.size());
    std::string piece;
    stream.feed(bytes.substr(0, size), piece);
    escaper.feed(piece, escaped);
    text += piece;
    bytes.remove_prefix(size);
  }
  std::string last;
  stream.finish(last);
  escaper.feed(last, escaped);
  escaper.finish(escaped);
  text += last;
  FUZZ_CHECK(text == whole.text);
  FUZZ_CHECK(stream.lossy() == whole.lossy);
  FUZZ_CHECK(escaped == tamed);
}

}  // namespace
}  // namespace casemate::json

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = casemate::fuzz::view(data, size);
  if (input.empty()) return 0;
  const std::size_t count = std::min<std::size_t>(static_cast<unsigned char>(input[0]), input.size() - 1);
  casemate::json::check_whole(input.substr(1 + count));
  casemate::json::check_pieces(input.substr(1 + count), input.substr(1, count));
  return 0;
}
