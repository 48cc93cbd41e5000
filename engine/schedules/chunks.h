#pragma once
// Helpers of the schedules that only know chunks (1F1B and its relatives). A chunk is a run of neighbouring
// stages on one device, which computes them as one piece.
#include <string>
#include <vector>

#include "engine/schedules/schedule.h"

namespace pipescope::schedules {

struct Chunk {
  int place = 0;
  std::vector<int> stages;  ///< ascending
};

/// Merges neighbouring stages on one device into chunks, in the order in which data flows.
std::vector<Chunk> chunksOf(const Shape& shape);

/// Returns an error that names `schedule` if two chunks are on the same device.
base::Status requireOwnDevices(const std::vector<Chunk>& chunks, const std::string& schedule);

/// Collects the tasks of each device in order. Each call adds the tasks of all stages of a chunk for one
/// micro-batch.
class TaskList {
 public:
  explicit TaskList(const Shape& shape);

  void forward(const Chunk& chunk, int microBatch) { add(chunk, model::Pass::forward, microBatch); }
  void backward(const Chunk& chunk, int microBatch) { add(chunk, model::Pass::backward, microBatch); }
  void weight(const Chunk& chunk, int microBatch) { add(chunk, model::Pass::weightGradient, microBatch); }
  /// Tasks that are added to the device between begin() and end() form one block.
  void begin(int place);
  void end(int place);

  /// Returns the collected order. It also counts stash entries: the largest number of micro-batches that lie,
  /// at the same time, between the start of a stage's forward pass and the end of its last pass. Entries of
  /// weight gradients are counted likewise.
  Order take();

 private:
  void add(const Chunk& chunk, model::Pass pass, int microBatch);
  const Shape& shape_;
  Order order_;
  std::vector<std::size_t> blockStart_;
};

}  // namespace pipescope::schedules
