#include "profiler/import/recognise/launched_work.h"

#include <algorithm>
#include <map>

#include "profiler/import/recognise/infer_events.h"

namespace pipescope::importing {
namespace {

/// Launches and kernels of one trace that are held; about 40 MB.
constexpr std::size_t kMostHeldLaunches = 1 << 19;

}  // namespace

bool LaunchedWork::holds(const TraceEvent& event) const {
  return trace_.statesCorrelations() && !trace_.isOnAccelerator(event);
}

void LaunchedWork::hold(RecordedPass pass, const TraceEvent& event) {
  held_.push_back({std::move(pass), event.process.value, event.thread.value});
}

void LaunchedWork::add(const TraceEvent& event, bool communicates, const RecordedPass& slice) {
  const std::int64_t correlation = tooMany_ ? 0 : trace_.launchOf(event);
  if (correlation == 0) return;
  if (!trace_.isOnAccelerator(event)) {
    launches_.push_back({correlation, event.process.value, event.thread.value, slice.start});
  } else if (!communicates) {
    kernels_.push_back({correlation, event.thread.value, slice.device, slice.lane, slice.start, slice.end});
  }
  if (kernels_.size() <= kMostHeldLaunches && launches_.size() <= kMostHeldLaunches) return;
  tooMany_ = true;
  kernels_ = {};
  launches_ = {};
}

/// Finds the kernels that were launched within each held pass: by its own thread, or by another thread of its
/// process, such as that of PyTorch's backward passes, while no other pass of the process was under way.
std::vector<std::vector<const LaunchedWork::Kernel*>> LaunchedWork::kernelsOfPasses() {
  std::sort(kernels_.begin(), kernels_.end(),
            [](const Kernel& a, const Kernel& b) { return a.correlation < b.correlation; });
  std::map<std::int64_t, std::vector<std::size_t>> ofProcess;  // passes by their start
  for (std::size_t i = 0; i < held_.size(); ++i) ofProcess[held_[i].process].push_back(i);
  std::map<std::int64_t, base::Ticks> longest;
  for (auto& [process, passes] : ofProcess) {
    std::sort(passes.begin(), passes.end(),
              [&](std::size_t a, std::size_t b) { return held_[a].pass.start < held_[b].pass.start; });
    for (const std::size_t i : passes)
      longest[process] = std::max(longest[process], held_[i].pass.end - held_[i].pass.start);
  }
  std::vector<std::vector<const Kernel*>> kernels(held_.size());
  for (const Launch& launch : launches_) {
    const auto passes = ofProcess.find(launch.process);
    if (passes == ofProcess.end()) continue;
    const auto behind =
        std::upper_bound(passes->second.begin(), passes->second.end(), launch.time,
                         [&](base::Ticks time, std::size_t i) { return time < held_[i].pass.start; });
    const std::size_t none = held_.size();
    std::size_t own = none, other = none, others = 0;
    for (auto at = behind; at != passes->second.begin();) {
      const Held& held = held_[*--at];
      if (launch.time - held.pass.start > longest[launch.process]) break;
      if (launch.time >= held.pass.end) continue;
      if (held.thread == launch.thread && own == none) own = *at;
      other = *at;
      ++others;
    }
    const std::size_t pass = own != none ? own : others == 1 ? other : none;
    if (pass == none) continue;
    const auto first = std::lower_bound(
        kernels_.begin(), kernels_.end(), launch.correlation,
        [](const Kernel& kernel, std::int64_t correlation) { return kernel.correlation < correlation; });
    for (auto kernel = first; kernel != kernels_.end() && kernel->correlation == launch.correlation; ++kernel)
      kernels[pass].push_back(&*kernel);
  }
  return kernels;
}

std::vector<RecordedPass> LaunchedWork::take(const std::vector<RecordedStep>& steps) {
  std::vector<RecordedPass> passes;
  if (tooMany_) unrelated_ = static_cast<std::int64_t>(held_.size());
  if (tooMany_ || held_.empty()) {
    launches_ = {};
    kernels_ = {};
    return passes;
  }
  const std::vector<std::vector<const Kernel*>> kernels = kernelsOfPasses();
  std::vector<RecordedPass> marked;
  for (Held& held : held_) marked.push_back(std::move(held.pass));
  assignSteps(marked, steps);
  for (std::size_t i = 0; i < marked.size(); ++i) {
    RecordedPass pass = std::move(marked[i]);
    // Without a stage it may be a function that is called like a pass.
    if (kernels[i].empty()) {
      unrelated_ += pass.stage >= 0 ? 1 : 0;
      continue;
    }
    std::map<model::DeviceId, base::Ticks> work;
    for (const Kernel* kernel : kernels[i]) work[kernel->device] += kernel->end - kernel->start;
    const auto most = std::max_element(work.begin(), work.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    bool first = true;
    for (const Kernel* kernel : kernels[i]) {
      if (kernel->device != most->first) continue;
      if (first || kernel->start < pass.start) {
        pass.start = kernel->start;
        pass.lane = kernel->lane;
        pass.queue = kernel->queue;
      }
      pass.end = first ? kernel->end : std::max(pass.end, kernel->end);
      pass.device = kernel->device;
      first = false;
    }
    passes.push_back(std::move(pass));
  }
  held_ = {};
  launches_ = {};
  kernels_ = {};
  return passes;
}

}  // namespace pipescope::importing
