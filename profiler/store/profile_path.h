#pragma once
// Handles the names of profile files: which path may be written, and how a finished file gets there.
#include <filesystem>
#include <string>
#include <vector>

#include "profiler/base/files/output_file.h"
#include "profiler/base/files/temporary_name.h"
#include "profiler/base/result.h"
#include "profiler/store/sqlite_database.h"

namespace pipescope::store {

/// The absolute path of a profile to be written, with links resolved. Errors: the path is a folder, its
/// folder does not exist, or its name is too long.
base::Result<std::filesystem::path> outputPath(const std::filesystem::path& path);

/// The name beside `path` under which a run writes while an older profile stays at the path.
std::filesystem::path partPath(const std::filesystem::path& path);

/// The name beside `path` under which the first commit is written.
std::filesystem::path temporaryPath(const std::filesystem::path& path);

/// The database at `path` and what SQLite writes beside it, as files that a signal removes.
std::vector<base::TemporaryName> temporaryDatabase(const std::filesystem::path& path);

/// The names beside `path` that SQLite uses while it writes or reads a database there.
std::vector<std::filesystem::path> databaseSiblings(const std::filesystem::path& path);

/// Checks that a run may write a profile at `path`, which outputPath() returned, and at its partPath(). Only
/// profiles (of any format) and empty files are replaced.
base::Status checkProfileOutput(const std::filesystem::path& path, const base::OutputRules& rules);

/// Fails if the file is missing, is a folder or is not a plain file. Opening a pipe would wait for ever.
base::Status checkPlainFile(const std::filesystem::path& path);

/// Removes a database file and the files that SQLite may have left next to it.
void removeWithSiblings(const std::filesystem::path& path);

/// Renames a closed database to `path` so that the rename survives a power failure.
base::Status moveInto(const std::filesystem::path& closed, const std::filesystem::path& path);

/// Lets SQLite undo the unfinished commit of an interrupted writer. Needs write access to the file and its
/// folder.
base::Status rollBack(const std::string& path, std::chrono::milliseconds patience);

/// An error of a database that is written to a temporary file, about the file that the user named: its path,
/// and whether an older file is there.
base::Error aboutNamedFile(const base::Error& error, const std::filesystem::path& temporary,
                           const std::filesystem::path& path);

}  // namespace pipescope::store
