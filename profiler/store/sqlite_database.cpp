#include "profiler/store/sqlite_database.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "profiler/store/format.h"

namespace pipescope::store {
namespace {

std::string systemMessage(sqlite3* database) {
  const int number = sqlite3_system_errno(database);
  return number == 0 ? sqlite3_errmsg(database) : std::strerror(number);
}

// Restricts what a hostile file or a wrong statement can do.
void harden(sqlite3* database) {
  sqlite3_extended_result_codes(database, 1);
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, static_cast<int>(kMostBytes));
  sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_int64 noMapping = 0;  // If a mapped file were cut short, the program would end.
  sqlite3_file_control(database, "main", SQLITE_FCNTL_MMAP_SIZE, &noMapping);
}

}  // namespace

base::Error databaseError(sqlite3* database, int code, const std::string& path, std::string_view doing) {
  const auto damaged = [&] {
    return base::badInput(fmt::format("{} is damaged ({}: {}); use another copy, or run again.", path, doing,
                                      sqlite3_errmsg(database)));
  };
  switch (code & 0xff) {
    case SQLITE_FULL:
      return base::machineError(
          fmt::format("{}: no space is left on the disk ({}); {}. Free some space, or write to another disk, "
                      "and run again.",
                      path, doing, kKeptSoFar));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return base::ioError(fmt::format(
          "{} is locked by another program ({}); close that program or wait for it, and try again.", path,
          doing));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      return damaged();
    case SQLITE_TOOBIG:
      return base::refused(fmt::format("{}: a value is longer than {} MiB, which no profile holds ({}).",
                                       path, kMostBytes >> 20, doing));
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
      return base::ioError(
          fmt::format("{} cannot be opened ({}: {}); check the permissions of the file and its folder.", path,
                      doing, systemMessage(database)));
    case SQLITE_NOMEM:
      return base::machineError(fmt::format(
          "{}: this machine has not enough memory ({}); close other programs and run again.", path, doing));
    case SQLITE_IOERR:
      return base::ioError(
          fmt::format("{}: the system reported an error ({}: {}); check the disk and run again.", path, doing,
                      systemMessage(database)));
    default:
      // Our own statements are correct, so if reading fails in another way, the file is damaged.
      if (sqlite3_db_readonly(database, "main") == 1) return damaged();
      return base::internalError(
          fmt::format("{}: SQLite error {} ({}: {}).", path, code, doing, sqlite3_errmsg(database)));
  }
}

void Statement::bindText(int parameter, std::string_view text) {
  note(sqlite3_bind_text64(get(), parameter, text.empty() ? "" : text.data(), text.size(), nullptr,
                           SQLITE_UTF8));
}

void Statement::bindBlob(int parameter, std::string_view blob) {
  note(sqlite3_bind_blob64(get(), parameter, blob.empty() ? "" : blob.data(), blob.size(), nullptr));
}

base::Result<bool> Statement::step() {
  const int code = bindCode_ != SQLITE_OK ? bindCode_ : sqlite3_step(get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return databaseError(sqlite3_db_handle(get()), code, path_, doing_);
}

base::Status Statement::run() {
  const base::Result<bool> row = step();
  sqlite3_reset(get());
  bindCode_ = SQLITE_OK;
  if (!row.ok()) return row.error();
  return {};
}

std::string_view Statement::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(get(), column));
  return data == nullptr
             ? std::string_view()
             : std::string_view(data, static_cast<std::size_t>(sqlite3_column_bytes(get(), column)));
}

std::string_view Statement::blob(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(get(), column));
  return data == nullptr
             ? std::string_view()
             : std::string_view(data, static_cast<std::size_t>(sqlite3_column_bytes(get(), column)));
}

base::Result<bool> BlobReader::open(std::int64_t row, std::string doing) {
  doing_ = std::move(doing);
  int code = SQLITE_OK;
  if (blob_) {
    code = sqlite3_blob_reopen(blob_.get(), row);
    if (code != SQLITE_OK) blob_.reset();
  } else {
    sqlite3_blob* opened = nullptr;
    code = sqlite3_blob_open(database_, "main", table_, column_, row, 0, &opened);
    blob_.reset(opened);
  }
  if (code == SQLITE_OK) return true;
  if (code == SQLITE_ERROR) return false;
  return databaseError(database_, code, path_, doing_);
}

base::Status BlobReader::read(std::size_t offset, std::size_t bytes, std::string& out) const {
  if (offset > size() || bytes > size() - offset) return base::badInput("it ends too early");
  const std::size_t before = out.size();
  out.resize(before + bytes);
  const int code =
      sqlite3_blob_read(blob_.get(), out.data() + before, static_cast<int>(bytes), static_cast<int>(offset));
  if (code == SQLITE_OK) return {};
  return databaseError(database_, code, path_, doing_);
}

base::Result<Database> Database::open(const std::string& path, Mode mode,
                                      std::chrono::milliseconds patience) {
  const int flags = mode == Mode::readOnly    ? SQLITE_OPEN_READONLY
                    : mode == Mode::readWrite ? SQLITE_OPEN_READWRITE
                                              : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database;
  database.database_.reset(raw);
  database.path_ = path;
  if (raw == nullptr) return databaseError(nullptr, SQLITE_NOMEM, path, "opening");
  if (code != SQLITE_OK) return database.error(code, "opening");
  harden(raw);
  sqlite3_busy_timeout(raw, static_cast<int>(patience.count()));
  return database;
}

base::Status Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error(code, sql.substr(0, sql.find_first_of(" ;(")));
  return {};
}

base::Result<Statement> Database::prepare(const std::string& sql, const std::string& doing) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(handle(), sql.c_str(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) return error(code, doing);
  return Statement(statement, path_, doing);
}

base::Result<FileHeader> Database::header() const {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(handle(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  FileHeader header;
  if (file == nullptr || file->pMethods == nullptr) return header;
  std::array<unsigned char, 100> bytes{};
  const int code = file->pMethods->xRead(file, bytes.data(), static_cast<int>(bytes.size()), 0);
  if (code == SQLITE_IOERR_SHORT_READ) return header;
  if (code != SQLITE_OK) return error(code, "reading its header");
  const auto bigEndian = [&](std::size_t at) {
    return std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 |
           std::uint32_t{bytes[at + 2]} << 8 | std::uint32_t{bytes[at + 3]};
  };
  header.isSqlite = std::memcmp(bytes.data(), "SQLite format 3", 16) == 0;
  header.usesWal = bytes[18] > 1 || bytes[19] > 1;
  header.userVersion = bigEndian(60);
  header.applicationId = bigEndian(68);
  // The page count is valid only if the last writer has kept it up to date.
  const std::int64_t pageBytes = bytes[16] == 0 && bytes[17] == 1 ? 65536 : bytes[16] << 8 | bytes[17];
  if (bigEndian(24) == bigEndian(92)) header.bytes = pageBytes * bigEndian(28);
  return header;
}

std::int64_t Database::fileSize() const {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(handle(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  sqlite3_int64 size = 0;
  if (file == nullptr || file->pMethods == nullptr || file->pMethods->xFileSize(file, &size) != SQLITE_OK)
    return 0;
  return size;
}

bool Database::hasMoved() const {
  int moved = 0;
  sqlite3_file_control(handle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return moved != 0;
}

bool Database::needsRollback() const {
  const int code = sqlite3_extended_errcode(handle());
  return code == SQLITE_READONLY_ROLLBACK || code == SQLITE_READONLY_RECOVERY;
}

base::Error Database::error(int code, std::string_view doing) const {
  return databaseError(handle(), code, path_, doing);
}

}  // namespace pipescope::store
