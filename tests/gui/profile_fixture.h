#pragma once
// A profile as a pipelined run of four Mk2-like chips leaves it, recorded into memory: the PopART schedule
// with its waits, steps on tiles, transfers, memory and liveness. Deterministic.
#include <memory>

#include "profiler/record/memory_profile.h"

namespace pipescope::testing {

struct FixtureOptions {
  int stages = 4, microBatches = 10, iterations = 4, runs = 3;
  bool fixed = false;     ///< cost units instead of chips: no steps, no memory
  bool inference = true;  ///< a second executable
  bool slowHost = false;  ///< the first stage's samples take longer than any stage's work
  bool overflow = false;  ///< the second device does not fit
  bool tiles = false;     ///< what single tiles do in each step
  bool unitMaps = true;   ///< which tile holds how much of a variable
  bool finish = true;     ///< false: the profile is still being written
};

/// What the tests know about the profile without asking it.
struct FixtureFacts {
  std::int64_t firstRunStart = 0;
  std::vector<std::int64_t> forwardTicks, backwardTicks;  ///< by stage; backward without recompute
  std::vector<std::int64_t> recomputeTicks, updateTicks;
};

/// Writes a profile; further runs can be added to one that is not finished.
class ProfileFixture {
 public:
  explicit ProfileFixture(const FixtureOptions& options = {});
  ~ProfileFixture();

  std::shared_ptr<record::MemoryProfile> profile() const;
  const FixtureFacts& facts() const;
  void addTrainingRun();  ///< and commits it
  void finish(model::ProfileState state, const std::string& reason = {});

 private:
  class Writer;
  std::unique_ptr<Writer> writer_;
};

}  // namespace pipescope::testing
