#include "profiler/export/sqlite.h"

#include <fmt/format.h>

#include <chrono>
#include <type_traits>

#include "profiler/store/batch.h"
#include "profiler/store/blocks/row_columns.h"
#include "profiler/store/format.h"
#include "profiler/store/profile_path.h"
#include "profiler/store/sqlite_database.h"

namespace pipescope::exporting {
namespace {

namespace fs = std::filesystem;
using store::Database;
using store::Statement;

/// An SQL expression that gives the name of an enumeration's number.
template <class Enum>
std::string nameExpression(const char* column) {
  std::string cases;
  const std::string unknown = "unknown (";
  for (int i = 0; i <= 0xFF; ++i) {
    const std::string name = model::toString(static_cast<Enum>(i));
    if (name.starts_with(unknown)) break;
    cases += fmt::format(" WHEN {} THEN '{}'", i, name);
  }
  return fmt::format("CASE \"{0}\"{1} ELSE '{2}' || \"{0}\" || ')' END", column, cases, unknown);
}

/// Declarations of the columns that name the numbers of enumerations. SQLite computes them when somebody
/// reads them, so they take no room in the file.
template <class Row>
std::string nameColumns() {
  std::string columns;
  const Row row;
  Row::fields(row, [&](const char* name, const auto& field, const char*, const char*) {
    using Field = std::remove_cvref_t<decltype(field)>;
    if constexpr (std::is_enum_v<Field>)
      columns += fmt::format(", \"{}_name\" TEXT GENERATED ALWAYS AS ({}) VIRTUAL", name,
                             nameExpression<Field>(name));
  });
  return columns;
}

template <class Row>
base::Status exportTable(Database& database, const model::ProfileSource& source, base::Progress& progress) {
  const model::Table& table = model::tables()[model::tableIndexOf<Row>()];
  std::string columns;
  bool hasStart = false;
  for (const model::Column& column : table.columns) {
    const char* type = column.type == model::ColumnType::integer ? "INTEGER"
                       : column.type == model::ColumnType::real  ? "REAL"
                                                                 : "TEXT";
    columns += fmt::format("{}\"{}\" {}", columns.empty() ? "" : ", ", column.name, type);
    hasStart = hasStart || std::string_view(column.name) == "start";
  }
  PIPESCOPE_TRY(
      database.execute(fmt::format("CREATE TABLE \"{}\"({}{})", table.name, columns, nameColumns<Row>())));
  PIPESCOPE_ASSIGN(Statement insert, database.prepare(store::insertStatement(table), "exporting"));
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<Row>());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (progress.cancelled()) return base::cancelled("Exporting was stopped.");
    PIPESCOPE_ASSIGN(const model::Rows<Row> rows, source.block<Row>(b));
    for (const Row& row : *rows) {
      store::bindRow(insert, row);
      PIPESCOPE_TRY(insert.run());
    }
  }
  if (!hasStart) return {};
  return database.execute(fmt::format("CREATE INDEX \"{0}_start\" ON \"{0}\"(\"start\")", table.name));
}

base::Status exportAll(Database& database, const model::ProfileSource& source, base::Progress& progress) {
  PIPESCOPE_TRY(database.execute("PRAGMA synchronous = OFF"));
  PIPESCOPE_TRY(database.execute(fmt::format("PRAGMA application_id = {}", base::kExportId)));
  PIPESCOPE_TRY(database.execute("BEGIN"));
  base::Status status;
  model::forEachRowType([&]<class Row>() {
    if (status.ok()) status = exportTable<Row>(database, source, progress);
  });
  PIPESCOPE_TRY(status);
  return database.execute("COMMIT");
}

base::Status writeDatabase(const fs::path& path, const model::ProfileSource& source,
                           base::Progress& progress) {
  PIPESCOPE_ASSIGN(Database database,
                   Database::open(path.string(), Database::Mode::create, std::chrono::milliseconds(0)));
  // If exporting fails, the file is removed, so that its journal need not be on the disk.
  PIPESCOPE_TRY(database.execute("PRAGMA journal_mode = MEMORY"));
  return exportAll(database, source, progress);
}

}  // namespace

base::Status exportSqlite(const model::ProfileSource& source, const fs::path& path, base::Progress& progress,
                          const base::OutputRules& rules) {
  PIPESCOPE_TRY(base::checkOutput(path, base::FileKind::database, rules));
  PIPESCOPE_ASSIGN(base::PendingFile file, base::PendingFile::create(path));
  if (const base::Status written = writeDatabase(file.temporary(), source, progress); !written.ok())
    return store::aboutNamedFile(written.error(), file.temporary(), path);
  return file.publish();
}

}  // namespace pipescope::exporting
