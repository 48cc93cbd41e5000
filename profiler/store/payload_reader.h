#pragma once
// The bytes of blocks, out of the payloads that they share.
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/store/batch.h"
#include "profiler/store/prediction.h"
#include "profiler/store/sqlite_database.h"

namespace pipescope::store {

/// What the blocks of a payload share, read once.
struct PayloadPriors {
  std::uint32_t crc32 = 0;  ///< of their bytes
  std::vector<Priors> priors;
};

/// The priors of the last few payloads. Thread-safe.
class RecentPriors {
 public:
  using Entry = std::shared_ptr<const PayloadPriors>;
  /// Null: not among them.
  Entry find(const BlockRecord& block);
  void keep(const BlockRecord& block, Entry priors);

 private:
  static constexpr std::size_t kMost = 4;
  struct Kept {
    std::int64_t payload = 0, bytes = 0;
    Entry priors;
  };
  std::mutex mutex_;
  std::vector<Kept> kept_;  // the last one kept at the end
};

/// A block as it lies in the file.
struct BlockBytes {
  RecentPriors::Entry priors;  ///< where they are known already
  std::string priorBytes;      ///< where they are not
  std::string bytes;
};

/// Reads in one transaction from the first block to end(). One thread at a time.
class PayloadReader {
 public:
  explicit PayloadReader(const Database& database)
      : blobs_(database.handle(), database.path(), "store_payload", "payload") {}
  /// What is not in the file any more is empty.
  base::Result<BlockBytes> read(const BlockRecord& block, RecentPriors::Entry priors,
                                const std::string& name);
  void end() { blobs_.close(), open_ = 0; }

 private:
  BlobReader blobs_;
  std::int64_t open_ = 0;  // the payload that is open
};

}  // namespace pipescope::store
