#pragma once
// What follows a flush: gradients summed over replicas, then weight updates. Here, and only here, replicas
// wait for each other.
#include <memory>
#include <vector>

#include "engine/emulate/flush.h"

namespace pipescope::emulate {

/// A recorded replica under way: its devices' clocks and its flush.
struct RunningPart {
  RunningPart(const Executable& executable, const ReplicaPart& part, const devices::System& system,
              record::Recorder& recorder, const SystemIds& ids, RecordLevel level, model::RunId run,
              Ticks now);

  void setLoader(const Loader& loader);
  const FlushBase& flush() const { return barrier ? static_cast<const FlushBase&>(*barrier) : *dependency; }
  DeviceClock& clock(int device) { return clocks[static_cast<std::size_t>(device)]; }
  int systemDevice(int device) const { return part.firstDevice + device; }
  /// The device that is done last.
  int slowest() const;
  /// All devices wait for the slowest.
  void align(model::WaitCause cause, const Where& where);

  const ReplicaPart& part;
  std::vector<DeviceClock> clocks;
  TimelineWriter writer;
  std::unique_ptr<BarrierFlush> barrier;  ///< one of the two, by the order's sync
  std::unique_ptr<DependencyFlush> dependency;
};
using RunningParts = std::vector<std::unique_ptr<RunningPart>>;

class UpdatePhase {
 public:
  UpdatePhase(const Executable& executable, RunningParts& parts) : executable_(executable), parts_(parts) {}
  void run(int iteration);

 private:
  /// Each device waits for the one that holds the same stages: it has sums to give, too.
  void meetMirrored(int iteration);
  /// One device's place in all replicas. True where it did anything.
  bool updateDevice(int device, int iteration);
  /// A collective that runs beside the last micro-batch's backward pass.
  struct Overlapped {
    int stage = 0;
    std::size_t index = 0;        ///< in the stage's list
    Ticks ready, ticks;           ///< when all replicas have its gradients; how long the slowest takes
    RunningPart* late = nullptr;  ///< whose gradients come last
  };
  /// Those of all stages of the device, as they become ready.
  std::vector<Overlapped> overlappedOf(int device) const;
  /// A device has one lane for them: one at a time, whatever stage they are of. Afterwards the device has
  /// waited for the last.
  void finishOverlapped(int device, int iteration);
  /// Place `index` of the stage's list in all replicas; at a collective they wait for the last of them.
  void placeAll(int device, int stage, std::size_t index, const Where& where);
  const StageSegments& segments(const RunningPart& part, int stage) const {
    return part.part.stages[static_cast<std::size_t>(stage)];
  }

  const Executable& executable_;
  RunningParts& parts_;
};

}  // namespace pipescope::emulate
