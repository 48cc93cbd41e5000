#include "engine/compiler/model_compiler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "engine/compile/attention/causal_work.h"
#include "engine/compile/attention/fused_attention.h"
#include "engine/compile/attention/ring_attention.h"
#include "engine/compile/distributed_norm.h"
#include "engine/compile/gradients.h"
#include "engine/compile/loss_scaling.h"
#include "engine/compile/multi_conv.h"
#include "engine/compile/precision.h"
#include "engine/compile/recompute.h"
#include "engine/compile/sharding/gathered_again.h"
#include "engine/compiler/lower_again.h"
#include "engine/compiler/network_rate.h"
#include "engine/compiler/pass_savings.h"
#include "engine/compiler/rank_divider.h"
#include "engine/compiler/replica_count.h"
#include "engine/compiler/tensor_placement.h"
#include "engine/compiler/unused_options.h"
#include "engine/compiler/update_cost.h"
#include "engine/devices/system_registry.h"
#include "engine/ops/standard_operators.h"
#include "engine/schedules/phases.h"
#include "profiler/clock/ring_entries.h"
#include "profiler/record/host_span.h"

namespace pipescope::compile {

bool recomputes(const ModelRequest& request, int stages) {
  if (!request.recompute.checkpoints.empty()) return true;
  if (request.recompute.mode != RecomputeRequest::Mode::automatic)
    return request.recompute.mode == RecomputeRequest::Mode::always;
  return request.recompute.usual && request.layout.strategy == Strategy::pipelined && stages > 1;
}

namespace {

/// Adds the gradients of these weights to the outputs of the graph.
base::Status returnGradients(graph::Graph& graph, const std::vector<std::string>& weights) {
  for (const std::string& name : weights) {
    const auto found = std::ranges::find_if(
        graph.parameterGradients, [&](const auto& each) { return graph.tensor(each.first).name == name; });
    if (found == graph.parameterGradients.end()) {
      return base::badInput(fmt::format(
          "training.returned_gradients names {}, but no trained weight is called so: leave it out.", name));
    }
    graph.outputs.push_back(found->second);
  }
  return {};
}

/// Bytes of all trained weights in a type.
base::Bytes weightBytes(const graph::Graph& graph, graph::ElementType type) {
  std::int64_t elements = 0;
  for (const graph::Tensor& tensor : graph.tensors()) {
    if (tensor.role == graph::TensorRole::parameter) elements += tensor.type.elements();
  }
  return base::Bytes(elements * graph::sizeOf(type));
}

/// A graph on its way to an IR.
struct StagedGraph {
  graph::Graph graph;
  std::vector<StageSpec> stages;
};

class ModelCompiler {
 public:
  ModelCompiler(const ModelRequest& request, base::Executor& executor, LoweredStages* known)
      : request_(request), executor_(executor), known_(known), ranks_(request.ranks) {}

  base::Result<Compilation> compile() {
    for (const ExecutableRequest& executable : request_.executables) PIPESCOPE_TRY(add(executable));
    PIPESCOPE_TRY(checkScales(request_.scales, result_.devicesUsed));
    notePhases();
    noteIdleDevices();
    noteRanksInBoxes();
    noteCausalWork();
    for (std::string& notice : ranks_.notices()) result_.notices.push_back(std::move(notice));
    for (std::string& notice : unusedOptions(request_, result_)) result_.notices.push_back(std::move(notice));
    return std::move(result_);
  }

