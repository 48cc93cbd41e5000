#pragma once
// Finds the traces in files, archives and folders.
#include <filesystem>
#include <functional>

#include "profiler/base/progress.h"
#include "profiler/import/byte_source.h"

namespace pipescope::importing {

/// One stream of bytes that may be a trace.
struct TraceFile {
  std::string name;            ///< for messages and ranks: "runs.tar.gz/rank3.json"
  std::filesystem::path path;  ///< of the file on disk that holds it
  ByteSource& bytes;
  /// Returns the share of the visited path that was read, from 0 to 1. Each file of a folder counts alike.
  std::function<double()> fraction;
};

/// Calls `visit` for the content of a file, decompressed (gzip, bzip2, xz, zstd), for every member of a zip
/// or tar archive, also when a member is itself compressed, and for every file of a folder and its
/// sub-folders in the order of their names. Hidden files and the extended attributes that archives of macOS
/// hold ("._name") are left out. Formats are recognised by content.
///
/// Memory is bounded by a few megabytes, whatever the archive announces. Errors of `visit` end the walk.
/// Fails if a path cannot be read or an archive is damaged in its structure; damage within a member is an
/// error of its ByteSource.
base::Status visitTraceFiles(const std::filesystem::path& path,
                             const std::function<base::Status(const TraceFile&)>& visit);

}  // namespace pipescope::importing
