#pragma once
#include <chrono>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "profiler/base/files/output_file.h"
#include "profiler/base/result.h"
#include "profiler/record/recorder.h"
#include "profiler/store/lock_patience.h"

namespace pipescope::store {

struct WriterOptions {
  /// Time that a commit waits for readers before it fails.
  std::chrono::milliseconds patience = kLockPatience;
  /// Files that may be replaced. Something else at the path is refused.
  base::OutputRules rules = {};
  /// Nothing is at the path, and an older file stays there, until finish() has written everything. A profile
  /// of which a part only could be written is of no use, such as that of an import.
  bool onlyWhole = false;
  /// Number of threads that code blocks: that of the caller, and others that the writer starts if there is
  /// enough to do.
  std::size_t threads = 1;
};

struct PreparedCommit;

/// Writes a profile.pop. Until the first commit nothing is at the path. After that, the path always names a
/// valid profile with every commit that returned, even if this process is killed at any moment. If an older
/// file is at the path, it stays there until the first call of the host is committed; meanwhile the new
/// profile is at partPath(). If the run ends before that without being complete, the new profile is removed.
/// One thread at a time may use the writer; any number of readers may read, in this or other processes.
class ProfileWriter : public record::Sink {
 public:
  /// Errors (io, badInput), reported at once: the folder does not exist or cannot be written, the path is a
  /// folder or not a plain file, the file there is not a Pipescope profile, another writer is at work there.
  static base::Result<std::unique_ptr<ProfileWriter>> create(const std::filesystem::path& path,
                                                             WriterOptions options = {});

  const std::filesystem::path& path() const;
  /// True once the file at the path is this profile.
  bool isAtPath() const;
  /// Bytes of payload that were committed so far.
  std::int64_t payloadBytes() const;
  /// Processor time of the threads that the writer started.
  double threadSeconds() const;

  /// Without a call of finish(), the state of the profile stays `running`. Readers show it as incomplete once
  /// this process is gone.
  ~ProfileWriter() override;

  /// Writes the rows in one transaction. A failed commit leaves the file as it was and may be repeated with
  /// the same rows. Errors: disk full (refused), I/O error, file removed or locked (io).
  base::Status commit(const model::RowSet& rows) override;

  /// The parts of commit(), for a sink that codes while further rows arrive and while earlier rows are
  /// written. prepare() codes sets of rows and keeps them. takePrepared() takes what is prepared for a
  /// transaction, and write() may run on another thread meanwhile. Commits are written in the order in which
  /// they were taken. After one that failed, only finish() may be called, which drops what is not written.
  /// The prepare() whose sets are not constant moves rows of plain tables out of them instead of copying
  /// them.
  base::Status prepare(std::span<const model::RowSet> sets);
  base::Status prepare(std::span<model::RowSet> sets);
  base::Status prepare(const model::RowSet& rows) { return prepare(std::span(&rows, 1)); }
  /// Bytes of payload that are prepared and not taken yet.
  std::int64_t preparedBytes() const;
  std::shared_ptr<PreparedCommit> takePrepared();
  base::Status write(PreparedCommit& commit);

  /// Writes the state and the reason, and leaves one plain file. Before the first commit only `complete`
  /// leaves a file, without rows; cancelled and incomplete leave none, and beside an older file none before
  /// the first call. It works on a full disk, so that the
  /// profile can still say `incomplete`.
  base::Status finish(model::ProfileState state, const std::string& reason) override;
  /// The same with some more rows. If they cannot be written, the state becomes `incomplete` and the error is
  /// returned.
  base::Status finish(model::ProfileState state, const std::string& reason, const model::RowSet& lastRows);

 private:
  struct Impl;
  explicit ProfileWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipescope::store