 private:
  base::Status add(const ExecutableRequest& asked) {
    PIPESCOPE_HOST_SPAN(span, "compiler", "compile an executable");
    const bool training = asked.kind == model::ExecutableKind::training;
    PIPESCOPE_ASSIGN(StagedGraph staged, stageGraph(asked, training, true));
    PIPESCOPE_TRY(goOn());
    CompiledExecutable executable;
    PIPESCOPE_ASSIGN(schedules::Shape shape, shapeOf(staged.stages, training));
    executable.facts = facts(asked, training && recomputes(shape.stages));
    executable.facts.divisions = ranks_.takeDivisions();
    executable.facts.expertImbalance = ranks_.expertLoads().imbalance;
    executable.facts.hottestRank = static_cast<std::int64_t>(ranks_.expertLoads().hottest);
    shape.microBatches = static_cast<int>(executable.facts.microBatches);
    PIPESCOPE_ASSIGN(executable.order, schedules::makeOrder(executable.facts.schedule, shape));
    PIPESCOPE_ASSIGN(Mesh replicas, mesh(asked, shape, executable.order));
    // Ranks that divide experts take samples of their own.
    executable.facts.replicas = replicas.replicas * replicas.experts;
    PIPESCOPE_TRY(makeSystem(replicas, staged.stages));
    PIPESCOPE_TRY(orderAxes(replicas));
    PIPESCOPE_TRY(checkSideBySide(staged.graph));
    PIPESCOPE_ASSIGN(std::optional<StagedGraph> fused, fusedGraph(staged));
    PassRunner ofPlan = makePasses(staged.stages);
    PIPESCOPE_TRY(finishGraph(asked, fused ? *fused : staged, ofPlan, executable));
    if (fused && !request_.devicesOnly) {
      PassRunner ofNumbers = makePasses(staged.stages);
      PIPESCOPE_TRY(finishGraph(asked, staged, ofNumbers, executable));
    }
    PIPESCOPE_ASSIGN(const IrOptions options, planOptions(asked, executable, shape, replicas));
    PIPESCOPE_ASSIGN(executable.ir, buildIr(fused ? fused->graph : staged.graph, staged.stages, options,
                                            ops::standardOperators()));
    fused.reset();  // lowering may use its memory
    executable.ir.ordersForMemory = result_.system->ordersForMemory();
    executable.ir.sharesCode = result_.system->sharesCode();
    executable.ir.runsSideBySide = result_.system->runsSideBySide();
    PIPESCOPE_TRY(goOn());
    runPasses(ofPlan, staged.stages, executable.ir);
    if (result_.system->placesShareLinks()) noteRingBytes(executable.ir);
    executable.facts.host.networkRate = networkRate(executable.ir, *result_.system, asked.microBatchSize);
    PIPESCOPE_ASSIGN(executable.lowered, lowerStages(executable.ir, *result_.system, executor_, known_));
    if (!request_.devicesOnly) addSavings(ofPlan, executable.ir, *result_.system, executable.lowered);
    executable.passes = ofPlan.takeReports();
    for (PassReport& report : executable.passes) {
      // The operators of a long model take much memory, and nothing needs them any more.
      report.effect.removed.clear();
      report.effect.added.clear();
    }
    executable.rankGraph = std::make_shared<const graph::Graph>(std::move(staged.graph));
    executable.graph = executable.rankGraph;
    if (request_.ranks.width() > 1 && !request_.devicesOnly) {
      PIPESCOPE_ASSIGN(StagedGraph undivided, stageGraph(asked, training, false));
      PIPESCOPE_TRY(differentiate(asked, undivided));
      executable.graph = std::make_shared<const graph::Graph>(std::move(undivided.graph));
    }
    executable.tokensPerSample = tokensPerSample(*asked.forward);
    executable.facts.host.weights = weightBytes(*asked.forward, request_.precision);
    result_.executables.push_back(std::move(executable));
    return {};
  }

  base::Status goOn() const { return known_ == nullptr ? base::Status() : known_->goOn(); }

