#pragma once
// Neighbouring stages on one device are one chunk: they run one after another as one piece. What schedules
// that know chunks only (1F1B and its relatives) share.
#include <string>
#include <vector>

#include "engine/schedules/schedule.h"

namespace pipescope::schedules {

struct Chunk {
  int device = 0;
  std::vector<int> stages;  ///< ascending
};

/// Neighbours on one device merged, in the order of the data.
std::vector<Chunk> chunksOf(const Shape& shape);

/// Refused unless no two chunks share a device: `schedule` cannot come back to one.
base::Status requireOwnDevices(const std::vector<Chunk>& chunks, const std::string& schedule);

/// Appends a chunk's tasks of one micro-batch to its device.
class TaskList {
 public:
  explicit TaskList(const Shape& shape);

  void forward(const Chunk& chunk, int microBatch) { add(chunk, model::Pass::forward, microBatch); }
  void backward(const Chunk& chunk, int microBatch) { add(chunk, model::Pass::backward, microBatch); }
  void weight(const Chunk& chunk, int microBatch) { add(chunk, model::Pass::weightGradient, microBatch); }
  /// What is added to the device from here on, up to end(), is one block.
  void begin(int device);
  void end(int device);

  /// The order of what was added; stash entries are counted: as many as there are micro-batches at once
  /// between the start of a stage's forward and the end of its last use, and likewise for weight gradients.
  Order take();

 private:
  void add(const Chunk& chunk, model::Pass pass, int microBatch);
  const Shape& shape_;
  Order order_;
  std::vector<std::size_t> blockStart_;
};

}  // namespace pipescope::schedules
