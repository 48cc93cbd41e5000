#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "profiler/model/source.h"
#include "profiler/store/blocks/block_cache.h"
#include "profiler/store/lock_patience.h"

namespace pipescope::store {

struct OpenOptions {
  /// Cache of decoded blocks; null stands for the cache of the process, with 256 MB.
  std::shared_ptr<BlockCache> cache;
  /// Time that a read waits for a commit in progress before it fails.
  std::chrono::milliseconds patience = kLockPatience;
};

/// Reads a profile.pop, also while another process writes it. It shows the profile as of open() or the last
/// refresh(), whatever is added meanwhile. It reads nothing but the directory of blocks until it is asked for
/// more. Thread-safe.
///
/// Blocks that are lost to damage are in the directory with 0 rows. Reading them is an error that names them.
class ProfileReader : public model::ProfileSource {
 public:
  /// Opens a profile. Errors: a file that is missing (io), or that is not such a profile (badInput): another
  /// kind of file, a foreign database such as Graphcore's profile.pop, another format, a damaged file.
  static base::Result<std::shared_ptr<ProfileReader>> open(const std::filesystem::path& path,
                                                           OpenOptions options = {});
  ~ProfileReader() override;

  /// The state as of the last refresh. A profile whose writer is gone and has not closed it is incomplete.
  base::Result<model::SourceState> state() const override;
  /// Reads the revision from the file, which another process may have changed. If it differs from the last
  /// one, refresh() brings more. While the file cannot be read, the last answer is returned.
  std::int64_t revision() const override;

  /// Moves on to the last commit in the file. Returns true if there was a new one.
  base::Result<bool> refresh();
  /// True if the path names another file than the one that was opened, because a new run has replaced it.
  bool replaced() const;

  /// Describes the damage outside the tables, a sentence each. Damaged tables and blocks are found by reading
  /// them.
  std::vector<std::string> damage() const;

  bool storesColumns() const override { return true; }

  const std::string& path() const;
  /// Time of the last commit in UTC (2026-01-31T23:59:59Z). Empty if it is damaged.
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
