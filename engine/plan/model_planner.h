#pragma once
// The best contiguous split of a model into a number of stages, by compiling and emulating.
#include <cstdint>
#include <limits>
#include <optional>

#include "engine/compiler/lowered_stages.h"
#include "engine/compiler/model_request.h"
#include "engine/plan/tried_plan.h"
#include "profiler/base/executor.h"
#include "profiler/base/progress.h"

namespace pipescope::plan {

/// A split that was compiled and emulated, with what a configuration must say to get it.
struct SplitPlan {
  TriedPlan tried;
  /// The names of the operators with which the stages after the first begin.
  std::vector<std::string> cuts;
  /// Blocks of the model that each stage holds. Empty: a stage ends within a block.
  std::vector<std::vector<std::string>> blocks;
  /// Device of each stage. Empty: the schedule's devices.
  std::vector<int> devices;
  std::vector<int> places;  ///< place of each stage
};

struct ModelPlan {
  SplitPlan best;
  std::optional<SplitPlan> runnerUp;  ///< the best of the other splits that were compiled
  /// Stages with equally many blocks, or one more. None: the model has fewer blocks than stages, or cannot be
  /// split so.
  std::optional<TriedPlan> equalBlocks;
  /// Samples per second, as estimated, if all stages took as long as their mean.
  double balancedSamplesPerSecond = 0;
  bool exact = false;         ///< all splits were compiled
  std::int64_t compiled = 0;  ///< splits that were compiled
};

/// Places at which stages may begin.
enum class CutLevel {
  anywhere,  ///< any unit may begin a stage
  blocks,    ///< a block of the model begins each stage, as in frameworks that divide models by layers
  /// A block whose name ends in a number, or the one that follows the last of them, begins each stage. Blocks
  /// that precede the numbered ones stay in the first stage, and those that follow them in the last one.
  numberedBlocks,
};

/// Plans LayoutRequest::splitInto stages; other ways to say what the stages are must be empty. `start` names
/// the stages of a plan that is tried as well, if they are contiguous.
///
/// The costs of stages are estimated from those of the operators, and known once a stage was compiled. The
/// search repeats: find the best split for the costs that are known, with the schedule emulated on given
/// costs; compile it; correct the costs. Small models have all their splits compiled. Cuts between blocks are
/// preferred to others that gain less than 0.3 %. `known` serves further plans, too. The search ends once it
/// has compiled about `mostCompiled` splits.
/// Refused: phased strategies, what the compiler refuses, and fewer blocks than stages where only they may be
/// divided.
base::Result<ModelPlan> planModel(const compile::ModelRequest& request,
                                  const std::vector<compile::StageRequest>& start,
                                  compile::LoweredStages& known, base::Executor& executor,
                                  base::Progress& progress, CutLevel level = CutLevel::anywhere,
                                  std::int64_t mostCompiled = std::numeric_limits<std::int64_t>::max());

/// Samples per second that no plan of the request exceeds: with stages that all take the mean of the
/// operators' costs, and without fill, drain and exchange. A margin allows for what splitting changes in the
/// costs. Errors: those of planModel before its search.
base::Result<double> mostSamplesPerSecond(const compile::ModelRequest& request, compile::LoweredStages& known,
                                          base::Executor& executor);

}  // namespace pipescope::plan