  /// Adds gradients, runs the passes, then adds what is computed again.
  base::Status finishGraph(const ExecutableRequest& asked, StagedGraph& staged, PassRunner& passes,
                           const CompiledExecutable& executable) const {
    std::set<std::string> scores;
    if (executable.facts.recompute == "selective") {
      const std::vector<std::string>& operators = request_.recompute.operators;
      PIPESCOPE_ASSIGN(scores, operators.empty()
                                   ? attentionScores(staged.graph, ops::standardOperators())
                                   : nodesNamed(staged.graph, operators, "execution.recompute_operators"));
    }
    PIPESCOPE_TRY(differentiate(asked, staged));
    if (request_.ranks.sequence && asked.kind == model::ExecutableKind::training) {
      PIPESCOPE_ASSIGN(staged.graph, gatherAgain(staged.graph, ops::standardOperators()));
    }
    if (request_.ranks.ring) {
      PIPESCOPE_ASSIGN(staged.graph, expandRings(std::move(staged.graph), ops::standardOperators()));
    }
    PIPESCOPE_TRY(goOn());
    PIPESCOPE_TRY(passes.runOn(staged.graph));
    if (executable.facts.recompute == "selective") {
      PIPESCOPE_ASSIGN(staged.graph, withRecomputeOf(staged.graph, staged.stages, scores));
    } else if (executable.facts.recompute != "none") {
      PIPESCOPE_TRY(addRecompute(staged, executable.order));
    }
    return goOn();
  }

  /// The graph that is planned where the system's software fuses attention. Numbers are computed by the
  /// operators of the model. None: it fuses none.
  base::Result<std::optional<StagedGraph>> fusedGraph(const StagedGraph& plain) {
    const std::optional<std::int64_t> usual = result_.system->fusesAttentionFrom();
    if (!request_.fusedAttention.value_or(usual.has_value())) {
      if (request_.ranks.ring)
        return base::badInput(
            "execution.context_exchange is ring, which needs fused attention: choose gather or heads, or a "
            "system and options that fuse it.");
      return std::optional<StagedGraph>();
    }
    if (!usual) {
      return base::badInput(fmt::format(
          "The software of system {} has no fused attention: leave execution.fused_attention out, "
          "or choose a system of cards, such as hls-gaudi2.",
          result_.system->name()));
    }
    AttentionFusion fusion{.leastKeys = request_.fusedAttention ? 1 : *usual};
    if (request_.float8 && request_.float8->allProducts) fusion.factors = request_.float8->forward;
    fusion.skipsMasked = result_.system->skipsMaskedAttention();
    fusion.paired = request_.ranks.paired;
    fusion.ring = request_.ranks.ring;
    PIPESCOPE_ASSIGN(std::optional<graph::Graph> fused,
                     fuseAttention(plain.graph, fusion, ops::standardOperators()));
    const auto isRing = [](const graph::Node& node) {
      return node.op == "FusedAttention" && node.attributes.contains("ranks");
    };
    if (request_.ranks.ring && request_.ranks.context > 1 &&
        (!fused || std::ranges::none_of(fused->nodes(), isRing)))
      return base::badInput(
          "execution.context_exchange is ring, but no attention of the model is fused with keys and values "
          "that "
          "its ranks gather: set execution.fused_attention to true for short samples, or choose gather or "
          "heads.");
    if (!fused) return std::optional<StagedGraph>();
    skipsMasked_ = skipsMasked_ || std::ranges::any_of(fused->nodes(), [&](const graph::Node& node) {
                     return fusion.skipsMasked && node.attributes.contains("keys_seen");
                   });
    return std::optional(StagedGraph{*std::move(fused), plain.stages});
  }

  /// The forward graph in the types that are computed, placed into stages. `ofRank`: the graph of one of the
  /// ranks that share the model, not the undivided one.
  base::Result<StagedGraph> stageGraph(const ExecutableRequest& asked, bool training, bool ofRank) {
    const ops::OperatorRegistry& operators = ops::standardOperators();
    StagedGraph staged;
    const graph::Graph& forward = ofRank && asked.forwardOfRanks ? *asked.forwardOfRanks : *asked.forward;
    PIPESCOPE_ASSIGN(staged.graph,
                     withPrecision(forward, request_.precision, operators, request_.float32Operators));
    if (training) {
      PIPESCOPE_ASSIGN(staged.graph,
                       distributeBatchNorm(std::move(staged.graph), request_.update.normReplicas, operators));
    }
    if (ofRank) {
      PIPESCOPE_ASSIGN(staged.graph, ranks_.divide(std::move(staged.graph)));
    }
    PIPESCOPE_ASSIGN(staged.stages, layOutStages(request_.layout, staged.graph));
    PIPESCOPE_TRY(checkMultiConvs(staged.graph, staged.stages));
    return staged;
  }

