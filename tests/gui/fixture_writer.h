#pragma once
#include <map>
#include <random>
#include <string>
#include <vector>

#include "fixture_host.h"
#include "profile_fixture.h"
#include "profiler/record/recorder.h"

namespace pipescope::testing {

using base::Bytes;
using base::Ticks;

struct SegmentRef {
  model::SegmentId id;
  Ticks ticks;
  model::Pass pass = model::Pass::forward;
};

/// The segments of one stage of one executable.
struct StageWork {
  std::vector<SegmentRef> hostIn, forward, recompute, backward, update, hostOut;
};

struct FixtureExecutable {
  model::ExecutableId id;
  bool training = true;
  int slots = 0;
  std::vector<StageWork> stages;
  std::vector<SegmentRef> sync;  ///< by device
};

class ProfileFixture::Writer {
 public:
  explicit Writer(const FixtureOptions& options);

  void addRun(const FixtureExecutable& executable);
  void addOutcomes();
  record::Recorder& recorder() { return recorder_; }
  const FixtureExecutable& training() const { return training_; }

  std::shared_ptr<record::MemoryProfile> profile = std::make_shared<record::MemoryProfile>();
  FixtureFacts facts;

 private:
  struct Clock {
    Ticks free;
    model::PlacementId last;
  };

  void addSystem();
  void addConfiguration();
  FixtureExecutable addExecutable(bool training);
  void addStage(FixtureExecutable& executable, int stage);
  SegmentRef addSegment(const FixtureExecutable& executable, int stage, model::Pass pass,
                        const std::vector<std::string>& operations, std::int64_t ticks);
  void addSteps(model::SegmentId segment, int device, const FixtureExecutable& executable, model::Pass pass,
                const std::vector<std::string>& operations, std::int64_t ticks);
  void addStep(model::SegmentId segment, int device, model::ExecutableId executable, model::StepKind kind,
               const std::string& path, std::int64_t offset, std::int64_t ticks, model::OperatorId op = {});
  void addTiles(const model::Step& step);
  void addMemory(const FixtureExecutable& executable, int device);
  void addUnits(const FixtureExecutable& executable, int device);
  void addVertices(const FixtureExecutable& executable, model::MemorySpaceId space,
                   model::ProgramId computeSet);
  model::DebugContextId name(const std::string& path);
  model::ProgramId program(model::ExecutableId executable, int device, const std::string& kind,
                           const std::string& path, model::OperatorId op = {});

  void flush(const FixtureExecutable& executable, model::RunId run, int iteration);
  bool runSlot(const FixtureExecutable& executable, model::RunId run, int iteration, int slot, int device);
  void exchange(const FixtureExecutable& executable, model::RunId run, int iteration, int slot, int slowest);
  void place(int device, const std::vector<SegmentRef>& segments, model::RunId run, int stage, int microBatch,
             int iteration, int slot);
  void wait(int device, Ticks until, model::WaitCause cause, model::PlacementId waitedFor,
            int waitedForDevice, model::RunId run, int iteration, int slot);

  FixtureOptions options_;
  record::Recorder recorder_;
  std::minstd_rand random_{7};
  std::vector<model::DeviceId> devices_;
  std::vector<std::map<model::LaneRole, model::LaneId>> lanes_;
  std::vector<model::MemorySpaceId> memory_;
  std::map<std::pair<int, int>, model::LinkId> links_;
  std::map<std::string, model::DebugContextId> names_;
  std::map<std::string, model::ProgramId> programs_;
  std::map<std::int64_t, model::OperatorId> lastForward_;  ///< by executable
  FixtureExecutable training_, inference_;
  std::vector<Clock> clocks_;
  Ticks now_;
  int runs_ = 0;
  std::unique_ptr<FixtureHost> host_;  ///< null: the profile does not tell what the host did
  std::int64_t steps_ = 0;
  model::CounterId loss_;
};

}  // namespace pipescope::testing
