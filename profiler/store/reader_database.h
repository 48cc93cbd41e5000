#pragma once
#include <chrono>
#include <string>

#include "profiler/store/sqlite_database.h"

namespace pipescope::store {

/// Opens a profile so that nothing in the file can do harm: the connection may only read the known tables.
/// Errors: no SQLite database, another program's or Graphcore's file, a format that is not read, and a file
/// in WAL mode. `patience` is how long a writer may keep the file locked.
base::Result<Database> openForReading(const std::string& path, std::chrono::milliseconds patience);

}  // namespace pipescope::store
