#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profiler/import/read/trace_data.h"
#include "profiler/import/recognise/recorded_pass.h"
#include "profiler/import/recognise/rules.h"

namespace pipescope::importing {

/// Finds out which kernels belong to a backward pass. The operators of the pass run on the host, long before
/// the accelerator does their work, so their kernels are those that they launch.
class BackwardKernels {
 public:
  explicit BackwardKernels(const TraceData& trace) : trace_(trace) {}

  /// Takes a slice of any thread, with its times and its device in the caller's terms. The slices of a thread
  /// must come in the order of time.
  void add(const TraceEvent& event, const Meaning& meaning, const RecordedStretch& stretch);
  /// The kernels that backward operators launched. Empty if the trace has more launches than the importer
  /// keeps, and after the first call.
  std::vector<RecordedStretch> take();

 private:
  struct Kernel {
    std::int64_t correlation = 0;
    RecordedStretch stretch;
  };

  const TraceData& trace_;
  std::unordered_map<std::int64_t, base::Ticks> operatorEnds_;  // ends of backward operators, by thread
  std::vector<std::int64_t> launches_;                          // correlations
  std::vector<Kernel> kernels_;
  bool tooMany_ = false;
};

}  // namespace pipescope::importing
