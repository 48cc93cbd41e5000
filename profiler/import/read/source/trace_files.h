#pragma once
// Finds the traces in files, archives and folders.
#include <filesystem>
#include <functional>
#include <vector>

#include "profiler/base/progress.h"
#include "profiler/import/read/source/byte_source.h"

namespace pipescope::importing {

/// One stream of bytes that may be a trace.
struct TraceFile {
  std::string name;            ///< name for messages and ranks: "runs.tar.gz/rank3.json"
  std::filesystem::path path;  ///< file on disk that holds it
  ByteSource& bytes;
  /// Returns the share of the file on disk that was read, from 0 to 1.
  std::function<double()> fraction;
};

/// The files that a path stands for: itself, or all files of a folder and its sub-folders in the order of
/// their names. Hidden files are left out. Fails if the path cannot be read.
base::Result<std::vector<std::filesystem::path>> traceFilesOf(const std::filesystem::path& path);

/// Calls `visit` for the content of a file, decompressed (gzip, bzip2, xz, zstd), for every member of a zip
/// or tar archive, also when a member is itself compressed, and for every file of a folder and its
/// sub-folders in the order of their names. Hidden files and the extended attributes that archives of macOS
/// hold ("._name") are left out. Formats are recognised by content.
///
/// A path may be a pipe, such as /dev/stdin: it is read until its last writer closes it. Fails within a tenth
/// of a second if the user cancels, also while a pipe has no writer.
///
/// Memory is bounded by a few megabytes, whatever the archive announces. Errors of `visit` end the walk.
/// Fails if a path cannot be read. Damage within a member is an error of its ByteSource. Where the structure
/// of an archive is damaged, the members before it are visited, and `damages` gets a sentence.
base::Status visitTraceFiles(const std::filesystem::path& path,
                             const std::function<base::Status(const TraceFile&)>& visit,
                             std::vector<std::string>& damages, const base::Progress& progress);

}  // namespace pipescope::importing
