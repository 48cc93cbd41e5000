#pragma once
// The axes of a plan over all dimensions: each row is one thing that the plan may choose.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/config/configuration.h"

namespace pipescope::app {

/// Samples of the largest micro-batch that a plan tries by itself: each size costs compilations.
inline constexpr std::int64_t kLargestMicroBatch = 32;

/// The facts on which candidates of an axis depend.
struct AxisContext {
  const config::Configuration& given;  ///< with the model's defaults and the system that it means
  std::int64_t chips = 1;              ///< chips of all replicas
  std::int64_t blocks = 1;             ///< blocks of the model, each of which may be a stage
  std::int64_t samples = 1;            ///< samples of a weight update, or of a call in inference
  std::int64_t positions = 0;          ///< tokens of a sample; 0: its inputs are no tokens
  std::int64_t experts = 0;            ///< fewest experts of a layer that has some; 0: none has
  bool keepsScores = false;            ///< software keeps the scores of attention for the backward pass
  bool training = true;
  std::string framework;                             ///< the one that the plan is written for; empty: any
  const std::map<std::string, std::string>& chosen;  ///< values of the axes before this one, by key

  std::int64_t number(const std::string& key) const;  ///< a chosen value; 1 if it is left open
};

/// A new dimension of parallelism needs a row here, and a key. Its lower bounds follow: the plan measures the
/// work and the bytes of one rank for each combination of the axes with `ofRank`.
struct PlanAxis {
  const char* key;               ///< "execution.tensor_parallel"
  const char* name;              ///< heading of its column: "TP"
  bool takesChips;               ///< a replica needs so many times as many chips
  bool ofRank;                   ///< the graph of a rank depends on it
  bool inTraining, inInference;  ///< it has a meaning there
  /// Values that are tried where nobody gives one, the plainest first. An empty text leaves the key as it is.
  std::vector<std::string> (*candidates)(const AxisContext&);
};

/// The axes in the order in which they are chosen.
const std::vector<PlanAxis>& planAxes();
/// Keys of planAxes() that say more than their value: true if the configuration gives the axis in other
/// words, as shard_weights gives execution.zero.
bool fixedByOtherKeys(const PlanAxis& axis, const config::Configuration& given);

}  // namespace pipescope::app
