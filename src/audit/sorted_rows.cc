#include "audit/sorted_rows.h"

#include <sqlite3.h>

#include <string>
#include <utility>

namespace casemate::audit {
namespace {

// Of memory before SQLite writes to the disk: 16 MiB. What it loses in a crash is of no use to anybody.
constexpr const char* kSchema = R"(
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -16384;
CREATE TABLE rows(key BLOB NOT NULL, place INTEGER NOT NULL, value BLOB NOT NULL);
BEGIN;
)";

}  // namespace

class SortedRows::Database {
 public:
  Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() {
    (void)sqlite3_finalize(insert_);   // its error was add()'s
    (void)sqlite3_close(connection_);  // no other statement outlives each()
  }

  Result<void> open() {
    TRY(check(sqlite3_open_v2("", &connection_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr)));
    TRY(check(sqlite3_exec(connection_, kSchema, nullptr, nullptr, nullptr)));
    return check(sqlite3_prepare_v2(connection_, "INSERT INTO rows VALUES(?, ?, ?)", -1, &insert_, nullptr));
  }

  Result<void> add(std::string_view key, std::uint64_t order, std::string_view value) {
    TRY(check(bind(1, key)));
    TRY(check(sqlite3_bind_int64(insert_, 2, static_cast<sqlite3_int64>(order))));
    TRY(check(bind(3, value)));
    const int code = sqlite3_step(insert_);
    (void)sqlite3_reset(insert_);  // its error was step()'s
    return code == SQLITE_DONE ? Result<void>{} : check(code);
  }

  Result<void> each(const Each& each) {
    sqlite3_stmt* select = nullptr;
    TRY(check(sqlite3_prepare_v2(connection_, "SELECT key, value FROM rows ORDER BY key, place, rowid", -1,
                                 &select, nullptr)));
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> owned(select, sqlite3_finalize);
    for (;;) {
      const int code = sqlite3_step(select);
      if (code == SQLITE_DONE) return {};
      if (code != SQLITE_ROW) return check(code);
      TRY(each(column(select, 0), column(select, 1)));
    }
  }

 private:
  int bind(int place, std::string_view bytes) {
    // A view without bytes may point nowhere, which would bind NULL.
    return sqlite3_bind_blob64(insert_, place, bytes.empty() ? "" : bytes.data(), bytes.size(),
                               SQLITE_STATIC);
  }
  static std::string_view column(sqlite3_stmt* select, int number) {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(select, number));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(select, number));
    return bytes == nullptr ? std::string_view() : std::string_view(bytes, size);
  }
  Result<void> check(int code) const {
    if (code == SQLITE_OK) return {};
    const std::string why = connection_ != nullptr ? sqlite3_errmsg(connection_) : sqlite3_errstr(code);
    return fail(ErrorCode::kUnavailable, "rows cannot be put in order on the disk: " + why);
  }

  sqlite3* connection_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
};

SortedRows::SortedRows(std::unique_ptr<Database> database) : database_(std::move(database)) {}
SortedRows::SortedRows(SortedRows&&) noexcept = default;
SortedRows& SortedRows::operator=(SortedRows&&) noexcept = default;
SortedRows::~SortedRows() = default;

Result<SortedRows> SortedRows::make() {
  auto database = std::make_unique<Database>();
  TRY(database->open());
  return SortedRows(std::move(database));
}

Result<void> SortedRows::add(std::string_view key, std::uint64_t order, std::string_view value) {
  return database_->add(key, order, value);
}

Result<void> SortedRows::each(const Each& each) { return database_->each(each); }

}  // namespace casemate::audit
