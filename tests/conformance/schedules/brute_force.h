#pragma once
// Computes schedules from their published rules, without the engine: which tasks a device does in which
// order, and, by relaxation, when each starts.
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace pipescope::tests {

struct BruteForceCase {
  std::string schedule;
  int devices = 1, chunks = 1, microBatches = 1;
  bool training = true;
  std::vector<int> placeOfStage;                ///< places of all stages, pipe after pipe
  std::vector<long> forward, backward, weight;  ///< one for each stage; weight is part of backward
  long exchange = 0;
};

/// Kind F, B or W, stage, micro-batch.
using TaskName = std::tuple<char, int, int>;
struct TaskTime {
  int device = 0;
  long start = 0, end = 0;
};
struct BruteForceResult {
  std::map<TaskName, TaskTime> tasks;
  std::vector<std::vector<TaskName>> order;  ///< one for each device
  long end = 0;  ///< end of the flush, with its last exchange where all pay for it
};

BruteForceResult bruteForce(const BruteForceCase& asked);

/// The largest number of micro-batches that are, at the same time, between the start of their F and the end
/// of their last task.
int peakLive(const BruteForceCase& asked, const BruteForceResult& result, int device);

}  // namespace pipescope::tests