  /// Scales the loss, and adds gradients and casts to float8.
  base::Status differentiate(const ExecutableRequest& asked, StagedGraph& staged) const {
    const ops::OperatorRegistry& operators = ops::standardOperators();
    const bool training = asked.kind == model::ExecutableKind::training;
    std::optional<graph::TensorId> root;  // what is differentiated where it is not the loss
    if (training && scalesLoss(request_.update)) {
      const double scale = request_.update.numbers.lossScale.initial;
      PIPESCOPE_ASSIGN(ScaledLoss scaled, scaleLoss(staged.graph, scale, operators));
      staged.graph = std::move(scaled.graph);
      root = scaled.root;
    }
    if (training) {
      PIPESCOPE_ASSIGN(staged.graph, addGradients(std::move(staged.graph), operators, root));
      PIPESCOPE_TRY(returnGradients(staged.graph, request_.update.returnedGradients));
    }
    if (request_.float8) {
      // Validation shares the weights of training, which change. Weights off the chip are loaded in 16 bits.
      const bool ready =
          asked.kind == model::ExecutableKind::inference && !request_.locations.weights.offChip;
      Float8Request request = *request_.float8;
      const TensorLocation& weights = request_.locations.weights;
      request.keepsWeights =
          training && result_.system->keepsCastWeights() && !weights.offChip && !weights.sharded;
      PIPESCOPE_ASSIGN(staged.graph, withFloat8(staged.graph, request, ready, operators));
    }
    return {};
  }

  PassRunner makePasses(const std::vector<StageSpec>& stages) const {
    return PassRunner({ops::standardOperators(), stageOfBlocks(stages), request_.stochasticRounding},
                      [this](const std::string& name) { return !request_.passesOff.contains(name); });
  }

  /// Runs the passes over the IR. Each of them looks at the stages of one device and at what these send, so
  /// that what is known of a device holds in every IR.
  void runPasses(PassRunner& passes, const std::vector<StageSpec>& specs, ExecutableIr& ir) const {
    if (known_ == nullptr) return passes.runOn(ir);
    std::vector<StageIr> stages = std::exchange(ir.stages, {});
    ExecutableIr empty = ir;  // says how to compile, but holds nothing
    empty.boundaries.clear();
    std::map<int, ExecutableIr> parts;  // keyed by device
    for (StageIr& stage : stages) {
      ExecutableIr& part = parts.try_emplace(stage.place, empty).first->second;
      for (const BoundaryTensor& boundary : ir.boundaries) {
        if (boundary.fromStage == stage.index) part.boundaries.push_back(boundary);
      }
      part.stages.push_back(std::move(stage));
    }
    std::vector<ExecutableIr*> list;
    for (auto& [device, part] : parts) list.push_back(&part);
    std::vector<PassedStages> passed(list.size());
    const std::string off = fmt::format("{}", fmt::join(request_.passesOff, ","));
    executor_.parallelFor(list.size(), [&](std::size_t i) {
      passed[i] = known_->passed(*list[i], off, [&] {
        PassRunner own = makePasses(specs);
        own.runOn(*list[i]);
        return PassedStages{std::move(list[i]->stages), own.takeReports()};
      });
    });
    std::map<int, StageIr> byIndex;
    for (PassedStages& device : passed) {
      for (StageIr& stage : device.stages) {
        const int index = stage.index;
        byIndex[index] = std::move(stage);
      }
      passes.add(std::move(device.reports));
    }
    for (auto& [index, stage] : byIndex) ir.stages.push_back(std::move(stage));
  }

  base::Result<schedules::Shape> shapeOf(const std::vector<StageSpec>& stages, bool training) const {
    if (request_.layout.strategy == Strategy::pipelined && request_.layout.schedule == "sharded") {
      return base::badInput(
          "execution.schedule = \"sharded\" belongs to execution.strategy = \"sharded\": set the strategy "
          "instead.");
    }
    schedules::Shape shape;
    shape.stages = static_cast<int>(stages.size());
    shape.training = training;
    for (const StageSpec& stage : stages) shape.placeOfStage.push_back(stage.place);
    PIPESCOPE_ASSIGN(const schedules::ScheduleDefinition* schedule,
                     schedules::findSchedule(scheduleOf(request_.layout)));
    if (schedule->pipes > 1) {
      shape.stages *= schedule->pipes;
      PIPESCOPE_ASSIGN(shape.placeOfStage, schedules::layOut(*schedule, shape.stages, 0));
    }
    return shape;
  }

