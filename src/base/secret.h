// Text that must not be printed.
#pragma once

#include <string>
#include <utility>

namespace casemate {

// Nothing formats, logs or compares it; reveal() names each place where it is used. Not copied by accident.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  Secret(Secret&&) = default;
  Secret& operator=(Secret&&) = default;
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret() = default;

  bool empty() const { return text_.empty(); }
  const std::string& reveal() const { return text_; }

 private:
  std::string text_;
};

}  // namespace casemate
