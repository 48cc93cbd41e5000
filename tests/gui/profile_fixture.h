#pragma once
// Records a profile into memory that looks like one of a pipelined run on four Mk2-like chips. It has the
// PopART schedule with its waits, steps on tiles, transfers, memory and liveness. The content never varies.
#include <memory>

#include "profiler/record/memory_profile.h"

namespace pipescope::testing {

struct FixtureOptions {
  int stages = 4, microBatches = 10, iterations = 4, runs = 3;
  bool fixed = false;     ///< fixed costs instead of chips, so no steps and no memory
  bool outcomes = true;   ///< false: a run that was stopped
  bool inference = true;  ///< adds a second executable, for inference
  bool slowHost = false;  ///< the first stage's samples take longer than any stage's work
  bool overflow = false;  ///< the second device's memory overflows
  bool tiles = false;     ///< records single tiles in each step
  bool unitMaps = true;   ///< records how many bytes of each variable a tile holds
  bool imported = false;  ///< the profile says that it was imported, and has no memory
  bool finish = true;     ///< false: the profile is still being written
};

/// Facts about the profile that the tests compare with what the window shows.
struct FixtureFacts {
  std::int64_t firstRunStart = 0;
  std::vector<std::int64_t> forwardTicks, backwardTicks;  ///< by stage; backward without recompute
  std::vector<std::int64_t> recomputeTicks, updateTicks;
};

/// Writes a profile. Tests can add further runs to an unfinished one.
class ProfileFixture {
 public:
  explicit ProfileFixture(const FixtureOptions& options = {});
  ~ProfileFixture();

  std::shared_ptr<record::MemoryProfile> profile() const;
  const FixtureFacts& facts() const;
  void addTrainingRun();  ///< also commits the run
  void finish(model::ProfileState state, const std::string& reason = {});

 private:
  class Writer;
  std::unique_ptr<Writer> writer_;
};

}  // namespace pipescope::testing
