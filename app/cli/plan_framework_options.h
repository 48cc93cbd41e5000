#pragma once
// The options of training frameworks that go with a plan: everything but its stages.
#include <cstdint>
#include <string>

#include "profiler/base/result.h"

namespace pipescope::cli {

/// The run of a plan, for the options of frameworks.
struct FrameworkRun {
  std::int64_t tensor = 1, context = 1, experts = 1, places = 1;
  std::int64_t replicas = 1;    ///< of all ranks; those that divide experts take samples of their own, too
  bool exchangesHeads = false;  ///< ranks that divide positions exchange them for heads
  std::int64_t stages = 1;      ///< over all places
  std::int64_t microBatchSize = 1, microBatches = 1;
  bool sequence = false;
  std::int64_t zero = 0;
  std::int64_t recomputedLayers = 0;  ///< layers between two results that are kept; 0: nothing is recomputed
  bool recomputesScores = false;      ///< the scores of attention are computed again, and nothing else
  std::string precision;              ///< "bfloat16"
  std::int64_t samples() const { return microBatchSize * microBatches * replicas * experts; }
};

/// Arguments of Megatron-LM's pretrain scripts without the layout, one on each line. Refused: ZeRO stages 2
/// and 3. Source: Megatron-LM, megatron/training/arguments.py. Virtual stages follow from the layout.
base::Result<std::string> megatronOptions(const FrameworkRun& run);

/// DeepSpeed's configuration as JSON. Refused: ZeRO stages 2 and 3 with a pipeline, as PipelineEngine does,
/// and what DeepSpeed says in the model's code: ranks that divide positions or experts. Sources:
/// deepspeed/runtime/config.py (get_pipeline_config), deepspeed/runtime/zero/config.py,
/// deepspeed/runtime/pipe/engine.py.
base::Result<std::string> deepSpeedOptions(const FrameworkRun& run);

}  // namespace pipescope::cli
