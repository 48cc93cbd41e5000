#include "profiler/import/recognise/backward_kernels.h"

#include <algorithm>
#include <utility>

namespace pipescope::importing {
namespace {

/// Launches and kernels of one trace that are held; about 15 MB. A training step has some thousand kernels.
constexpr std::size_t kMostHeldKernels = 1 << 18;

}  // namespace

void BackwardKernels::add(const TraceEvent& event, const Meaning& meaning, const RecordedStretch& stretch) {
  const bool accelerator = trace_.isAccelerator(event.process);
  if (meaning.marksBackward && !accelerator) {
    base::Ticks& end = operatorEnds_[event.thread.value];
    end = std::max(end, stretch.end);
  }
  const std::int64_t correlation = tooMany_ ? 0 : trace_.launchOf(event);
  if (correlation == 0) return;
  if (accelerator) {
    // A kernel that communicates is a message or a collective.
    if (meaning.kind != model::StepKind::globalExchange) kernels_.push_back({correlation, stretch});
  } else if (const auto end = operatorEnds_.find(event.thread.value);
             end != operatorEnds_.end() && stretch.start < end->second) {
    launches_.push_back(correlation);
  }
  if (kernels_.size() <= kMostHeldKernels && launches_.size() <= kMostHeldKernels) return;
  tooMany_ = true;
  kernels_ = {};
  launches_ = {};
}

std::vector<RecordedStretch> BackwardKernels::take() {
  const std::vector<Kernel> kernels = std::exchange(kernels_, {});
  std::vector<std::int64_t> launches = std::exchange(launches_, {});
  std::sort(launches.begin(), launches.end());
  std::vector<RecordedStretch> found;
  for (const Kernel& kernel : kernels)
    if (std::binary_search(launches.begin(), launches.end(), kernel.correlation))
      found.push_back(kernel.stretch);
  return found;
}

}  // namespace pipescope::importing
