#pragma once
// Writes profiles that are larger than any run of a test machine, through Recorder as the engine does.
#include <cstdint>

#include "profiler/base/result.h"
#include "profiler/record/recorder.h"

namespace pipescope::bench {

/// A training step of `devices` stages over `microBatches`, with one stage on each device and 1F1B with
/// recompute. Every stage has its own segments, steps, names and memory. Lengths vary by a few per cent
/// between stages. Order, waits and transfers follow from the dependencies. The default has 256 · 2,048 ·
/// (480 + 480 + 960) ≈ 1.007 · 10⁹ emulated steps.
struct PipelineShape {
  int devices = 256;
  int microBatches = 2048;
  int forwardSteps = 480;  ///< steps, those of the recompute too; the backward pass has twice as many
  int tilesPerDevice = 1472;
  bool tiles = false;  ///< true: records what single tiles do, too
  std::int64_t emulatedSteps() const { return std::int64_t{devices} * microBatches * forwardSteps * 4; }
};
base::Status recordPipeline(record::Recorder& recorder, const PipelineShape& shape);

/// An imported trace: `events` steps on `lanes` lanes of one device, none of them repeated, in segments of a
/// million steps that are placed once each. Programs follow each other as in a loop with rare branches.
/// Lengths are those of the program ± 2 %. Three of ten steps follow a gap of up to 64 ticks.
struct EventShape {
  std::int64_t events = 10'000'000;
  int lanes = 8;
  int programs = 2000;
};
base::Status recordEvents(record::Recorder& recorder, const EventShape& shape);

}  // namespace pipescope::bench
