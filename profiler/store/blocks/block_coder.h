#pragma once
// Codes the blocks of a commit on several threads.
#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "profiler/store/blocks/block_codec.h"
#include "profiler/store/blocks/coder_threads.h"
#include "profiler/store/format.h"

namespace pipescope::store {

using FillColumns = std::function<void(std::vector<ColumnData>&)>;

/// One block to code.
struct BlockJob {
  std::size_t rows = 0;
  FillColumns toColumns;
  base::Result<EncodedBlock> result = EncodedBlock{};
  /// Result: checksum of the priors of the payload followed by the bytes of the block.
  std::uint32_t crc32 = 0;
};

/// Blocks of a table that share a payload.
struct PayloadJob {
  std::size_t table = 0;
  const std::vector<ColumnPrediction>* predictions = nullptr;  ///< predictions to try for the table
  std::size_t firstRows = 0;  ///< number of first rows of the payload that `firstColumns` gives
  FillColumns firstColumns;   ///< fills in the columns of these rows
  std::vector<BlockJob> blocks;
  std::vector<Priors> priors;  ///< priors of all its blocks
  std::string priorBytes;      ///< result: these priors, coded
  std::uint32_t priorsCrc32 = 0;
};

/// Remembers for each table which coding of its columns was best, and tries again from time to time: if
/// blocks are much longer than the one that was tried, after 131,072 rows, and less and less often while the
/// answer stays the same. The bytes do not depend on the number of threads.
class BlockCoder {
 public:
  explicit BlockCoder(std::size_t threads) : threads_(threads) {}
  /// Codes every job. `beside` is other work to do at the same time. If there are few rows, everything runs
  /// on this thread.
  void code(std::vector<PayloadJob>& payloads, const std::function<void()>& beside = {});
  /// Codes on this thread alone. `beside` of code() may call it.
  void codeHere(std::vector<PayloadJob>& payloads) { code(payloads, {}, alone_); }
  /// Processor time of the threads that the coder started.
  double seconds() const { return threads_.seconds(); }

 private:
  static constexpr std::size_t kShortestInterval = 8 * kMostRowsPerBlock,
                               kLongestInterval = 256 * kMostRowsPerBlock;  // rows
  struct Table {
    BlockCoding coding;
    std::size_t rowsSince = 0, interval = kShortestInterval;
    std::size_t sampledRows = 0;  ///< rows of the block that the coding was chosen with
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
  std::vector<std::unique_ptr<BlockEncoder>> encoders_;  // free encoders
};

}  // namespace pipescope::store
