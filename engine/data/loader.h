#pragma once
// Feeds a run with the samples of one call after another, in shuffled order. It reads the next batch while
// the present one is used.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/data/batch_order.h"
#include "engine/data/dataset.h"
#include "profiler/base/progress.h"
#include "profiler/base/result.h"

namespace pipescope::data {

struct LoaderOptions {
  BatchShape shape;
  std::uint64_t seed = 0;
  bool shuffle = true;
  Partition partition;
  std::int64_t firstEpoch = 0;
  std::int64_t epochs = 1;
};

/// The rows of one call, in the order of BatchShape.
struct Batch {
  std::int64_t epoch = 0;  ///< counts from LoaderOptions::firstEpoch
  std::int64_t call = 0;   ///< number within the epoch, from 0
  std::int64_t rows = 0;
  /// The rows of each of Dataset::fields(). The address suits every type.
  std::vector<std::vector<std::byte>> fields;

  template <class T>
  std::span<const T> values(std::size_t field) const {
    return {reinterpret_cast<const T*>(fields[field].data()), fields[field].size() / sizeof(T)};
  }
};

/// Reads one batch ahead on its own thread, so that at most two batches exist besides those that the caller
/// keeps. Batches depend only on the data set and the options. One thread calls next(); any thread may call
/// cancel().
class Loader {
 public:
  /// Refuses what checkBatchShape refuses, fewer than one epoch, and a call with more samples than the data
  /// set has.
  static base::Result<std::unique_ptr<Loader>> create(std::shared_ptr<const Dataset> dataset,
                                                      const LoaderOptions& options);
  /// Stops reading, even in the middle of a batch, and waits until the thread has ended.
  ~Loader();

  /// Calls of whole size. Rows that are left at the end of an epoch are not read.
  std::int64_t callsPerEpoch() const;

  /// Returns the next batch, or none after the last call of the last epoch. An error of the data set is
  /// returned instead of the batch, and again for each later call. Ends with a `cancelled` error when
  /// `progress` says so, or after cancel().
  base::Result<std::optional<Batch>> next(const base::Progress& progress);
  void cancel();

 private:
  class Worker;
  explicit Loader(std::unique_ptr<Worker> worker);
  std::unique_ptr<Worker> worker_;
};

}  // namespace pipescope::data
