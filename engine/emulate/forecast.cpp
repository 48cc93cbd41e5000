#include "engine/emulate/forecast.h"

#include <set>

#include "engine/emulate/emulator.h"
#include "profiler/record/memory_profile.h"

namespace pipescope::emulate {
namespace {

struct Flush {
  double ticks = 0, busy = 0;
};

class Forecaster {
 public:
  Forecaster(const devices::System& system, const SystemIds& ids, const EmulatedExecutable& executable)
      : system_(system), ids_(ids), executable_(executable) {
    devices_ = static_cast<double>(
        std::set<int>(executable.call.placeOfStage.begin(), executable.call.placeOfStage.end()).size());
  }

  std::optional<BubbleForecast> forecast() {
    const std::int64_t g = executable_.facts.microBatches, stages = stageCount();
    const std::int64_t tasks = stages * g * (executable_.order().splitBackward ? 3 : 2);
    std::optional<Flush> two, four;
    constexpr std::int64_t kMostTasks = 150'000;
    // The divisibility rules of all schedules accept twice the number of stages.
    const std::int64_t step = 2 * stages;
    if (tasks <= kMostTasks || g < 2 * step) {
      two = flush(2 * g);
      four = flush(4 * g);
    } else {
      const std::optional<Flush> now = flush(g), before = flush(g - step);
      if (now && before) {
        two = further(*now, *before, step, g);
        four = further(*now, *before, step, 3 * g);
      }
    }
    if (!two || !four || four->busy <= 0) return std::nullopt;
    const Flush each{(four->ticks - two->ticks) / static_cast<double>(2 * g),
                     (four->busy - two->busy) / static_cast<double>(2 * g)};
    return BubbleForecast{bubble(*two), bubble(*four), bubble(each)};
  }

 private:
  std::int64_t stageCount() const { return static_cast<std::int64_t>(executable_.call.placeOfStage.size()); }

  double bubble(const Flush& flush) const { return 1 - flush.busy / (devices_ * flush.ticks); }

  /// Extends `now` by `more` micro-batches that take as long as the last `step` did.
  static Flush further(const Flush& now, const Flush& before, std::int64_t step, std::int64_t more) {
    const double times = static_cast<double>(more) / static_cast<double>(step);
    return {now.ticks + (now.ticks - before.ticks) * times, now.busy + (now.busy - before.busy) * times};
  }

  /// Returns nothing if the schedule refuses this number.
  std::optional<Flush> flush(std::int64_t microBatches) const {
    schedules::Shape shape;
    shape.stages = static_cast<int>(stageCount());
    shape.microBatches = static_cast<int>(microBatches);
    shape.training = executable_.call.training;
    shape.placeOfStage = executable_.call.placeOfStage;
    base::Result<clock::Order> order = schedules::makeOrder(executable_.facts.schedule, shape);
    if (!order.ok()) return std::nullopt;
    EmulatedExecutable longer = executable_;
    longer.call.orders = {std::move(order).value()};
    longer.facts.microBatches = microBatches;
    longer.facts.iterations = 1;
    longer.call.recordedMicroBatches = executable_.call.microBatches;
    longer.call.microBatches = static_cast<int>(microBatches);
    longer.call.iterations = 1;
    longer.call.replicas.resize(1);  // Replicas meet outside the flush only.
    longer.parts.resize(1);
    record::MemoryProfile nowhere;
    record::Recorder recorder(nowhere);
    Emulator emulator(recorder, system_, ids_, RecordLevel::off);
    emulator.call(longer, {});
    const clock::ComputeSpan& span = emulator.computed();
    if (span.busy.count <= 0) return std::nullopt;
    return Flush{static_cast<double>((span.end - span.start).count), static_cast<double>(span.busy.count)};
  }

  const devices::System& system_;
  const SystemIds& ids_;
  const EmulatedExecutable& executable_;
  double devices_ = 1;
};

}  // namespace

std::optional<BubbleForecast> forecastBubble(const devices::System& system, const SystemIds& ids,
                                             const EmulatedExecutable& executable) {
  return Forecaster(system, ids, executable).forecast();
}

}  // namespace pipescope::emulate
