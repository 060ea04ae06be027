// Rows that are put in order on the disk: as many as there are, in bounded memory. A SQLite database without
// a name, which goes when it is closed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/result.h"

namespace casemate::audit {

// One thread. Add all rows, then go through them.
// Errors of all: unavailable (no room, or nowhere to put it: SQLite looks at SQLITE_TMPDIR, /var/tmp, /tmp).
class SortedRows {
 public:
  static Result<SortedRows> make();
  SortedRows(SortedRows&&) noexcept;
  SortedRows& operator=(SortedRows&&) noexcept;
  ~SortedRows();

  Result<void> add(std::string_view key, std::uint64_t order, std::string_view value);

  // The views hold for the call.
  using Each = std::function<Result<void>(std::string_view key, std::string_view value)>;
  // By key as bytes, then by order, then as they were added. Stops at the first error of `each`.
  Result<void> each(const Each& each);

 private:
  class Database;
  explicit SortedRows(std::unique_ptr<Database> database);
  std::unique_ptr<Database> database_;
};

}  // namespace casemate::audit
