// Where the records of boxes are kept: one file of JSON lines, oldest first, shared by all instances of one
// user. At kRecordFileMax it becomes FILE.1, in the place of the one before, and a new one is begun; so what
// is kept is bounded, and what was written last is always there.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "outcome/box_record.h"

namespace casemate {

inline constexpr Bytes kRecordFileMax = mib(4);

// $CASEMATE_RECORDS, an absolute path; else /var/lib/casemate/records.jsonl for root, and for others below
// $XDG_STATE_HOME or ~/.local/state.
// Errors: not_found (none of these is set).
Result<std::string> usual_record_file();

class RecordStore {
 public:
  // `file`: empty is the usual one. Nothing is opened before there is something to add.
  explicit RecordStore(std::string file) : file_(std::move(file)) {}

  // Adds them at the end, each as one line, whole or not at all. Makes the file, mode 0600, and its
  // directories. Errors: not_found, system (the message names the file).
  Result<void> add(const std::vector<outcome::BoxRecord>& records);

 private:
  std::string file_;
};

}  // namespace casemate
