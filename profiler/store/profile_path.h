#pragma once
// What happens to names in a folder: which path may be written, and how a finished file gets there.
#include <filesystem>
#include <string>

#include "profiler/base/result.h"
#include "profiler/store/sqlite_database.h"

namespace pipescope::store {

/// The absolute path, links resolved, of a profile to be written. Refuses folders and folders that do not
/// exist.
base::Result<std::filesystem::path> outputPath(const std::filesystem::path& path);

/// Whether a file may be put at the path: nothing is there, or a Pipescope profile of any format.
base::Status checkReplaceable(const std::filesystem::path& path);

/// Refuses what is missing, a folder or no plain file; opening a pipe would wait for ever.
base::Status checkPlainFile(const std::filesystem::path& path);

/// Removes a database file with what SQLite may have left beside it.
void removeWithSiblings(const std::filesystem::path& path);

/// Renames a closed database over `path`, durably.
base::Status moveInto(const std::filesystem::path& closed, const std::filesystem::path& path);

/// Lets SQLite undo what an interrupted writer left half done. Needs write access to file and folder.
base::Status rollBack(const std::string& path, std::chrono::milliseconds patience);

}  // namespace pipescope::store
