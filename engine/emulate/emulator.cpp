#include "engine/emulate/emulator.h"

#include <algorithm>

#include "engine/emulate/flush.h"

namespace pipescope::emulate {

/// One call: its devices' clocks from the host's call to the last device's end.
class Emulator::Call {
 public:
  Call(Emulator& emulator, const Executable& executable, model::RunId run)
      : executable_(executable),
        clocks_(executable.order.devices.size()),
        writer_(emulator.recorder_, emulator.ids_, emulator.level_, run, clocks_),
        barrier_(executable, emulator.system_, writer_),
        dependency_(executable, emulator.system_, writer_) {
    for (std::size_t s = executable.deviceOfStage.size(); s-- > 0;) {
      clocks_[static_cast<std::size_t>(executable.deviceOfStage[s])].stage = static_cast<int>(s);
    }
    for (DeviceClock& clock : clocks_) clock.free = emulator.now_;
  }

  /// Returns the end of the last device.
  Ticks run(Ticks called, Ticks callTicks) {
    for (int d = 0; d < count(); ++d) writer_.wait(d, called + callTicks, model::WaitCause::host, {}, -1, {});
    const bool barrier = executable_.order.sync == schedules::Sync::barrier;
    for (int iteration = 0; iteration < executable_.facts.iterations; ++iteration) {
      barrier ? barrier_.run(iteration) : dependency_.run(iteration);
      update(iteration);
      writer_.commitIfDue();
    }
    const int slowest = slowestDevice();
    const Where end{-1, -1, static_cast<int>(executable_.facts.iterations) - 1, -1, 0};
    align(model::WaitCause::drain, slowest, end);
    return clocks_[static_cast<std::size_t>(slowest)].free;
  }
  const ComputeSpan& computed() const { return writer_.computed(); }

 private:
  int count() const { return static_cast<int>(clocks_.size()); }

  int slowestDevice() const {
    const auto last = std::max_element(clocks_.begin(), clocks_.end(),
                                       [](const auto& a, const auto& b) { return a.free < b.free; });
    return static_cast<int>(last - clocks_.begin());
  }

  void align(model::WaitCause cause, int slowest, const Where& where) {
    const DeviceClock last = clocks_[static_cast<std::size_t>(slowest)];
    for (int d = 0; d < count(); ++d) writer_.wait(d, last.free, cause, last.last, slowest, where);
  }

  void update(int iteration) {
    const Where where{-1, -1, iteration, -1, 0};
    const bool serial = executable_.order.update == schedules::UpdateOrder::serial;
    if (serial) align(model::WaitCause::drain, slowestDevice(), where);
    for (int d = 0; d < count(); ++d) {
      bool any = false;
      for (std::size_t s = 0; s < executable_.stages.size(); ++s) {
        if (executable_.deviceOfStage[s] != d) continue;
        const SegmentRefs& segments = executable_.stages[s].update;
        any = any || !segments.empty();
        writer_.place(d, segments, {static_cast<int>(s), -1, iteration, -1, executable_.chunkOfStage[s]});
      }
      if (serial && any) align(model::WaitCause::update, d, where);
    }
  }

  const Executable& executable_;
  std::vector<DeviceClock> clocks_;
  TimelineWriter writer_;
  BarrierFlush barrier_;
  DependencyFlush dependency_;
};

Emulator::Emulator(record::Recorder& recorder, const devices::System& system, const SystemIds& ids,
                   RecordLevel level)
    : recorder_(recorder), system_(system), ids_(ids), level_(level) {}
Emulator::~Emulator() = default;

model::Run Emulator::call(const Executable& executable, model::Run run) {
  run.executable = executable.id;
  run.start = now_;
  run.id = nextRun_;
  nextRun_ = model::RunId(nextRun_.value + 1);
  Call call(*this, executable, run.id);
  now_ = call.run(run.start, system_.callTicks());
  computed_ = call.computed();
  run.end = now_;
  const model::RunId recorded = recorder_.add(run);
  PIPESCOPE_CHECK(recorded == run.id, "runs are recorded by the emulator only");
  return run;
}

}  // namespace pipescope::emulate
