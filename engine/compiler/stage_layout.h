#pragma once
// Decides which blocks are a stage, and on which place each stage is.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/compile/stage_division.h"
#include "engine/devices/core/system_options.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

/// Ways in which stages share the work: all at once on different micro-batches, one at a time, or as phases
/// that take turns on one group of devices or on two.
enum class Strategy { pipelined, sharded, serialPhased, parallelPhased };
/// "serial_phased".
std::string toString(Strategy strategy);
/// The strategies' names in the order of the enumeration.
std::vector<std::string> strategyNames();
/// The strategy of such a name, which must be one of strategyNames().
Strategy strategyOf(const std::string& name);
constexpr bool isPhased(Strategy strategy) {
  return strategy == Strategy::serialPhased || strategy == Strategy::parallelPhased;
}

struct StageRequest {
  std::vector<std::string> blocks;  ///< names or patterns (block_pattern.h)
  int place = -1;                   ///< −1: as the schedule or the strategy lays stages out
  int phase = -1;                   ///< −1: each stage is a phase
  std::vector<devices::FamilySetting> settings = {};  ///< settings of the device that holds the stage
};

struct LayoutRequest {
  Strategy strategy = Strategy::pipelined;
  std::string schedule = "popart";           ///< schedule of a pipeline
  bool scheduleAsked = true;                 ///< false: nobody asked for it; it is usual for the system
  std::vector<StageRequest> stages;          ///< empty: each block is a stage
  bool whole = false;                        ///< true: all blocks are one stage if no stages are given
  int splitInto = 0;                         ///< instead of `stages`: their number (stage_split.h)
  std::vector<std::int64_t> layersPerStage;  ///< instead of `stages`
  /// Operators with which the stages after the first begin (stage_split.h). They stand instead of `stages`.
  std::vector<std::string> cuts;
  /// Devices of the stages that `cuts` makes; empty: the schedule decides.
  std::vector<std::int64_t> cutDevices;
  int chunks = 0;                      ///< stages on each device; 0: as the schedule wants it
  bool separateBackwardPhase = false;  ///< true: the last phase's backward pass is a phase of its own
  bool copiesWeights = false;          ///< see devices::System::copiesWeights
};

/// The schedule that runs: a strategy other than the pipelined one has its own.
std::string scheduleOf(const LayoutRequest& layout);
/// True if stages at several places may use one weight, of which each place then keeps a copy. A schedule
/// that holds the model twice has no such stages.
bool copiesWeights(const LayoutRequest& layout);

/// Blocks and device of each stage. Refused: requests that contradict each other, and what placeStages and
/// placePhases refuse.
base::Result<std::vector<StageSpec>> layOutStages(const LayoutRequest& layout, const graph::Graph& graph);

/// The settings of single devices, as stages ask for them. Refused: two different values on one device.
base::Result<std::vector<devices::FamilySetting>> deviceSettings(const LayoutRequest& layout,
                                                                 const std::vector<StageSpec>& stages);

/// The phase of each of `stages` stages.
std::vector<int> phaseOfStages(const LayoutRequest& layout, int stages);

/// Gives a device to each stage of a phased strategy. A serial strategy puts the stages of every phase on the
/// same devices 0, 1 …; a parallel one puts even phases on devices 0, 2 … and odd phases on 1, 3 …. Refused:
/// no stages, phases that do not count up from 0, and a device that is outside its phase's group. Stages that
/// do not all name their devices: phases with different numbers of stages, and a device that a phase uses
/// twice. Otherwise a phase may return to a device after a stage on another one.
base::Status placePhases(const LayoutRequest& layout, std::vector<StageSpec>& stages);

}  // namespace pipescope::compile
