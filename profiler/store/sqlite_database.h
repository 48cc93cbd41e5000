#pragma once
// Owners of SQLite connections and statements. Failures become sentences that name the file.
#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "profiler/base/result.h"

namespace pipescope::store {

/// Words of databaseError() for a full disk. The first commit of a file keeps nothing.
inline constexpr std::string_view kKeptSoFar = "what was committed before is kept";
/// Returns the error that a connection reports, as a sentence. `doing` names the action, for example "adding
/// rows".
base::Error databaseError(sqlite3* database, int code, const std::string& path, std::string_view doing);

/// Parameters count from 1, columns from 0. Texts and blobs must live until the next step() or reset.
class Statement {
 public:
  Statement(sqlite3_stmt* statement, std::string path, std::string doing)
      : statement_(statement), path_(std::move(path)), doing_(std::move(doing)) {}

  void bind(int parameter, std::int64_t number) { note(sqlite3_bind_int64(get(), parameter, number)); }
  void bindReal(int parameter, double number) { note(sqlite3_bind_double(get(), parameter, number)); }
  void bindText(int parameter, std::string_view text);
  void bindBlob(int parameter, std::string_view blob);

  /// Returns true if there is a row to read, false at the end.
  base::Result<bool> step();
  /// Runs a statement without rows to its end and prepares it for the next binding.
  base::Status run();

  int columns() const { return sqlite3_column_count(get()); }
  int type(int column) const { return sqlite3_column_type(get(), column); }
  std::int64_t integer(int column) const { return sqlite3_column_int64(get(), column); }
  double real(int column) const { return sqlite3_column_double(get(), column); }
  std::string_view text(int column) const;
  std::string_view blob(int column) const;

 private:
  sqlite3_stmt* get() const { return statement_.get(); }
  void note(int code) {
    if (bindCode_ == SQLITE_OK) bindCode_ = code;
  }
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::string path_, doing_;
  int bindCode_ = SQLITE_OK;  // code of the first binding that failed
};

/// Reads parts of the blobs of one column. While a blob is open, the read transaction continues.
class BlobReader {
 public:
  /// The database must outlive the reader.
  BlobReader(sqlite3* database, std::string path, const char* table, const char* column)
      : database_(database), path_(std::move(path)), table_(table), column_(column) {}
  /// Opens the blob in the row with this id. Returns false if there is no such row or no blob in it. `doing`
  /// is for error sentences.
  base::Result<bool> open(std::int64_t row, std::string doing);
  std::size_t size() const { return static_cast<std::size_t>(sqlite3_blob_bytes(blob_.get())); }
  /// Appends bytes of the open blob to `out`. Error: bytes behind its end.
  base::Status read(std::size_t offset, std::size_t bytes, std::string& out) const;
  /// Ends the transaction.
  void close() { blob_.reset(); }

 private:
  struct Close {
    void operator()(sqlite3_blob* blob) const { sqlite3_blob_close(blob); }
  };
  sqlite3* database_;
  std::string path_;
  const char *table_, *column_;
  std::string doing_;
  std::unique_ptr<sqlite3_blob, Close> blob_;
};

/// The parts of the first hundred bytes of a database file that matter here.
struct FileHeader {
  bool isSqlite = false;
  bool usesWal = false;
  std::uint32_t applicationId = 0;
  std::uint32_t userVersion = 0;
  std::int64_t bytes = 0;  ///< length that the file should have; 0 if the header does not say
};

class Database {
 public:
  enum class Mode { readOnly, readWrite, create };

  /// `path` must be absolute. SQLite waits at most `patience` for the locks of other programs.
  static base::Result<Database> open(const std::string& path, Mode mode, std::chrono::milliseconds patience);

  base::Status execute(const std::string& sql);
  /// `doing` is for error sentences: "adding rows".
  base::Result<Statement> prepare(const std::string& sql, const std::string& doing);

  /// Reads through the file handle of SQLite. Opening the file a second time in this process and closing it
  /// would release the locks of other connections of the process (POSIX record locks).
  base::Result<FileHeader> header() const;
  std::int64_t fileSize() const;
  /// True if the path no longer names the file that is open.
  bool hasMoved() const;
  /// True outside transactions.
  bool autocommit() const { return sqlite3_get_autocommit(database_.get()) != 0; }
  /// True if the last call failed because the journal of an interrupted writer must be rolled back first.
  bool needsRollback() const;

  base::Error error(int code, std::string_view doing) const;
  sqlite3* handle() const { return database_.get(); }
  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };
  std::unique_ptr<sqlite3, Close> database_;
  std::string path_;
};

}  // namespace pipescope::store
