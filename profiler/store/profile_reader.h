#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "profiler/model/source.h"
#include "profiler/store/block_cache.h"
#include "profiler/store/lock_patience.h"

namespace pipescope::store {

struct OpenOptions {
  /// Null: the process's own cache of 256 MB.
  std::shared_ptr<BlockCache> cache;
  /// How long a read waits for a commit that is under way before it fails.
  std::chrono::milliseconds patience = kLockPatience;
};

/// Reads a profile.pop, also while another process writes it. Shows the profile as of open() or the last
/// refresh(), whatever is added meanwhile. Nothing but the directory of blocks is read before it is asked
/// for. Thread-safe.
///
/// Blocks that damage has taken away are in the directory with 0 rows, and reading them is an error that
/// names them.
class ProfileReader : public model::ProfileSource {
 public:
  /// Refuses with a sentence what is missing (io) or not such a profile (badInput): another kind of file, a
  /// foreign database such as Graphcore's profile.pop, another format, a damaged file.
  static base::Result<std::shared_ptr<ProfileReader>> open(const std::filesystem::path& path,
                                                           OpenOptions options = {});
  ~ProfileReader() override;

  /// As of the last refresh. A profile whose writer is gone without closing it is incomplete.
  base::Result<model::SourceState> state() const override;
  /// Asks the file, which other processes may have added to: when it is not what it was, refresh() brings
  /// more. Keeps its last answer while the file cannot be read.
  std::int64_t revision() const override;

  /// Moves on to the file's last commit. True: there was one since.
  base::Result<bool> refresh();
  /// True when the path names another file than the one that was opened: a new run has replaced it.
  bool replaced() const;

  const std::string& path() const;
  /// When the writer last committed, in UTC (2026-01-31T23:59:59Z); empty where damaged.
  std::string lastCommitUtc() const;

 protected:
  base::Result<std::vector<model::BlockInfo>> directory(std::size_t table) const override;
  base::Result<std::shared_ptr<const void>> decode(std::size_t table, std::size_t block) const override;

  base::Result<std::vector<model::ColumnRange>> columnRanges(std::size_t table,
                                                             std::size_t block) const override;
  base::Result<std::shared_ptr<const model::ColumnBlock>> integerColumns(std::size_t table,
                                                                         std::size_t block) const override;
  void expectColumns(std::size_t table, const std::vector<std::size_t>& blocks) const override;

 private:
  struct Impl;
  explicit ProfileReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipescope::store
