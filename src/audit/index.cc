#include "audit/index.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/check.h"

namespace casemate::audit {
namespace {

constexpr int kVersion = 1;
constexpr int kBusyMs = 10'000;

// Rows are in the order of their chain, so that they are added at the end and read in turn.
constexpr const char* kSchema = R"(
CREATE TABLE writers(id INTEGER PRIMARY KEY, name TEXT NOT NULL, instance TEXT NOT NULL UNIQUE);
CREATE TABLE records(writer INTEGER NOT NULL, seq INTEGER NOT NULL, segment INTEGER NOT NULL,
  offset INTEGER NOT NULL, size INTEGER NOT NULL, at INTEGER NOT NULL, digest TEXT NOT NULL, kind TEXT NOT NULL,
  run TEXT NOT NULL, capability TEXT NOT NULL, verdict TEXT NOT NULL, PRIMARY KEY(writer, seq)) WITHOUT ROWID;
CREATE INDEX by_run ON records(run) WHERE run <> '';
CREATE INDEX by_capability ON records(capability, at) WHERE capability <> '';
CREATE INDEX by_verdict ON records(verdict, at) WHERE verdict <> '';
CREATE INDEX by_time ON records(at);
PRAGMA user_version = 1;
)";
constexpr const char* kColumns = "seq, segment, offset, size, at, digest, kind, run, capability, verdict";
constexpr int kColumnCount = 10;

tl::unexpected<Error> failed(sqlite3* database, int code) {
  const std::string why = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code);
  const int basic = code & 0xff;
  if (basic == SQLITE_CORRUPT || basic == SQLITE_NOTADB || basic == SQLITE_ERROR || basic == SQLITE_SCHEMA)
    return fail(ErrorCode::kInvalid, "the index is damaged (" + why + "): remove it, and it is made again");
  return fail(ErrorCode::kUnavailable, "the index: " + why);
}

// One statement. Errors are kept until step().
class Statement {
 public:
  Statement(sqlite3* database, const std::string& sql) : database_(database) {
    code_ = sqlite3_prepare_v2(database, sql.c_str(), static_cast<int>(sql.size()), &statement_, nullptr);
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { (void)sqlite3_finalize(statement_); }  // its error was step()'s

  Statement& bind(std::uint64_t value) {
    if (code_ == SQLITE_OK)
      code_ = sqlite3_bind_int64(statement_, ++bound_, static_cast<sqlite3_int64>(value));
    return *this;
  }
  Statement& bind(Time at) { return bind(static_cast<std::uint64_t>(at.time_since_epoch().count())); }
  Statement& bind(const std::string& text) {
    if (code_ == SQLITE_OK) {
      code_ = sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()),
                                SQLITE_TRANSIENT);
    }
    return *this;
  }
  // True: there is a row.
  Result<bool> step() {
    if (code_ == SQLITE_OK) {
      const int code = sqlite3_step(statement_);
      if (code == SQLITE_ROW) return true;
      if (code == SQLITE_DONE) return false;
      code_ = code;
    }
    return failed(database_, code_);
  }
  void reset() {
    (void)sqlite3_reset(statement_);  // its error was step()'s
    bound_ = 0;
  }

  std::uint64_t number(int column) const {
    return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column));
  }
  std::string text(int column) const {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    return bytes == nullptr
               ? std::string()
               : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  }
  // kColumns from `first` on.
  IndexRow row(int first = 0) const {
    IndexRow row;
    row.sequence = number(first);
    row.place = {static_cast<std::uint32_t>(number(first + 1)), number(first + 2)};
    row.size = number(first + 3);
    row.at = Time(microseconds(static_cast<microseconds::rep>(number(first + 4))));
    row.digest = text(first + 5);
    row.kind = text(first + 6);
    row.run = text(first + 7);
    row.capability = text(first + 8);
    row.verdict = text(first + 9);
    return row;
  }

 private:
  sqlite3* database_;
  sqlite3_stmt* statement_ = nullptr;
  int code_ = SQLITE_OK;
  int bound_ = 0;
};

}  // namespace

// The connection.
class Index::Database {
 public:
  Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { (void)sqlite3_close(connection_); }  // no statement outlives the call that made it

  sqlite3* get() const { return connection_; }