  bool recomputes(int stages) const { return compile::recomputes(request_, stages); }

  emulate::ExecutableFacts facts(const ExecutableRequest& asked, bool recomputes) const {
    const bool training = asked.kind == model::ExecutableKind::training;
    const bool named = !request_.recompute.checkpoints.empty();
    emulate::ExecutableFacts facts;
    facts.strategy = toString(request_.layout.strategy);
    facts.schedule = scheduleOf(request_.layout);
    const bool selective = training && !named && request_.recompute.mode == RecomputeRequest::Mode::selective;
    facts.recompute = selective ? "selective" : !recomputes ? "none" : named ? "checkpoints" : "pipeline";
    facts.overlapIo = request_.overlapIo;
    facts.host = training ? request_.host : request_.inferenceHost.value_or(request_.host);
    if (training)
      facts.host.secondsPerStep += facts.host.secondsPerCall / static_cast<double>(asked.deviceIterations);
    else
      facts.host.secondsPerStep += facts.host.secondsPerCall;
    facts.microBatchSize = asked.microBatchSize;
    facts.microBatchCosts = asked.microBatchCosts;
    facts.deviceIterations = asked.deviceIterations;
    facts.microBatches = training ? asked.microBatches : asked.deviceIterations;
    facts.iterations = training ? asked.deviceIterations : 1;
    facts.output = asked.output;
    facts.cacheRoom = asked.cacheRoom;
    facts.inputGroup = asked.replicas.inputGroup;
    facts.scales = request_.scales;
    facts.recordAllReplicas = request_.recordAllReplicas;
    return facts;
  }

  base::Result<Mesh> mesh(const ExecutableRequest& asked, const schedules::Shape& shape,
                          const schedules::Order& order) const {
    Mesh mesh;
    mesh.places = schedules::placeCount(shape);
    mesh.width = request_.ranks.width();
    mesh.contexts = request_.ranks.context;
    mesh.experts = request_.ranks.expert;
    PIPESCOPE_ASSIGN(mesh.replicas, countReplicas(request_, asked, mesh.chipsPerReplica()));
    mesh.atOnce = !order.serialUpdate;
    mesh.mirrored = order.pipes > 1;
    return mesh;
  }

  /// Frameworks for cards put places farthest apart (Megatron-LM's and DeepSpeed's default), because they
  /// exchange least. The IPUs of a replica are neighbours in all of Graphcore's software. Executables with
  /// different numbers of replicas find their stages on the same chips only if a replica's chips are
  /// neighbours.
  base::Status orderAxes(Mesh& mesh) const {
    const bool ladder = result_.system->placesShareLinks();
    const ReplicaRequest& first = request_.executables.front().replicas;
    const bool alike = std::ranges::all_of(request_.executables, [&](const ExecutableRequest& each) {
      return each.replicas.count == first.count && each.replicas.fillsDevices == first.fillsDevices;
    });
    mesh.placesOutermost =
        mesh.replicas > 1 && mesh.places > 1 && request_.ranks.placesOutermost.value_or(!ladder && alike);
    if (!mesh.placesOutermost || !ladder) return {};
    return base::badInput(
        fmt::format("execution.axis_order = \"tp-cp-ep-dp-pp\" puts the replicas of a stage beside each "
                    "other, but on system {} the "
                    "devices of a replica are neighbours: leave it out.",
                    result_.system->name()));
  }

