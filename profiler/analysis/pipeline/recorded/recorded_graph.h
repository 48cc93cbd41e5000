#pragma once
// The operations of a recorded training run, with what each of them waits for.
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/analysis/pipeline/operation_graph.h"

namespace pipescope::analysis {

/// One operation of a worker: a pass, a collective, or one side of a message.
struct RecordedOperation {
  std::int32_t worker = 0, stage = -1, replica = 0, rank = 0, iteration = 0, type = 0;
  bool computes = true;  ///< false for messages and collectives
  /// Length of a computation. Communication takes its own end − the start of the last member of its group,
  /// which leaves out the wait for the others.
  double ticks = 0;
};

struct RecordedGraph {
  std::vector<std::string> workers;           ///< names of the devices
  std::vector<std::string> types;             ///< "forward-compute", "params-all-gather" …
  std::vector<RecordedOperation> operations;  ///< sorted in the order of the graph
  OperationGraph graph;
  std::int32_t stages = 0, replicas = 0, ranks = 1;  ///< ranks: of a place
  std::int64_t passes = 0;  ///< operations that compute a stage's pass; the others are updates, collectives …
  std::int64_t numbered = 0;  ///< passes of these with a micro-batch: others wait for nothing
  /// Ticks of each iteration, from the first start to the last end of its operations; the longest, if it
  /// consists of operations that nothing joins.
  std::vector<double> iterations;
  /// True if the trace states messages. Otherwise a pass follows directly the pass that made its input.
  bool messages = false;
  /// False if the operations wait for each other in a circle.
  bool ordered = true;
};

/// Builds the graph of the executable's last run.
///
/// The computations of a worker follow each other in recorded order. A send follows the pass that made its
/// data; a receive follows the computation before the pass that needs it, and precedes this pass. Messages of
/// one direction are sent and received in order. Operations do not follow one of these two rules if the
/// recording contradicts it, as with receives that are posted early. A collective follows all operations that
/// had ended when it started, and precedes those that started after its end. (Method: "Understanding
/// Stragglers in Large Model Training Using What-if Analysis", 2025.)
Result<RecordedGraph> recordedGraph(const model::ProfileSource& source, const Catalog& catalog,
                                    model::ExecutableId executable);

}  // namespace pipescope::analysis
