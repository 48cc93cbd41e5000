#pragma once
// Feeds a run: calls' worth of samples in shuffled order, the next one being read while the present one is
// used.
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
  bool dropLast = true;  ///< else the rest of an epoch is a short last call, and warning() says so
  Partition partition;   ///< several instances need dropLast
  std::int64_t firstEpoch = 0;
  std::int64_t epochs = 1;
};

/// What one call takes: `rows` rows one after the other, in the order of BatchShape.
struct Batch {
  std::int64_t epoch = 0;  ///< from LoaderOptions::firstEpoch
  std::int64_t call = 0;   ///< within the epoch, from 0
  std::int64_t rows = 0;
  /// For each of Dataset::fields() its rows; starts at an address that suits every type.
  std::vector<std::vector<std::byte>> fields;

  template <class T>
  std::span<const T> values(std::size_t field) const {
    return {reinterpret_cast<const T*>(fields[field].data()), fields[field].size() / sizeof(T)};
  }
};

/// Reads one batch ahead on a thread of its own: at most two batches exist besides those that the caller
/// keeps. Batches depend on data set and options only. next() is for one thread; cancel() may be called from
/// any.
class Loader {
 public:
  /// Refuses what checkBatchShape refuses, fewer than one epoch, and (with dropLast) a call of more samples
  /// than there are.
  static base::Result<std::unique_ptr<Loader>> create(std::shared_ptr<const Dataset> dataset,
                                                      const LoaderOptions& options);
  /// Stops reading, also in the middle of a batch, and waits for the thread's end.
  ~Loader();

  std::int64_t callsPerEpoch() const;
  /// Empty, or what the user should know about the last call of each epoch.
  const std::string& warning() const;

  /// The next batch, in order; none after the last epoch's last call. An error of the data set is returned in
  /// place of the batch that met it, and again from then on. Gives up with a `cancelled` error when
  /// `progress` says so, or after cancel().
  base::Result<std::optional<Batch>> next(const base::Progress& progress);
  void cancel();

 private:
  class Worker;
  explicit Loader(std::unique_ptr<Worker> worker);
  std::unique_ptr<Worker> worker_;
};

}  // namespace pipescope::data
