#include "profiler/analysis/timeline/idle_stretches.h"

#include <algorithm>
#include <tuple>

#include "profiler/analysis/rows_of_run.h"

namespace pipescope::analysis {
namespace {

bool isLonger(const IdleStretch& a, const IdleStretch& b) {
  return std::tuple(-a.length().count, a.device, a.start) < std::tuple(-b.length().count, b.device, b.start);
}

/// Joins the waits of one device, in the order of their starts.
class StretchMaker {
 public:
  StretchMaker(IdleStretches& made, std::size_t most) : made_(made), most_(most) {}

  void add(const model::Wait& wait, Ticks start, Ticks end) {
    if (end <= start) return;
    if (open_ && (wait.device != now_.device || start > now_.end)) finish();
    if (!open_) {
      now_ = {.device = wait.device, .start = start, .end = start, .iteration = wait.iteration};
      longestWait_ = {};
      open_ = true;
    }
    if (now_.iteration < 0) now_.iteration = wait.iteration;
    // Waits of a damaged file may overlap. What was counted is not counted again.
    const Ticks part = std::max(Ticks(), end - std::max(start, now_.end));
    now_.parts[wait.cause] += part;
    now_.end = std::max(now_.end, end);
    if (part > longestWait_) {
      longestWait_ = part;
      now_.waitedForDevice = wait.waitedForDevice;
      now_.waitCause = wait.cause;
    }
  }

  void finish() {
    if (!open_) return;
    open_ = false;
    ++made_.count;
    now_.cause = std::max_element(now_.parts.begin(), now_.parts.end(), [](const auto& a, const auto& b) {
                   return a.second < b.second;
                 })->first;
    keep();
  }

  void collect() {
    finish();
    for (auto& [key, heap] : kept_) made_.longest.insert(made_.longest.end(), heap.begin(), heap.end());
    std::sort(made_.longest.begin(), made_.longest.end(), isLonger);
  }

 private:
  /// Keeps the stretch if it is one of the longest of its device and cause.
  void keep() {
    std::vector<IdleStretch>& heap = kept_[{now_.device, now_.cause}];
    heap.push_back(now_);
    std::push_heap(heap.begin(), heap.end(), isLonger);  // the shortest one is in front
    if (heap.size() <= most_) return;
    std::pop_heap(heap.begin(), heap.end(), isLonger);
    heap.pop_back();
  }

  IdleStretches& made_;
  std::size_t most_;
  std::map<std::pair<model::DeviceId, model::WaitCause>, std::vector<IdleStretch>> kept_;
  IdleStretch now_;
  Ticks longestWait_;
  bool open_ = false;
};

}  // namespace

Result<IdleStretches> idleStretches(const model::ProfileSource& source, const Catalog& catalog,
                                    model::ExecutableId executable, std::size_t most) {
  IdleStretches made;
  const model::Run* run = catalog.lastRunOf(executable);
  if (run == nullptr) return made;
  PIPESCOPE_ASSIGN(std::vector<model::Wait> waits, rowsOfRun<model::Wait>(source, *run));
  std::sort(waits.begin(), waits.end(), [](const model::Wait& a, const model::Wait& b) {
    return std::tuple(a.device, a.start, a.end) < std::tuple(b.device, b.start, b.end);
  });
  StretchMaker maker(made, most);
  for (model::Wait& wait : waits) {
    // The first iteration of an emulated call begins with the call, and so with the wait for the host.
    if (wait.iteration < 0 && !catalog.measured() && wait.start == run->start) wait.iteration = 0;
    maker.add(wait, catalog.toAxis(wait.device, wait.start), catalog.toAxis(wait.device, wait.end));
  }
  maker.collect();
  return made;
}

}  // namespace pipescope::analysis
