#pragma once
// Profiles of a size that no test machine could run, written through Recorder as the engine would.
#include <cstdint>

#include "profiler/base/result.h"
#include "profiler/record/recorder.h"

namespace pipescope::bench {

/// A training step of `devices` stages over `microBatches`, one stage a device, one forward one backward with
/// recomputation. Every stage has segments, steps, names and memory of its own; lengths vary by a few per
/// cent from stage to stage; order, waits and transfers follow from the dependencies. The default has 256 ·
/// 2,048 · (480 + 480 + 960) ≈ 1.007 · 10⁹ emulated steps.
struct PipelineShape {
  int devices = 256;
  int microBatches = 2048;
  int forwardSteps = 480;  ///< also of the recomputation; the backward pass has twice as many
  int tilesPerDevice = 1472;
  bool tiles = false;  ///< also what single tiles do
  std::int64_t emulatedSteps() const { return std::int64_t{devices} * microBatches * forwardSteps * 4; }
};
base::Status recordPipeline(record::Recorder& recorder, const PipelineShape& shape);

/// An imported trace: `events` steps on `lanes` lanes of one device, none repeated, in segments of a million
/// steps that are placed once each. Programs follow each other as in a loop with rare branches, lengths are
/// the program's own ± 2 %, three of ten steps follow a gap of up to 64 ticks.
struct EventShape {
  std::int64_t events = 10'000'000;
  int lanes = 8;
  int programs = 2000;
};
base::Status recordEvents(record::Recorder& recorder, const EventShape& shape);

}  // namespace pipescope::bench
