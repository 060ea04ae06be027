// json::Writer, driven by any bytes: what it writes is JSON, and says what was written.
//
// Input: the style, then operations of one byte and what they need. An operation that the contract
// forbids where it stands is passed over, so that every input makes a whole document.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz.h"
#include "json/utf8.h"
#include "json/writer.h"
#include "json_checker.h"

namespace casemate::json {
namespace {

class Driver {
 public:
  explicit Driver(std::string_view input)
      : input_(input), writer_(byte() % 2 == 0 ? Writer::Style::kCompact : Writer::Style::kPretty) {}

  void run() {
    do {
      step(byte());
    } while (!input_.empty() && !(objects_.empty()));
    while (!objects_.empty()) end();
    const std::string text = std::move(writer_).take();
    fuzz::JsonChecker checker(text);
    FUZZ_CHECK(checker.check());
    FUZZ_CHECK(checker.strings() == strings_);
    FUZZ_CHECK(checker.numbers().size() == numbers_.size());
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      FUZZ_CHECK(std::strtod(checker.numbers()[i].c_str(), nullptr) == numbers_[i]);
    }
  }

 private:
  unsigned byte() {
    if (input_.empty()) return 0;
    const auto value = static_cast<unsigned char>(input_.front());
    input_.remove_prefix(1);
    return value;
  }

  std::string_view bytes() {
    const std::size_t size = std::min<std::size_t>(byte(), input_.size());
    const std::string_view taken = input_.substr(0, size);
    input_.remove_prefix(size);
    strings_.push_back(to_text(taken).text);
    return taken;
  }

  std::uint64_t word() {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | byte();
    return value;
  }

  void end() {
    if (objects_.back()) {
      writer_.end_object();
    } else {
      writer_.end_array();
    }
    objects_.pop_back();
  }

  void step(unsigned operation) {
    if (operation % 8 == 0 && !objects_.empty()) return end();
    if (!objects_.empty() && objects_.back()) writer_.key(bytes());
    const bool deepest = objects_.size() == kWriterDepthMax;
    switch (operation % 8) {
      case 1:
      case 2:
        if (deepest) {
          writer_.null();
        } else if (operation % 8 == 1) {
          writer_.begin_object();
          objects_.push_back(true);
        } else {
          writer_.begin_array();
          objects_.push_back(false);
        }
        return;
      case 3: writer_.value(bytes()); return;
      case 4: number(std::bit_cast<double>(word())); return;
      case 5: number(static_cast<std::int64_t>(word())); return;
      case 6: number(word()); return;
      case 7: writer_.value(operation >= 128); return;
      default: writer_.null(); return;
    }
  }

  template <typename T>
  void number(T value) {
    if (!std::isfinite(static_cast<double>(value))) {
      writer_.null();
      return;
    }
    writer_.value(value);
    numbers_.push_back(static_cast<double>(value));
  }

  std::string_view input_;
  Writer writer_;
  std::vector<bool> objects_;  // for each open level, whether it is an object
  std::vector<std::string> strings_;
  std::vector<double> numbers_;
};

}  // namespace
}  // namespace casemate::json

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  casemate::json::Driver(casemate::fuzz::view(data, size)).run();
  return 0;
}
