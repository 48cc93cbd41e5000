#include "profiler/store/notes.h"

#include "profiler/store/batch.h"
#include "profiler/store/blocks/row_columns.h"
#include "profiler/store/format.h"
#include "profiler/store/lock_patience.h"
#include "profiler/store/profile_reader.h"
#include "profiler/store/writer_lock.h"

namespace pipescope::store {
namespace {

constexpr const char* kDoing = "writing notes";

base::Status replaceRows(Database& database, const std::vector<model::Note>& notes) {
  constexpr auto kNumber = static_cast<std::int64_t>(model::tableIndexOf<model::Note>());
  const model::Table& table = model::tables()[static_cast<std::size_t>(kNumber)];
  PIPESCOPE_TRY(database.execute("DELETE FROM \"note\""));
  PIPESCOPE_ASSIGN(Statement insert, database.prepare(insertStatement(table), kDoing));
  TableTotals totals;
  Checksum checksum;
  for (const model::Note& note : notes) {
    bindRow(insert, note);
    PIPESCOPE_TRY(insert.run());
    addToChecksum(note, checksum);
    ++totals.rows;
  }
  totals.rowsCrc32 = notes.empty() ? 0 : checksum.value();
  PIPESCOPE_ASSIGN(
      Statement update,
      database.prepare("UPDATE \"store_table\" SET \"rows\" = ?1, \"blocks\" = 0, \"rows_crc32\" = ?2, "
                       "\"crc32\" = ?3 WHERE \"number\" = ?4",
                       kDoing));
  update.bind(1, totals.rows);
  update.bind(2, totals.rowsCrc32);
  update.bind(3, checksumOf(kNumber, table.name, totals));
  update.bind(4, kNumber);
  return update.run();
}

}  // namespace

base::Status writeNotes(const std::filesystem::path& path, std::vector<model::Note> notes) {
  std::string absolute;
  {
    // The checks of the reader come first, so that a connection for writing is only opened on a real profile.
    PIPESCOPE_ASSIGN(const std::shared_ptr<ProfileReader> reader, ProfileReader::open(path));
    PIPESCOPE_ASSIGN(const model::SourceState state, reader->state());
    if (state.state == model::ProfileState::running)
      return base::ioError(reader->path() + " is still being written; add notes when the run has ended.");
    absolute = reader->path();
  }
  PIPESCOPE_ASSIGN(const WriterLock lock, WriterLock::acquire(absolute));
  for (std::size_t i = 0; i < notes.size(); ++i) notes[i].id = static_cast<std::int64_t>(i);
  PIPESCOPE_ASSIGN(Database database, Database::open(absolute, Database::Mode::readWrite, kLockPatience));
  PIPESCOPE_TRY(database.execute("BEGIN IMMEDIATE"));
  base::Status status = replaceRows(database, notes);
  if (status.ok()) status = database.execute("COMMIT");
  if (!database.autocommit()) static_cast<void>(database.execute("ROLLBACK"));
  return status;
}

}  // namespace pipescope::store
