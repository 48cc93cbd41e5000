#include "profiler/store/reader_database.h"

#include <fmt/format.h>

#include <set>
#include <string_view>

#include "profiler/base/version.h"
#include "profiler/store/format.h"
#include "profiler/store/profile_path.h"

namespace pipescope::store {
namespace {

/// Readers may read the known tables and nothing else.
int authorizeReader(void*, int action, const char* first, const char*, const char* schema, const char*) {
  static const std::set<std::string_view> readable = [] {
    std::set<std::string_view> names = {"sqlite_schema", "sqlite_master"};
    for (const KnownTable& table : knownTables()) names.insert(table.name);
    return names;
  }();
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_TRANSACTION:
      return SQLITE_OK;
    case SQLITE_READ:
      return readable.contains(first) && (schema == nullptr || std::string_view(schema) == "main")
                 ? SQLITE_OK
                 : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

base::Status checkReadable(const std::string& path, const FileHeader& header) {
  if (!header.isSqlite) {
    return base::badInput(
        path + " is not a profile: it is not an SQLite database. Name a profile.pop of pipescope.");
  }
  if (header.applicationId != kApplicationId) {
    return base::badInput(fmt::format(
        "{} is an SQLite database, but not a Pipescope profile. If it is a profile.pop of "
        "Graphcore's tools: the layout of that file is not published, so pipescope cannot read it; "
        "open it with PopVision, or run the model with pipescope.",
        path));
  }
  if (!isRead(header.userVersion)) {
    return base::badInput(fmt::format(
        "{} is a profile of format {}, and pipescope {} reads formats {} to {}.x only. Open it with the "
        "pipescope that wrote it, or make it anew with `pipescope run` or `pipescope import`.",
        path, formatName(header.userVersion), base::version(), formatName(kOldestReadVersion), kFormatMajor));
  }
  if (header.usesWal) {
    return base::badInput(path +
                          " is in SQLite's WAL mode, which pipescope never uses: another program has changed "
                          "the file, so it is not read.");
  }
  return {};
}

}  // namespace

base::Result<Database> openForReading(const std::string& path, std::chrono::milliseconds patience) {
  PIPESCOPE_TRY(checkPlainFile(path));
  PIPESCOPE_ASSIGN(Database database, Database::open(path, Database::Mode::readOnly, patience));
  PIPESCOPE_ASSIGN(const FileHeader header, database.header());
  PIPESCOPE_TRY(checkReadable(path, header));
  PIPESCOPE_TRY(database.execute("PRAGMA cell_size_check = ON"));
  sqlite3_set_authorizer(database.handle(), &authorizeReader, nullptr);
  return database;
}

}  // namespace pipescope::store
