#pragma once
// The rule for all files that the programs write: a file is replaced only if it is of the kind that is
// written, or empty, and never if it is an input of the same command. New content is written to a file beside
// it, which is then renamed, so that the old content stays until the new one is complete.
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/base/files/file_kind.h"
#include "profiler/base/files/temporary_name.h"
#include "profiler/base/result.h"

namespace pipescope::base {

/// Rules of a command or the window for the files that it writes.
struct OutputRules {
  /// Files that the same command reads. None of them is ever replaced.
  std::vector<std::filesystem::path> inputs = {};
  /// Plain files of other kinds may be replaced, too.
  bool overwrite = false;
  /// The sentence that says what to do instead. Programs with an option name it here.
  std::string advice = "Choose another name.";
};

/// True for "-", which means standard output.
bool isStandardOutput(const std::filesystem::path& path);

/// Checks that a file of this kind may be written at the path. Writes nothing. Errors (badInput, io): the
/// path is empty, a folder, or in a folder that does not exist; something stands there that must not be
/// replaced; the kind cannot be written to standard output.
Status checkOutput(const std::filesystem::path& path, FileKind kind, const OutputRules& rules);

/// Fails if the path names one of the inputs.
Status refuseInputs(const std::filesystem::path& path, const OutputRules& rules);

/// The path that a link leads to, through further links, whether or not a file stands there; other paths as
/// they are. Error (io): links that lead in a circle.
Result<std::filesystem::path> followLinks(const std::filesystem::path& path);

/// True if two paths name the same file, or would if they existed.
bool isSameFile(const std::filesystem::path& a, const std::filesystem::path& b);

/// A new, empty file beside `path`, which becomes the file at `path` when publish() is called. If it is never
/// called, the destructor removes the new file, and so does a signal that ends the program. A file that a
/// killed program left is removed when the next one is made for the same path: its lock tells that nobody
/// writes to it.
class PendingFile {
 public:
  /// Does not check what stands at the path; see checkOutput(). Follows links, so that a link stays a link,
  /// and makes the file that a link to nothing names.
  static Result<PendingFile> create(const std::filesystem::path& path);
  PendingFile() = default;
  PendingFile(PendingFile&& other) noexcept;
  PendingFile& operator=(PendingFile&& other) noexcept;
  ~PendingFile();

  /// Path to write to until publish().
  const std::filesystem::path& temporary() const { return temporary_; }
  /// Renames the file. It keeps the permissions of the file that it replaces.
  Status publish();

 private:
  void close();

  std::filesystem::path path_, target_, temporary_;
  TemporaryName name_;
  int lock_ = -1;  ///< the open file, which is locked while this object exists
};

/// An output that is written from its beginning to its end: a file, or standard output.
class OutputFile {
 public:
  /// Gives the errors of checkOutput() and PendingFile::create().
  static Result<OutputFile> create(const std::filesystem::path& path, FileKind kind,
                                   const OutputRules& rules);
  OutputFile() = default;
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  Status write(std::string_view bytes);
  /// Writes what is buffered and gives the file its name. More can be written after that, which readers of
  /// the file then see after the next flush().
  Status publish();
  Status flush();
  /// The end; publishes the file unless that was done. Without it, an unpublished file is removed.
  Status close();

 private:
  Error failure() const;

  std::string shown_;  ///< the path as it was given
  PendingFile pending_;
  std::FILE* file_ = nullptr;
  bool published_ = false;
};

}  // namespace pipescope::base
