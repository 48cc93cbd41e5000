#pragma once
// Reads the bytes of blocks out of the payloads that they share.
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/store/batch.h"
#include "profiler/store/blocks/column_prediction.h"
#include "profiler/store/sqlite_database.h"

namespace pipescope::store {

/// Priors that the blocks of a payload share. They are read once.
struct PayloadPriors {
  std::uint32_t crc32 = 0;  ///< checksum of the bytes of the priors
  std::vector<Priors> priors;
};

/// The priors of the last few payloads. Thread-safe.
class RecentPriors {
 public:
  using Entry = std::shared_ptr<const PayloadPriors>;
  /// Returns null if they are not among them.
  Entry find(const BlockRecord& block);
  void keep(const BlockRecord& block, Entry priors);

 private:
  static constexpr std::size_t kMost = 4;
  struct Kept {
    std::int64_t payload = 0, bytes = 0;
    Entry priors;
  };
  std::mutex mutex_;
  std::vector<Kept> kept_;  // The last one kept is at the end.
};

/// The bytes of a block as they are in the file.
struct BlockBytes {
  RecentPriors::Entry priors;  ///< priors, if they are known already
  std::string priorBytes;      ///< otherwise
  std::string bytes;
};

/// Reads within one transaction, from the first block until end(). For one thread at a time.
class PayloadReader {
 public:
  explicit PayloadReader(const Database& database)
      : blobs_(database.handle(), database.path(), "store_payload", "payload") {}
  /// Returns no bytes for a block that is no longer in the file.
  base::Result<BlockBytes> read(const BlockRecord& block, RecentPriors::Entry priors,
                                const std::string& name);
  void end() { blobs_.close(), open_ = 0; }

 private:
  BlobReader blobs_;
  std::int64_t open_ = 0;  // id of the open payload; 0: none
};

}  // namespace pipescope::store
