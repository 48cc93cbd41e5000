#include "profiler/store/end_profile.h"

#include "profiler/store/batch.h"
#include "profiler/store/lock_patience.h"
#include "profiler/store/profile_reader.h"
#include "profiler/store/snapshot.h"
#include "profiler/store/writer_lock.h"

namespace pipescope::store {
namespace {

base::Status writeEnd(Database& database, const Snapshot& snapshot, const std::string& reason) {
  Totals totals;
  totals.commits = snapshot.commits;
  totals.state = model::ProfileState::incomplete;
  totals.reason = reason;
  totals.writer = snapshot.writer;
  PIPESCOPE_TRY(database.execute("BEGIN IMMEDIATE"));
  base::Status status = writeState(database, totals);
  if (status.ok()) status = database.execute("COMMIT");
  if (!database.autocommit()) static_cast<void>(database.execute("ROLLBACK"));
  return status;
}

}  // namespace

base::Result<bool> endProfile(const std::filesystem::path& path, const std::string& reason) {
  std::string absolute;
  {
    // The checks of the reader come first, so that a connection for writing is only opened on a real profile.
    PIPESCOPE_ASSIGN(const std::shared_ptr<ProfileReader> reader, ProfileReader::open(path));
    absolute = reader->path();
  }
  PIPESCOPE_ASSIGN(const WriterLock lock, WriterLock::acquire(absolute));
  PIPESCOPE_ASSIGN(Database database, Database::open(absolute, Database::Mode::readWrite, kLockPatience));
  PIPESCOPE_ASSIGN(const Snapshot snapshot, loadSnapshot(database, nullptr));
  if (snapshot.state.state != model::ProfileState::running) return false;
  PIPESCOPE_TRY(writeEnd(database, snapshot, reason));
  return true;
}

}  // namespace pipescope::store