  Result<void> open(const std::string& path, Mode mode) {
    const int flags =
        mode == Mode::kWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    const int code = sqlite3_open_v2(path.c_str(), &connection_, flags | SQLITE_OPEN_NOFOLLOW, nullptr);
    if (code != SQLITE_OK) return failed(connection_, code);
    (void)sqlite3_busy_timeout(connection_, kBusyMs);  // it cannot fail
    return {};
  }
  Result<void> run(const char* sql) {
    const int code = sqlite3_exec(connection_, sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return failed(connection_, code);
    return {};
  }
  Result<std::uint64_t> version() {
    Statement statement(connection_, "PRAGMA user_version");
    const bool there = TRY(statement.step());
    return there ? statement.number(0) : 0;
  }
  // A writer's number in the database, or nothing.
  Result<std::optional<std::uint64_t>> writer(const std::string& instance) {
    Statement statement(connection_, "SELECT id FROM writers WHERE instance = ?");
    const bool there = TRY(statement.bind(instance).step());
    return there ? std::optional(statement.number(0)) : std::nullopt;
  }

 private:
  sqlite3* connection_ = nullptr;
};

Index::Index(std::unique_ptr<Database> database) : database_(std::move(database)) {}
Index::Index(Index&&) noexcept = default;
Index& Index::operator=(Index&&) noexcept = default;
Index::~Index() = default;

Result<Index> Index::open(const std::string& path, Mode mode) {
  if (mode == Mode::kRead) {
    if (::access(path.c_str(), F_OK) < 0 && errno == ENOENT)
      return fail(ErrorCode::kNotFound, "there is no index");
  } else {
    // SQLite would make it readable for all.
    const sys::Fd made(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!made) return fail(ErrorCode::kUnavailable, fail_errno("the index").value().message);
  }
  auto database = std::make_unique<Database>();
  TRY(database->open(path, mode));
  std::uint64_t version = TRY(database->version());
  if (version == 0 && mode == Mode::kWrite) {
    TRY(database->run("BEGIN IMMEDIATE"));
    version = TRY(database->version());  // another process may have been quicker
    if (version == 0) TRY(database->run(kSchema));
    TRY(database->run("COMMIT"));
    version = TRY(database->version());
  }
  if (version == 0) return fail(ErrorCode::kNotFound, "the index is empty");
  if (version != kVersion)
    return fail(ErrorCode::kInvalid, "the index has another version: remove it, and it is made again");
  return Index(std::move(database));
}

Result<std::vector<IndexedWriter>> Index::writers() {
  std::vector<IndexedWriter> found;
  Statement statement(
      database_->get(),
      "SELECT name, instance, (SELECT max(seq) FROM records WHERE writer = id) FROM writers ORDER BY id");
  while (TRY(statement.step())) found.push_back({statement.text(0), statement.text(1), statement.number(2)});
  return found;
}

Result<std::optional<IndexRow>> Index::last(const std::string& instance) {
  Statement statement(database_->get(),
                      std::string("SELECT ") + kColumns +
                          " FROM records WHERE writer = (SELECT id FROM writers WHERE instance = ?)"
                          " ORDER BY seq DESC LIMIT 1");
  const bool there = TRY(statement.bind(instance).step());
  return there ? std::optional(statement.row()) : std::nullopt;
}

Result<std::vector<IndexRow>> Index::rows(const std::string& instance, std::uint64_t after,
                                          std::uint64_t last, std::size_t most) {
  std::vector<IndexRow> found;
  Statement statement(database_->get(),
                      std::string("SELECT ") + kColumns +
                          " FROM records WHERE writer = (SELECT id FROM writers WHERE instance = ?)"
                          " AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?");
  statement.bind(instance).bind(after).bind(last).bind(std::uint64_t{most});
  while (TRY(statement.step())) found.push_back(statement.row());
  return found;
}

Result<void> Index::add(const std::string& name, const std::string& instance,
                        const std::vector<IndexRow>& rows) {
  TRY(database_->run("BEGIN IMMEDIATE"));
  const auto added = [&]() -> Result<void> {
    auto writer = TRY(database_->writer(instance));
    if (!writer) {
      Statement statement(database_->get(), "INSERT INTO writers(name, instance) VALUES(?, ?)");
      TRY(statement.bind(name).bind(instance).step());
      writer = TRY(database_->writer(instance));
    }
    CHECK(writer.has_value());
    Statement statement(database_->get(), std::string("INSERT OR IGNORE INTO records(writer, ") + kColumns +
                                              ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    for (const IndexRow& row : rows) {
      statement.bind(*writer)
          .bind(row.sequence)
          .bind(std::uint64_t{row.place.segment})
          .bind(row.place.offset);
      statement.bind(row.size).bind(row.at).bind(row.digest).bind(row.kind).bind(row.run);
      TRY(statement.bind(row.capability).bind(row.verdict).step());
      statement.reset();
    }
    return database_->run("COMMIT");
  }();
  if (!added) (void)database_->run("ROLLBACK");  // what failed is what is answered
  return added;
}

Result<void> Index::find(const Query& query, const Each& each) {
  std::string sql =
      std::string("SELECT ") + kColumns + ", name FROM records JOIN writers ON writer = id WHERE true";
  if (!query.run.empty()) sql += " AND run = ? AND run <> ''";
  if (!query.capability.empty()) sql += " AND capability = ? AND capability <> ''";
  if (!query.verdict.empty()) sql += " AND verdict = ? AND verdict <> ''";
  if (query.from) sql += " AND at >= ?";
  if (query.to) sql += " AND at < ?";
  Statement statement(database_->get(), sql + " ORDER BY at, name, seq");
  for (const std::string* text : {&query.run, &query.capability, &query.verdict}) {
    if (!text->empty()) statement.bind(*text);
  }
  if (query.from) statement.bind(*query.from);
  if (query.to) statement.bind(*query.to);
  while (TRY(statement.step())) TRY(each(statement.text(kColumnCount), statement.row()));
  return {};
}

}  // namespace casemate::audit
