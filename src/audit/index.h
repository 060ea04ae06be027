// Where in the segments the records of a run, a capability, a verdict or a time are: a SQLite database.
//
// It is made from the segments, which are the truth, and can be removed at any time. What it has is the
// beginning of each chain, as far as it was brought up to date; verify holds every row against its record.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "audit/chain_check.h"
#include "audit/line.h"
#include "audit/segment.h"
#include "base/result.h"
#include "sys/fd.h"

namespace casemate::audit {

// One record. Texts are empty where the record has no such member.
struct IndexRow {
  std::uint64_t sequence = 0;
  Place place;
  std::uint64_t size = 0;  // bytes of its line, without the line feed
  Time at;
  std::string digest;
  std::string kind;
  std::string run;
  std::string capability;
  std::string verdict;
  bool operator==(const IndexRow&) const = default;
};

// The row of the record that the check has just passed.
IndexRow row_of(const ChainCheck& check, const Place& place, std::size_t size);

// What to look for. What is empty or not set matches everything.
struct Query {
  std::string run = {};
  std::string capability = {};
  std::string verdict = {};
  std::optional<Time> from = {};  // inclusive
  std::optional<Time> to = {};    // exclusive
};

struct IndexedWriter {
  std::string name;
  std::string instance;
  std::uint64_t last = 0;  // the number of the last record that the index has
};

// One thread. Several processes may have it open; one of them at a time brings it up to date.
// Errors of all: unavailable (it cannot be read, written or waited for), invalid (it is damaged, or of
// another version: remove it).
class Index {
 public:
  enum class Mode { kRead, kWrite };
  // Errors: also not_found (kRead, and there is none).
  static Result<Index> open(const std::string& path, Mode mode);
  Index(Index&&) noexcept;
  Index& operator=(Index&&) noexcept;
  ~Index();

  Result<std::vector<IndexedWriter>> writers();
  // The last row of a chain; nothing when it has none.
  Result<std::optional<IndexRow>> last(const std::string& instance);
  // Rows behind `after` up to `last`, in order, at most `most`.
  Result<std::vector<IndexRow>> rows(const std::string& instance, std::uint64_t after, std::uint64_t last,
                                     std::size_t most);

  // Adds rows that follow the last one of that chain, all or none. What another process has added stays.
  Result<void> add(const std::string& name, const std::string& instance, const std::vector<IndexRow>& rows);

  // Calls `each` with the name of its writer and every row that matches, in the order of time, then of names
  // and numbers. Stops at its first error and answers with it.
  using Each = std::function<Result<void>(const std::string& writer, const IndexRow& row)>;
  Result<void> find(const Query& query, const Each& each);

 private:
  class Database;
  explicit Index(std::unique_ptr<Database> database);
  std::unique_ptr<Database> database_;
};

// Takes in what the chains have since the last time. Answers how many records that were.
// Errors: also invalid (a chain is at fault, or the index says something else than its last record).
Result<std::uint64_t> update_index(Index& index, const sys::Fd& audit);

}  // namespace casemate::audit
