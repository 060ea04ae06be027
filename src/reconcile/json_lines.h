// Lines that somebody else wrote, in bounded memory, whatever is in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sys/fd.h"

namespace casemate::reconcile {

// One line of a file.
struct SourceLine {
  std::string where;      // "effects.jsonl:17"
  std::string_view text;  // without its line feed; for the call. Empty when it is too long
  std::string fault;      // it is too long to be looked at, or the file ends in the middle of it
};
using EachLine = std::function<Result<void>(const SourceLine&)>;

// Splits bytes into lines, of which it holds at most `line_max`. One thread.
class LineSplitter {
 public:
  LineSplitter(std::string name, std::size_t line_max) : name_(std::move(name)), line_max_(line_max) {}
  // Calls `each` for every line that ends in these bytes. Stops at its first error.
  Result<void> feed(std::string_view bytes, const EachLine& each);
  // For what is left without a line feed, if anything.
  Result<void> finish(const EachLine& each);

 private:
  Result<void> give(std::string_view text, const char* fault, const EachLine& each);

  std::string name_;
  std::size_t line_max_;
  std::uint64_t number_ = 0;
  std::string held_;
  bool too_long_ = false;
};

// Every line of a regular file, empty ones left out.
// Errors: not_found, invalid (no regular file), system; and the first of `each`.
Result<void> each_line(const std::string& file, std::size_t line_max, const EachLine& each);

}  // namespace casemate::reconcile
