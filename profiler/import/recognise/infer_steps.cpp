#include "profiler/import/recognise/infer_steps.h"

#include <algorithm>
#include <map>

namespace pipescope::importing {
namespace {

using base::Ticks;
using model::DeviceId;
using model::Pass;

/// A time at which no device of a group computes, and each has computed as many backward as forward passes.
/// The length may be zero: the next step may begin at once.
struct Pause {
  Ticks start, end;
  std::int64_t microBatches = 0;  ///< forward passes of one device since the pause before, at most
  Ticks length() const { return end - start; }
};

/// The computations of the devices of one clock, by start.
class GroupPasses {
 public:
  void add(const RecordedPass& pass) { passes_.push_back(&pass); }

  /// False if there are backward passes, but not as many as forward passes on each device.
  bool findPauses() {
    std::ranges::stable_sort(passes_, {}, [](const RecordedPass* pass) { return pass->start; });
    Ticks busyUntil(INT64_MIN);
    std::int64_t most = 0;
    std::map<DeviceId, std::int64_t> forwards;  // since the last pause
    for (const RecordedPass* pass : passes_) {
      if (pass->start >= busyUntil && unbalanced_ == 0 && most > 0) {
        pauses_.push_back({busyUntil, pass->start, most});
        forwards.clear();
        most = 0;
      }
      busyUntil = std::max(busyUntil, pass->end);
      if (pass->pass == Pass::forward) {
        most = std::max(most, ++forwards[pass->device]);
        change(pass->device, 1);
        forwardTicks_ += static_cast<double>((pass->end - pass->start).count);
        ++forwardCount_;
      } else if (pass->pass == Pass::backward) {
        change(pass->device, -1);
        trains_ = true;
      }
    }
    lastMicroBatches_ = most;
    if (!trains_) pauses_.clear();
    return !trains_ || unbalanced_ == 0;
  }

  /// Keeps the pauses that end a step. False if nobody can say which these are.
  bool keepSteps() {
    const bool one = lastMicroBatches_ == 1 ||
                     std::ranges::any_of(pauses_, [](const Pause& p) { return p.microBatches == 1; });
    if (!one || pauses_.empty()) return true;
    const auto longest = std::ranges::max_element(pauses_, {}, &Pause::length)->length();
    const double least =
        std::max(0.5 * static_cast<double>(longest.count),
                 forwardTicks_ / static_cast<double>(std::max<std::int64_t>(1, forwardCount_)));
    std::erase_if(pauses_,
                  [&](const Pause& pause) { return static_cast<double>(pause.length().count) < least; });
    return !pauses_.empty();
  }

  std::vector<Ticks> begins() const {
    std::vector<Ticks> times;
    for (const Pause& pause : pauses_) times.push_back(pause.end);
    return times;
  }

 private:
  void change(DeviceId device, std::int64_t by) {
    std::int64_t& open = open_[device];
    unbalanced_ += (open + by != 0 ? 1 : 0) - (open != 0 ? 1 : 0);
    open += by;
  }

  std::vector<const RecordedPass*> passes_;
  std::vector<Pause> pauses_;
  std::map<DeviceId, std::int64_t> open_;  // forward passes without their backward pass
  std::int64_t unbalanced_ = 0;            // devices with such passes
  std::int64_t lastMicroBatches_ = 0, forwardCount_ = 0;
  double forwardTicks_ = 0;
  bool trains_ = false;
};

}  // namespace

std::int64_t StepsInferred::stepAt(std::size_t group, Ticks time) const {
  const auto own = begins.find(group);
  if (own == begins.end()) return 0;
  return std::ranges::upper_bound(own->second, time) - own->second.begin();
}

StepsInferred inferSteps(const std::vector<const RecordedPass*>& passes, const ClockGroups& clockGroups) {
  std::map<std::size_t, GroupPasses> groups;
  for (const RecordedPass* pass : passes) {
    if (!model::isComputePass(pass->pass)) continue;
    const auto group = clockGroups.find(pass->device);
    groups[group == clockGroups.end() ? 0 : group->second].add(*pass);
  }
  StepsInferred inferred;
  for (auto& [number, group] : groups) {
    if (!group.findPauses() || !group.keepSteps()) return {};
    inferred.begins[number] = group.begins();
    const auto steps = static_cast<std::int64_t>(inferred.begins[number].size()) + 1;
    if (inferred.steps != 0 && inferred.steps != steps) return {};
    inferred.steps = steps;
  }
  return inferred;
}

}  // namespace pipescope::importing