  /// All executables run on one system, which the first one makes.
  base::Status makeSystem(const Mesh& mesh, const std::vector<StageSpec>& stages) {
    const int used = mesh.chips();
    result_.devicesUsed = std::max(result_.devicesUsed, used);
    if (!result_.system) {
      devices::SystemOptions options = request_.systemOptions;
      options.devices = request_.devices;
      PIPESCOPE_ASSIGN(const auto settings, deviceSettings(request_.layout, stages));
      options.settings.insert(options.settings.end(), settings.begin(), settings.end());
      options.oneAtATime =
          scheduleOf(request_.layout) == "sharded" && request_.layout.strategy != Strategy::parallelPhased;
      result_.systemOptions = options;
      PIPESCOPE_ASSIGN(result_.system, known_ != nullptr ? known_->system(request_.system, options)
                                                         : devices::makeSystem(request_.system, options));
    }
    return checkDevices(mesh, used);
  }

  /// Says that ranks along `context` have unequal work under a causal mask.
  void noteCausalWork() {
    const std::int64_t positions = ranks_.contextPositions();
    if (!skipsMasked_ || positions == 0 || request_.ranks.exchangesHeads) return;
    const double imbalance = causalImbalance(
        {.positions = positions, .ranks = request_.ranks.context, .paired = request_.ranks.paired});
    constexpr double kEqual = 1.005;
    if (imbalance < kEqual) return;
    result_.notices.push_back(fmt::format(
        "The last of {} ranks along context computes {:.2f} times the mean of causal attention, and the "
        "others "
        "wait for it: {}.",
        request_.ranks.context, imbalance,
        request_.ranks.paired
            ? fmt::format("choose a length that divides by {}", 2 * request_.ranks.context)
            : std::string("leave out execution.context_layout, so that each has an early and a late part")));
  }

  /// Warns of tensor ranks whose exchanges leave the box, where links are slower.
  void noteRanksInBoxes() {
    const int ranks = request_.ranks.tensor;
    if (ranks < 2 || static_cast<int>(result_.system->devices().size()) < ranks) return;
    const std::vector<devices::LinkInfo> near = result_.system->route(0, 1),
                                         far = result_.system->route(0, ranks - 1);
    for (const devices::LinkInfo& link : far) {
      const bool known = std::ranges::any_of(near, [&](const auto& own) { return own.name == link.name; });
      if (known || link.name.find("IPU-Link") != std::string::npos) continue;
      result_.notices.push_back(
          fmt::format("{} ranks of execution.tensor_parallel are more than one box holds: what they exchange "
                      "in each layer "
                      "crosses the {} links, which are slower. Use fewer, and more stages or replicas.",
                      ranks, link.name));
      return;
    }
  }

  base::Status checkSideBySide(const graph::Graph& graph) const {
    if (result_.system->runsSideBySide() || !hasMultiConvs(graph)) return {};
    return base::badInput(
        fmt::format("The model has multi-convolutions, but the framework of system {} has none: leave "
                    "model.multi_convs out, or use a system of IPUs.",
                    result_.system->name()));
  }

  base::Status checkDevices(const Mesh& mesh, int used) const {
    const auto available = static_cast<int>(result_.system->devices().size());
    if (used <= available) return {};
    if (mesh.replicas > 1) {
      return base::badInput(fmt::format(
          "{} replicas of {} device{} use {}, but system {} has {}: choose a larger one with --system, or "
          "fewer replicas.",
          mesh.replicas, mesh.chipsPerReplica(), mesh.chipsPerReplica() == 1 ? "" : "s", used,
          result_.system->name(), available));
    }
    return base::badInput(fmt::format(
        "The stages use {} devices, but system {} has {}: choose a larger one with --system, "
        "or put more blocks into a stage{}.",
        used, result_.system->name(), available,
        mesh.width > 1 ? ", or use fewer ranks (execution.tensor_parallel, context_parallel, expert_parallel)"
                       : ""));
  }

  base::Status addRecompute(StagedGraph& staged, const schedules::Order& order) const {
    // Stages before the last ones recompute whole, because their devices work on other micro-batches or
    // stages between the forward and the backward pass.
    const auto count = static_cast<int>(staged.stages.size());
    const int last = count - lastStagesKeep(count);
    const std::vector<std::int64_t> entries = clock::ringEntries(order);
    std::vector<bool> whole;
    for (int s = 0; s < count; ++s) whole.push_back(entries[static_cast<std::size_t>(s)] > 0 || s < last);
    PIPESCOPE_ASSIGN(staged.graph,
                     withRecompute(staged.graph, staged.stages, whole, request_.recompute.checkpoints));
    return {};
  }

