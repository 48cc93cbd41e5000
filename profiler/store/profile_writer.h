#pragma once
#include <chrono>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "profiler/base/result.h"
#include "profiler/record/recorder.h"
#include "profiler/store/lock_patience.h"

namespace pipescope::store {

struct WriterOptions {
  /// How long a commit waits for readers before it fails.
  std::chrono::milliseconds patience = kLockPatience;
  /// That code blocks: the caller's, and others that the writer starts when there is enough to do.
  std::size_t threads = 1;
};

struct PreparedCommit;

/// Writes a profile.pop. Until the first commit nothing is at the path and an older profile there is
/// untouched; from then on the path always names a valid profile that holds every commit that returned, also
/// if this process is killed at any moment. One thread at a time; any number of readers, in this or other
/// processes.
class ProfileWriter : public record::Sink {
 public:
  /// Refuses at once (io, badInput): no such folder or not writable, a path that is a folder or no plain
  /// file, an existing file that is not a Pipescope profile, a path that another writer is at.
  static base::Result<std::unique_ptr<ProfileWriter>> create(const std::filesystem::path& path,
                                                             WriterOptions options = {});

  const std::filesystem::path& path() const;
  /// Bytes of payload that were committed so far.
  std::int64_t payloadBytes() const;
  /// Processor time of threads that the writer started.
  double threadSeconds() const;

  /// Without finish() the profile's state stays `running`, which readers show as incomplete once this process
  /// is gone.
  ~ProfileWriter() override;

  /// One transaction. A failed commit (refused: disk full; io: I/O error, file removed or locked) leaves the
  /// file as it was and may be tried again with the same rows.
  base::Status commit(const model::RowSet& rows) override;

  /// The parts of commit(), for a sink that codes while rows still come and while those before are written.
  /// prepare() codes sets of rows and keeps them; what is prepared is taken for a transaction, and write()
  /// may be on another thread meanwhile. Commits are written in the order in which they were taken; after one
  /// that failed nothing but finish(), which forgets what is not written.
  base::Status prepare(std::span<const model::RowSet> sets);
  base::Status prepare(const model::RowSet& rows) { return prepare(std::span(&rows, 1)); }
  /// Bytes of payload that are prepared and not taken.
  std::int64_t preparedBytes() const;
  std::shared_ptr<PreparedCommit> takePrepared();
  base::Status write(PreparedCommit& commit);

  /// Writes state and reason and leaves one plain file. Before the first commit only `complete` leaves a file
  /// (without rows); cancelled and incomplete leave nothing. Works on a full disk, so that `incomplete` can
  /// be said there.
  base::Status finish(model::ProfileState state, const std::string& reason) override;
  /// The same with a few rows more; where they cannot be written, the state is `incomplete` and the error is
  /// returned.
  base::Status finish(model::ProfileState state, const std::string& reason, const model::RowSet& lastRows);

 private:
  struct Impl;
  explicit ProfileWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipescope::store
