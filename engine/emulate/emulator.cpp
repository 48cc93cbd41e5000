#include "engine/emulate/emulator.h"

#include <algorithm>
#include <memory>

#include "engine/emulate/update_phase.h"

namespace pipescope::emulate {

/// One call, from the call by the host to the end of the last device.
class Emulator::Call {
 public:
  Call(Emulator& emulator, const EmulatedExecutable& executable, model::RunId run, const HostLoader& loader)
      : executable_(executable),
        host_(emulator.hosts_[executable.id]),
        hostWork_(emulator.hostWork(executable)),
        update_(executable, parts_) {
    for (const ReplicaPart& part : executable.parts) {
      parts_.push_back(std::make_unique<RunningPart>(executable, part, emulator.system_, emulator.recorder_,
                                                     emulator.ids_, emulator.level_, run, emulator.now_));
      parts_.back()->setLoader(loader);
    }
  }

  /// Returns the end of the last device.
  Ticks run(Ticks called, Ticks callTicks) {
    for (const auto& part : parts_) {
      for (int d = 0; d < static_cast<int>(part->clocks.size()); ++d)
        part->writer.wait(d, called + callTicks, model::WaitCause::host, {}, -1, {});
    }
    for (int iteration = 0; iteration < executable_.facts.iterations; ++iteration) {
      waitForHost(iteration);
      for (const auto& part : parts_)
        part->barrier ? part->barrier->run(iteration) : part->dependency->run(iteration);
      update_.run(iteration);
      iterationEnds_.push_back(lastPart()->clock(lastPart()->slowest()).free);
      parts_.front()->writer.commitIfDue();
    }
    return end();
  }
  /// What the first replica computed.
  const ComputeSpan& computed() const { return parts_.front()->writer.computed(); }
  const std::vector<Ticks>& iterationEnds() const { return iterationEnds_; }

 private:
  /// Lets all devices wait until the host has issued the step.
  void waitForHost(int iteration) {
    if (hostWork_.count == 0) return;
    Ticks ready;
    for (const auto& part : parts_) ready = std::max(ready, part->clock(part->slowest()).free);
    const Ticks issued = issueStep(executable_.facts.host, host_, ready, hostWork_);
    for (const auto& part : parts_) {
      for (int d = 0; d < static_cast<int>(part->clocks.size()); ++d)
        part->writer.wait(d, issued, model::WaitCause::host, {}, -1, {.iteration = iteration});
    }
    host_ = {true, issued, std::max(issued, ready)};
  }

  /// Lets all devices wait for the last device of all replicas. Returns its end.
  Ticks end() {
    const WorkPlace where{.iteration = static_cast<int>(executable_.facts.iterations) - 1};
    RunningPart* last = lastPart();
    const int device = last->slowest();
    const DeviceClock clock = last->clock(device);
    for (const auto& part : parts_) {
      for (int d = 0; d < static_cast<int>(part->clocks.size()); ++d) {
        part->writer.waitForReplica(d, clock.free, model::WaitCause::drain, clock.last,
                                    last->systemDevice(device), where);
      }
    }
    return clock.free;
  }

  /// The part whose slowest device ends last.
  RunningPart* lastPart() const {
    RunningPart* last = parts_.front().get();
    for (const auto& part : parts_) {
      if (part->clock(part->slowest()).free > last->clock(last->slowest()).free) last = part.get();
    }
    return last;
  }

  const EmulatedExecutable& executable_;
  HostClock& host_;
  Ticks hostWork_;  ///< of the host for one step
  RunningParts parts_;
  UpdatePhase update_;
  std::vector<Ticks> iterationEnds_;
};

Emulator::Emulator(record::Recorder& recorder, const devices::System& system, const SystemIds& ids,
                   RecordLevel level)
    : recorder_(recorder), system_(system), ids_(ids), level_(level) {}
Emulator::~Emulator() = default;

HostLoader Emulator::loaderOf(const EmulatedExecutable& executable, Ticks called) {
  const ExecutableFacts& facts = executable.facts;
  const double rate = facts.host.samplesPerSecond(facts.replicas);
  if (rate <= 0) return {};
  // A worker of PyTorch's loader prepares so many micro-batches before it waits for one to be taken.
  constexpr double kAhead = 2;
  const auto ticksPerSecond = static_cast<double>(system_.devices().front().ticksPerSecond);
  HostLoader loader{called, static_cast<double>(facts.microBatchSize) / rate * ticksPerSecond};
  const auto [before, first] = loaded_.try_emplace(executable.id, called);
  const Ticks ahead(static_cast<std::int64_t>(kAhead * loader.ticksPerMicroBatch));
  if (!first) loader.start = std::max(before->second, called - ahead);
  before->second = loader.prepared(facts.iterations * facts.microBatches);
  return loader;
}

Ticks Emulator::hostWork(const EmulatedExecutable& executable) const {
  const ExecutableFacts& facts = executable.facts;
  const double seconds = facts.host.stepSeconds(facts.microBatchSize * facts.microBatches, facts.replicas);
  return base::ticksFromSeconds(seconds, {system_.devices().front().ticksPerSecond});
}

model::Run Emulator::call(const EmulatedExecutable& executable, model::Run run) {
  run.executable = executable.id;
  run.start = now_;
  run.id = nextRun_;
  nextRun_ = model::RunId(nextRun_.value + 1);
  Call call(*this, executable, run.id, loaderOf(executable, run.start));
  now_ = call.run(run.start, system_.callTicks());
  computed_ = call.computed();
  iterationEnds_ = call.iterationEnds();
  run.end = now_;
  const model::RunId recorded = recorder_.add(run);
  PIPESCOPE_CHECK(recorded == run.id, "runs are recorded by the emulator only");
  return run;
}

}  // namespace pipescope::emulate
