#pragma once
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "profiler/base/result.h"
#include "profiler/record/recorder.h"
#include "profiler/store/profile_writer.h"

namespace pipescope::store {

struct FileSinkOptions {
  WriterOptions writer;
  /// Limit of the rows that were taken and are not coded yet; take() waits if there are more. A row takes
  /// about 100 bytes.
  std::size_t mostRowsHeld = 250'000;
  /// Number of threads that code. The second one starts when there is much to do. A further thread writes.
  std::size_t coders = 2;
  /// Longest time from taking rows until they can be read, as long as the disk keeps up.
  std::chrono::milliseconds delay{700};
};

/// Writes a profile.pop on threads of its own. take() hands rows over and returns. Rows are coded as they
/// come. They are written as one transaction when the oldest has waited for `delay` or 4 MB are ready, while
/// coding continues. The thread of the engine waits only if the disk cannot keep up. One caller at a time.
///
/// The next call after a failure returns the error, at the latest finish(). Nothing is written after a
/// failure.
///
/// At the end the sink writes what recording cost to the profile, as properties: recorder_blocked_seconds
/// (time during which the thread of the engine waited for the sink), recorder_thread_seconds (processor time
/// of the threads of the sink), and recorder_bytes (payload of all blocks).
class FileSink : public record::Sink {
 public:
  /// Errors are those of ProfileWriter::create.
  static base::Result<std::unique_ptr<FileSink>> create(const std::filesystem::path& path,
                                                        FileSinkOptions options = {});
  /// If finish() was not called, writes the rows of all commits and drops the rows behind the last one. The
  /// state then stays `running`. With WriterOptions::onlyWhole the file is removed instead.
  ~FileSink() override;

  /// When it returns, everything taken so far and `rows` can be read. After a failure the file holds what was
  /// committed before.
  base::Status commit(const model::RowSet& rows) override;
  bool buffers() const override { return true; }
  base::Status take(model::RowSet& rows) override;
  void gather(model::RowSet& rows) override;
  base::Status finish(model::ProfileState state, const std::string& reason) override;
  /// True after finish() if the file at the path is this profile (ProfileWriter::isAtPath).
  bool isAtPath() const;

 private:
  struct Impl;
  explicit FileSink(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipescope::store