  base::Result<IrOptions> planOptions(const ExecutableRequest& asked, const CompiledExecutable& executable,
                                      const schedules::Shape& shape, const Mesh& replicas) const {
    const bool training = asked.kind == model::ExecutableKind::training;
    const schedules::Order& order = executable.order;
    IrOptions options;
    options.name = asked.name.empty() ? model::toString(asked.kind) : asked.name;
    options.kind = asked.kind;
    options.microBatches = executable.facts.microBatches;
    options.stashEntries = clock::ringEntries(order);
    options.stashInPlace = result_.system->keepsInPlace();
    options.weightEntries = order.weightEntries;
    options.splitBackward = order.splitBackward;
    options.pipes = order.pipes;
    options.placeOfStage = shape.placeOfStage;
    options.mesh = replicas;
    options.expertWeights = ranks_.expertWeights();
    options.gradientBuckets = result_.system->gradientBuckets();
    options.gatherByBlock = result_.system->gathersByBlock();
    options.reduceScatter = request_.update.reduceScatter;
    options.overlapCollectives = request_.update.overlapCollectives;
    options.mergeCollectives = request_.update.mergeCollectives;
    options.lastStagesKeep = lastStagesKeep(shape.stages);
    PIPESCOPE_ASSIGN(options.locations,
                     placeTensors(request_, *result_.system, training, replicas.holders(false)));
    if (!training) return options;
    options.accumulator = request_.update.numbers.accumulator;
    options.masterWeights = request_.update.numbers.masterWeights;
    options.gradientBuffers = keepsGradientBuffers(request_.update, *result_.system);
    options.optimizer = updateCost(request_.update, options.microBatches * executable.facts.replicas);
    return options;
  }

  /// Stages whose backward passes follow their forward passes at once.
  int lastStagesKeep(int stages) const {
    if (request_.layout.separateBackwardPhase) return 0;
    if (!isPhased(request_.layout.strategy)) return 1;
    const std::vector<int> phases = phaseOfStages(request_.layout, stages);
    return static_cast<int>(std::ranges::count(phases, phases.back()));
  }

  void notePhases() {
    if (!isPhased(request_.layout.strategy)) return;
    const auto stages = static_cast<int>(result_.executables.front().ir.stages.size());
    const int count = phaseOfStages(request_.layout, stages).back() + 1;
    result_.notices.push_back(
        schedules::phaseNumbers(count, request_.layout.separateBackwardPhase).describe());
  }

  void noteIdleDevices() {
    const auto used = static_cast<std::size_t>(result_.devicesWithStages());
    const std::size_t available = result_.system->devices().size();
    if (used < available) {
      const std::size_t idle = available - used;
      result_.notices.push_back(
          fmt::format("{} of the {} devices of {} {}.", idle, available, result_.system->name(),
                      idle == 1 ? "holds no stage and stays idle" : "hold no stage and stay idle"));
    }
  }

  const ModelRequest& request_;
  base::Executor& executor_;
  LoweredStages* known_;
  RankDivider ranks_;
  bool skipsMasked_ = false;  ///< kernels leave out what a causal mask hides
  Compilation result_;
};

}  // namespace

base::Result<Compilation> compileModel(const ModelRequest& request, base::Executor& executor,
                                       LoweredStages* known) {
  PIPESCOPE_CHECK(!request.executables.empty(), "a model is compiled for at least one executable");
  const LayoutRequest& layout = request.layout;
  PIPESCOPE_CHECK(!layout.stages.empty() || (layout.splitInto == 0 && layout.cuts.empty()),
                  "the planner divides models before they are compiled");
  if (known != nullptr) PIPESCOPE_TRY(known->begin());
  return ModelCompiler(request, executor, known).compile();
}

}  // namespace pipescope::compile
