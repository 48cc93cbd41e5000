#pragma once
// Codes the blocks of a commit, several at a time.
#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "profiler/store/block_codec.h"
#include "profiler/store/coder_threads.h"
#include "profiler/store/format.h"

namespace pipescope::store {

using FillColumns = std::function<void(std::vector<ColumnData>&)>;

/// One block to code.
struct BlockJob {
  std::size_t rows = 0;
  FillColumns toColumns;
  base::Result<EncodedBlock> result = EncodedBlock{};
  std::uint32_t crc32 = 0;  ///< result: of the payload's priors, then of its own bytes
};

/// Blocks of a table that share a payload.
struct PayloadJob {
  std::size_t table = 0;
  const std::vector<Prediction>* predictions = nullptr;  ///< what may pay off for the table
  std::size_t firstRows = 0;                             ///< some rows that the payload begins with
  FillColumns firstColumns;                              ///< of these
  std::vector<BlockJob> blocks;
  std::vector<Priors> priors;  ///< of all of its blocks
  std::string priorBytes;      ///< result: the same, coded
  std::uint32_t priorsCrc32 = 0;
};

/// Remembers of each table what its columns were last coded best with, and tries anew from time to time:
/// where blocks are much longer than the one that was tried, after 131,072 rows, and less and less often as
/// long as the answer stays the same. The bytes do not depend on the threads.
class BlockCoder {
 public:
  explicit BlockCoder(std::size_t threads) : threads_(threads) {}
  /// Codes every job; `beside` is something else to do meanwhile. Where there are few rows, on this thread
  /// alone.
  void code(std::vector<PayloadJob>& payloads, const std::function<void()>& beside = {});
  /// On this thread alone; may be what is done beside jobs of other tables.
  void codeHere(std::vector<PayloadJob>& payloads) { code(payloads, {}, alone_); }
  /// Processor time of its own threads.
  double seconds() const { return threads_.seconds(); }

 private:
  static constexpr std::size_t kShortestInterval = 8 * kMostRowsPerBlock,
                               kLongestInterval = 256 * kMostRowsPerBlock;  // rows
  struct Table {
    BlockCoding coding;
    std::size_t rowsSince = 0, interval = kShortestInterval;
    std::size_t sampledRows = 0;  ///< of the block that the coding was chosen by
  };
  void code(std::vector<PayloadJob>& payloads, const std::function<void()>& beside, base::Executor& executor);
  void choose(const std::vector<PayloadJob>& payloads, base::Executor& executor);
  void findPriors(PayloadJob& payload, BlockEncoder& encoder) const;
  std::unique_ptr<BlockEncoder> takeEncoder();
  void giveBack(std::unique_ptr<BlockEncoder> encoder);

  CoderThreads threads_;
  base::SerialExecutor alone_;
  std::array<Table, model::kTableCount> tables_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<BlockEncoder>> encoders_;  // that nobody uses now
};

}  // namespace pipescope::store
