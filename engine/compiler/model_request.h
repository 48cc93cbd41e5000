#pragma once
// Request to the model compiler, in plain values. Programs translate their configurations to this; a search
// over splits changes it and compiles again.
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/compile/float8_casts.h"
#include "engine/compile/ir_builder.h"
#include "engine/compile/sharding/division_rule.h"
#include "engine/compile/sharding/expert_load.h"
#include "engine/compiler/stage_layout.h"
#include "engine/devices/core/system_options.h"
#include "engine/emulate/emulated_executable.h"
#include "engine/graph/graph.h"
#include "engine/numerics/session_options.h"
#include "engine/optimizers/optimizer.h"

namespace pipescope::compile {

/// Copies of all stages that run side by side on other samples.
struct ReplicaRequest {
  int count = 1;
  /// The count is not 1 but as many replicas as ModelRequest::devices holds, if that is given.
  bool fillsDevices = false;
  std::int64_t inputGroup = 1;  ///< neighbouring replicas that get the same samples (training)
  bool compares = false;        ///< numerics compares the weights of the replicas after training
};

/// One executable: training, validation or inference.
struct ExecutableRequest {
  model::ExecutableKind kind = model::ExecutableKind::training;
  std::string name;  ///< of the executable; empty: its kind
  /// The forward graph in the types of the model, with its loss where it is trained.
  std::shared_ptr<const graph::Graph> forward;
  /// The model whose parts the ranks of a place compute, where it differs: with key heads or heads that are
  /// repeated, so that each rank has as many. Null: `forward`.
  std::shared_ptr<const graph::Graph> forwardOfRanks = nullptr;
  std::int64_t microBatchSize = 1;
  std::int64_t microBatches = 1;  ///< micro-batches of training that are accumulated before one weight update
  std::int64_t deviceIterations = 1;
  std::vector<double> microBatchCosts;  ///< see ExecutableFacts
  ReplicaRequest replicas;
  emulate::OutputRule output;
  /// Tokens of a sample for whose keys and values the devices keep memory; 0: they keep none.
  std::int64_t cacheRoom = 0;
};

/// Update of the weights, which training computes besides the model. It decides what an update costs and
/// keeps.
struct UpdateRequest {
  std::shared_ptr<const optimizers::Optimizer> optimizer;
  /// Options of numerics. The compiler reads the accumulator's type, means, clipping, master weights, groups
  /// of weights and the loss scale.
  numerics::SessionOptions numbers;
  std::int64_t normReplicas = 1;   ///< neighbouring replicas that share the statistics of batch norms
  bool mergeCollectives = true;    ///< see IrOptions
  bool reduceScatter = true;       ///< see IrOptions
  bool overlapCollectives = true;  ///< see IrOptions
  /// See IrOptions; nothing: with master weights as the system's framework does.
  std::optional<bool> gradientBuffers = {};
  /// Weights whose gradients of a micro-batch are outputs behind those of the model.
  std::vector<std::string> returnedGradients;
};

/// Choice of the values that a backward pass computes again instead of keeping them.
struct RecomputeRequest {
  /// selective: `operators` are computed again, or the scores of attention, and nothing else.
  enum class Mode { automatic, always, never, selective } mode = Mode::automatic;
  /// Mode::automatic: pipelines compute their stages again, as the system's framework does by itself.
  bool usual = true;
  /// Patterns of operator names whose results are kept; naming some means Mode::always.
  std::vector<std::string> checkpoints;
  /// Mode::selective: patterns of operator names; empty: the scores of attention.
  std::vector<std::string> operators;
};

/// The ranks of a place, which share the work of its stages.
struct RankRequest {
  int tensor = 1;                 ///< ranks that divide the tensors of each layer
  bool sequence = false;          ///< they also divide the rows between the products
  std::vector<ShardRule> shards;  ///< what the user says of single weights
  int context = 1;                ///< ranks that divide the positions of each sample
  bool exchangesHeads = false;    ///< attention exchanges positions for heads, and gathers no keys and values
  bool ring = false;              ///< keys and values go around the ranks instead of being gathered
  bool paired = true;             ///< ranks have an early and a late part of the positions (CausalRanks)
  /// True: neighbouring chips are replicas of one place. False: they are places of one replica. Nothing: the
  /// order that is usual for the system (Mesh::placesOutermost).
  std::optional<bool> placesOutermost = {};
  int expert = 1;  ///< ranks that divide the experts, each with samples of its own
  ExpertLoad expertLoad;
  /// Key heads of the model, and how often each is repeated for the ranks; 1: not at all.
  std::int64_t keyHeads = 0, keyRepeats = 1;
  /// Heads that do not divide by `tensor`, and the ranks that divide them; each part is repeated. 0: none.
  std::int64_t heads = 0;
  int headRanks = 0;

  int width() const { return tensor * context * expert; }
};

struct ModelRequest {
  std::vector<ExecutableRequest> executables;
  RankRequest ranks;
  LayoutRequest layout;
  graph::ElementType precision = graph::ElementType::float32;
  std::vector<std::string> float32Operators;  ///< operator types that stay in float32
  std::optional<Float8Request> float8;        ///< products multiply float8 numbers
  std::optional<bool> fusedAttention;         ///< none: as the system's software usually does
  bool stochasticRounding = false;
  UpdateRequest update;  ///< update of the training executable
  RecomputeRequest recompute;
  /// A single replica may be asked to share tensors out, as frameworks allow with ZeRO. It keeps them whole.
  bool sharesIfReplicated = false;
  TensorLocations locations;  ///< locations of training; inference takes the weights' place off the chip
  std::set<std::string> passesOff;                  ///< compiler passes that do not run
  bool overlapIo = false;                           ///< see ExecutableFacts
  emulate::HostModel host;                          ///< see ExecutableFacts
  std::optional<emulate::HostModel> inferenceHost;  ///< of inference and validation; none: `host`
  bool recordAllReplicas = false;                   ///< see ExecutableFacts
  int processes = 1;                                ///< number of processes that share the replicas
  bool computesNumbers = true;  ///< numbers are computed too, which takes so many replicas only
  /// Only what devices hold and do is wanted. Graphs that numbers are computed with may be left as they are.
  bool devicesOnly = false;

  std::string system = "pod4";
  devices::SystemOptions systemOptions;
  std::int64_t devices = 0;  ///< chips that may be used; 0: all of the system
  std::vector<emulate::DeviceScale> scales;

  /// A text that differs between requests which differ in more than the number of micro-batches. Compilations
  /// that share LoweredStages find the split of such a request again. Empty: there is no such text.
  std::string origin;
};

}  // namespace pipescope::compile
