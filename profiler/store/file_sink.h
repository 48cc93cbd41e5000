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
  /// Rows that were taken and are not coded yet; take() waits while there are more (about 100 bytes each).
  std::size_t mostRowsHeld = 250'000;
  /// Threads that code; the second one is started when there is much to do. Writing has one of its own.
  std::size_t coders = 2;
  /// From rows taken to rows readable, at most, as long as the disk keeps up.
  std::chrono::milliseconds delay{700};
};

/// Writes a profile.pop on threads of its own: take() hands rows over and returns; they are coded as they
/// come, and written as a transaction when the oldest has waited for `delay` or 4 MB are ready, while coding
/// goes on. The engine's thread waits only when the disk cannot keep up. One caller at a time.
///
/// What fails is said by the next call after it, by finish() at latest; nothing is written from then on.
///
/// What the recording itself cost is left in the profile at its end, as properties: recorder_blocked_seconds
/// (the engine's thread waited for the sink), recorder_thread_seconds (processor time of the sink's threads),
/// recorder_bytes (payload of all blocks).
class FileSink : public record::Sink {
 public:
  /// As ProfileWriter::create.
  static base::Result<std::unique_ptr<FileSink>> create(const std::filesystem::path& path,
                                                        FileSinkOptions options = {});
  /// Without finish(): what was taken is written, the state stays `running`.
  ~FileSink() override;

  /// Everything taken so far and `rows` are readable when it returns. After a failure the file holds what was
  /// committed before.
  base::Status commit(const model::RowSet& rows) override;
  bool buffers() const override { return true; }
  base::Status take(model::RowSet& rows) override;
  base::Status finish(model::ProfileState state, const std::string& reason) override;

 private:
  struct Impl;
  explicit FileSink(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipescope::store
