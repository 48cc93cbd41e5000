#include "engine/devices/hbm_card/card_lowering.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/devices/core/least_time.h"
#include "engine/devices/core/program_order.h"
#include "engine/devices/core/tensor_lives.h"
#include "engine/devices/hbm_card/buckets.h"
#include "engine/devices/hbm_card/framework_memory.h"
#include "engine/devices/hbm_card/hbm_memory.h"
#include "engine/devices/hbm_card/kernel_list.h"
#include "engine/devices/hbm_card/on_chip_traffic.h"
#include "engine/devices/hbm_card/recipe.h"

namespace pipescope::devices::hbm_card {
namespace {

using compile::IrOperator;
using compile::PassIr;
using compile::StageIr;
using model::Pass;

LoweredStep stepOf(model::StepKind kind, model::LaneRole lane, std::string program, std::string name,
                   Ticks offset, Ticks ticks) {
  LoweredStep step;
  step.kind = kind;
  step.lane = lane;
  step.program = std::move(program);
  step.name = std::move(name);
  step.offset = offset;
  step.ticks = step.minTicks = step.maxTicks = ticks;
  step.activeUnits = 1;
  step.meanTicks = static_cast<double>(ticks.count);
  return step;
}

class StageLowering {
 public:
  StageLowering(const std::vector<const StageIr*>& stages, const CardModel& model)
      : stages_(stages), model_(model), card_(model.figures()), memory_(card_) {}

  base::Result<LoweredDevice> lower(const std::string& deviceName) {
    LoweredDevice device;
    device.device = stages_.front()->mesh.chip(0, stages_.front()->place);
    memory_.reserve(expectedVariables());
    for (const StageIr* stage : stages_) {
      StageState& state = states_.try_emplace(stage, *stage, card_.replacesOperands).first->second;
      if (card_.keepsOperandsAlone) state.again = computedAgain(*stage, state.uses);
      standIns_.addStage(*stage, state.uses);
    }
    addWorkspaces();
    for (const StageIr* stage : stages_) addTensors(*stage);
    for (const OrderedPass& ordered : programOrder(stages_)) {
      PIPESCOPE_ASSIGN(LoweredPass pass, lowerPass(*ordered.stage, *ordered.pass));
      device.passes.push_back(std::move(pass));
    }
    for (const StageIr* stage : stages_) finishTensors(*stage);
    for (const auto& [shape, bytes] : standIns_.tensors())
      keep("libraries/gradient " + shape, "workspace", bytes);
    device.memory.push_back(memory_.finish(deviceName));
    device.claims = {{"fuse_elementwise", chains_, Bytes(), Ticks()}};
    return device;
  }

 private:
  struct StageState {
    StageState(const StageIr& stage, bool replaces) : uses(stage), lives(stage, true, replaces) {}
    StageUses uses;
    TensorLives lives;
    std::vector<std::size_t> variables;  ///< variable of each IR tensor
    std::set<std::size_t> onChip;        ///< tensors that never lie in HBM
    /// Program step from which on a gradient is a view of its bucket, keyed by the gradient's tensor.
    std::map<std::size_t, std::int32_t> inBucketFrom;
    /// Collective that may start at the end of each segment of the backward pass.
    std::vector<int> bucketOfSegment;
    std::set<std::size_t> again;  ///< see computedAgain
    /// Program step at which the forward pass has read each of these for the last time.
    std::map<std::size_t, std::int32_t> readUntil;
    std::set<std::size_t> standIns;  ///< gradients that have no memory of their own
  };

  /// Adds memory that is always live, of a stage or (−1) of the whole device.
  void keep(std::string name, const char* category, std::int64_t bytes, int stage = -1) {
    if (bytes <= 0) return;
    LoweredVariable variable;
    variable.name = std::move(name);
    variable.category = category;
    variable.bytes = Bytes(bytes);
    variable.alwaysLive = true;
    variable.stage = stage;
    memory_.add(std::move(variable));
  }

  /// Scratch memory of the libraries, which stays.
  void addWorkspaces() {
    const bool trains = std::ranges::any_of(stages_, [](const StageIr* stage) {
      return std::ranges::any_of(stage->passes,
                                 [](const PassIr& pass) { return pass.pass == Pass::backward; });
    });
    keep("libraries/forward_thread", "workspace", card_.threadWorkspace);
    if (trains) keep("libraries/backward_thread", "workspace", card_.threadWorkspace);
    keep("libraries/shared", "workspace", card_.sharedWorkspace);
    if (std::ranges::any_of(stages_, [this](const StageIr* stage) { return multipliesGroups(*stage); }))
      keep("libraries/groups", "workspace", card_.groupStreams * card_.sharedWorkspace);
  }

  /// True if a stage has products of several groups, each with a weight of its own.
  bool multipliesGroups(const StageIr& stage) const {
    const auto grouped = [](const ops::Work& work) {
      const auto* product = std::get_if<ops::Contraction>(&work.item);
      return product != nullptr && product->groups > 1;
    };
    const StageUses& uses = states_.at(&stage).uses;
    return std::ranges::any_of(stage.passes, [&](const PassIr& pass) {
      return std::ranges::any_of(pass.operators, [&](const IrOperator& op) {
        return std::ranges::any_of(op.work, grouped) && uses.multipliesWeights(op);
      });
    });
  }

  const char* programOf(Engine engine) const {
    return model_.programs().kernels[static_cast<std::size_t>(engine)];
  }

  void addTensors(const StageIr& stage) {
    StageState& state = states_.at(&stage);
    const std::set<std::int64_t> outputs = outputsOf(stage);
    for (std::size_t i = 0; i < stage.tensors.size(); ++i) {
      const compile::IrTensor& tensor = stage.tensors.items()[i];
      LoweredVariable variable;
      variable.name = tensor.name;
      const bool output = !isAlwaysLive(tensor.use) && outputs.contains(static_cast<std::int64_t>(i));
      variable.category = output ? "output" : toString(tensor.use);
      variable.shape = toString(tensor.type);
      variable.bytes = tensor.shared ? Bytes() : tensor.type.bytes();
      variable.alwaysLive = isAlwaysLive(tensor.use) || tensor.kept;
      variable.stage = stage.index;
      if (state.again.contains(i) && !tensor.remote) {
        variable.category = toString(compile::TensorUse::activation);
        variable.alwaysLive = false;
      } else if (tensor.use == compile::TensorUse::stash && !tensor.remote) {
        // The entry of the micro-batch that runs is freed value by value as its backward pass goes on. The
        // others wait.
        variable.alwaysLive = tensor.kept;
        if (tensor.copies > 1) addWaiting(variable, tensor.copies - 1);
      } else {
        variable.bytes = variable.bytes * tensor.copies;
      }
      state.variables.push_back(memory_.add(std::move(variable)));
    }
    for (const Bucket& bucket : bucketsOf(stage, state.uses)) {
      if (!bucket.shares && !bucket.accumulates)
        keep(bucket.name + "/bucket", "bucket", bucket.bytes, stage.index);
    }
    keep("stage" + std::to_string(stage.index) + "/reduce_buffer", "bucket",
         reduceBufferBytes(model_, stage, state.uses), stage.index);
  }

  void addWaiting(LoweredVariable entry, std::int64_t entries) {
    entry.name += "/waiting";
    entry.bytes = entry.bytes * entries;
    entry.alwaysLive = true;
    memory_.add(std::move(entry));
  }

  /// The tensors, and a workspace for each operator. There may be a few more.
  std::size_t expectedVariables() const {
    std::size_t count = 0;
    for (const StageIr* stage : stages_) {
      count += stage->tensors.size();
      for (const PassIr& pass : stage->passes) count += pass.operators.size();
    }
    return count;
  }

  /// A gradient that is a view of its bucket needs no memory of its own behind the kernel that copies it
  /// there.
  void noteViews(const StageIr& stage, const KernelList& list, StageState& state) const {
    std::map<int, const Bucket*> byOperator;
    const std::vector<Bucket> buckets = bucketsOf(stage, state.uses);
    for (const Bucket& bucket : buckets) byOperator[bucket.op] = &bucket;
    for (std::size_t k = 0; k < list.kernels.size(); ++k) {
      if (list.kernels[k].bucket < 0 || byOperator.at(list.kernels[k].bucket)->shares) continue;
      for (const std::size_t gradient : list.kernels[k].reads)
        state.inBucketFrom[gradient] = memory_.steps() + static_cast<std::int32_t>(k) + 1;
    }
  }

  /// Tensors that go to the host.
  static std::set<std::int64_t> outputsOf(const StageIr& stage) {
    std::set<std::int64_t> outputs;
    for (const PassIr& pass : stage.passes) {
      if (pass.pass != Pass::hostOut) continue;
      for (const IrOperator& op : pass.operators) {
        for (const compile::IrTensorId id : op.inputs) outputs.insert(id.value);
      }
    }
    return outputs;
  }

  base::Result<LoweredPass> lowerPass(const StageIr& stage, const PassIr& ir) {
    StageState& state = states_.at(&stage);
    PIPESCOPE_ASSIGN(KernelList list, listKernels(ir, state.uses, model_));
    chains_ += list.chains;
    if (ir.pass == Pass::backward) {
      packBuckets(model_, stage, state.uses, list);
      noteViews(stage, list, state);
      if (!stage.overlapsCollectives) {
        for (ListedKernel& kernel : list.kernels) kernel.bucket = -1;
      }
    }
    if (ir.pass == Pass::update) unpackBuckets(model_, stage, state.uses, list);
    LoweredPass pass;
    pass.stage = stage.index;
    pass.pass = ir.pass;
    pass.operators.reserve(ir.operators.size());
    for (const IrOperator& op : ir.operators) pass.operators.push_back(describe(stage, op));
    const std::vector<Traffic> traffic = trafficOf(model_, stage, state.uses, list);
    for (const Traffic& each : traffic) state.onChip.insert(each.onChip.begin(), each.onChip.end());
    if (ir.pass == Pass::forward) noteLastReaders(ir, list, state);
    if (card_.sharedWorkspace > 0) noteStandIns(stage, ir, list, state);
    keepLives(ir, list, state);
    addSegments(stage, ir, list, traffic, pass);
    return pass;
  }

  void noteLastReaders(const PassIr& ir, const KernelList& list, StageState& state) const {
    for (std::size_t op = 0; op < ir.operators.size(); ++op) {
      for (const auto* tensors : {&ir.operators[op].inputs, &ir.operators[op].outputs}) {
        for (const compile::IrTensorId id : *tensors) {
          if (!id.valid()) continue;
          const std::size_t root = state.uses.root(static_cast<std::size_t>(id.value));
          if (state.again.contains(root)) state.readUntil[root] = memory_.steps() + list.end[op];
        }
      }
    }
  }

  /// Finds the gradients that their products add to accumulators: these operators have no kernel.
  void noteStandIns(const StageIr& stage, const PassIr& ir, const KernelList& list, StageState& state) {
    for (std::size_t i = 0; i < ir.operators.size(); ++i) {
      const IrOperator& op = ir.operators[i];
      if (op.kind != "Accumulate" || list.first[i] < 0 || list.end[i] != list.first[i] + 1) continue;
      const ListedKernel& kernel = list.kernels[static_cast<std::size_t>(list.first[i])];
      if (kernel.kernel.engine != Engine::matrix || kernel.op < 0) continue;
      const IrOperator& product = ir.operators[static_cast<std::size_t>(kernel.op)];
      const std::size_t gradient = state.uses.root(static_cast<std::size_t>(op.inputs.front().value));
      if (standIns_.add(stage, product, gradient)) state.standIns.insert(gradient);
    }
  }

  LoweredOperator describe(const StageIr& stage, const IrOperator& op) const {
    LoweredOperator lowered{op.name, op.kind, 0, Bytes(), op.block};
    if (op.again) lowered.pass = Pass::recompute;
    for (const ops::Work& work : op.work) lowered.flops += flopsOf(work);
    addLeastTime(lowered, op.work,
                 [this](ElementType type, ElementType, std::int64_t) { return model_.peakFlops(type); });
    for (const auto* list : {&op.inputs, &op.outputs}) {
      for (const compile::IrTensorId id : *list) {
        if (id.valid()) lowered.bytes += stage.tensors[id].type.bytes();
      }
    }
    return lowered;
  }

  /// The program steps of the device are its kernels.
  void keepLives(const PassIr& ir, const KernelList& list, StageState& state) {
    const std::int32_t first = memory_.steps();
    state.lives.enterPass(ir.pass, first);
    for (const ListedKernel& kernel : list.kernels) {
      const std::int32_t step = memory_.addStep(kernel.path + "/" + kernel.kernel.name,
                                                programOf(kernel.kernel.engine), passOf(ir, kernel));
      if (kernel.kernel.workspace <= 0) continue;
      LoweredVariable variable;
      variable.name = kernel.path + "/workspace";
      variable.category = "workspace";
      variable.bytes = Bytes(kernel.kernel.workspace);
      memory_.addLife(memory_.add(std::move(variable)), step, step + 1);
    }
    for (std::size_t op = 0; op < ir.operators.size(); ++op)
      state.lives.operatorAt(ir.operators[op], first + list.first[op], first + list.end[op]);
    state.lives.leavePass(memory_.steps());
  }

  static Pass passOf(const PassIr& ir, const ListedKernel& kernel) {
    const bool again = kernel.op >= 0 && ir.operators[static_cast<std::size_t>(kernel.op)].again;
    return again ? Pass::recompute : ir.pass;
  }

  /// The kernels behind which a segment ends: there a bucket of gradients is complete, or recomputing begins
  /// or ends.
  static std::vector<std::size_t> cutsOf(const PassIr& ir, const KernelList& list) {
    std::vector<std::size_t> ends;
    for (std::size_t k = 0; k < list.kernels.size(); ++k) {
      const bool last = k + 1 == list.kernels.size();
      if ((ir.pass == Pass::backward && list.kernels[k].bucket >= 0) ||
          (!last && passOf(ir, list.kernels[k]) != passOf(ir, list.kernels[k + 1])))
        ends.push_back(k + 1);
    }
    if (ends.empty() || ends.back() != list.kernels.size()) ends.push_back(list.kernels.size());
    return ends;
  }

  void addSegments(const StageIr& stage, const PassIr& ir, const KernelList& list,
                   const std::vector<Traffic>& traffic, LoweredPass& pass) {
    const bool host = ir.pass == Pass::hostIn || ir.pass == Pass::hostOut;
    const bool collective = ir.pass == Pass::collective;
    StageState& state = states_.at(&stage);
    std::vector<PlacedKernel> placed;
    const std::vector<std::size_t> cuts = collective ? everyKernel(list) : cutsOf(ir, list);
    for (const std::size_t end : cuts) {
      if (ir.pass == Pass::backward)
        state.bucketOfSegment.push_back(end == 0 ? -1 : list.kernels[end - 1].bucket);
    }
    std::size_t first = 0;
    double base = 0;  // seconds from the start of the pass to the start of the segment
    for (const std::size_t end : cuts) {
      LoweredSegment segment;
      const Pass kind = end > first ? passOf(ir, list.kernels[first]) : ir.pass;
      if (kind != ir.pass) segment.pass = kind;
      segment.name = "stage" + std::to_string(stage.index) + "/" + model::toString(kind);
      segment.steps.reserve(end - first + 1);  // a launch, and a step for each kernel
      if (cuts.size() > 1) segment.name += "/" + std::to_string(pass.segments.size());
      segment.lane = host         ? model::LaneRole::host
                     : collective ? model::LaneRole::network
                                  : model::LaneRole::matrix;
      double start = 0;
      const bool launch = first > 0 ? list.kernels[first - 1].bucket >= 0 : launches(stage, ir.pass);
      if (!host && !collective && launch) {
        start = card_.recipeLaunch;
        segment.steps.push_back(
            stepOf(model::StepKind::control, model::LaneRole::host, model_.programs().launch,
                   segment.name + "/" + model_.programs().launch, Ticks(0), ticksOf(start)));
      }
      placeKernels(model_, list, traffic, end, base + start, placed);
      addSteps(list, placed, traffic, {first, end}, base, segment);
      if (collective) {
        const int op = list.kernels[first].op;
        segment.after = backwardSegment(stage, op);
        if (op >= 0 && isOverPlaces(ir.operators[static_cast<std::size_t>(op)])) segment.tied = op;
      }
      base += base::toSeconds(segment.ticks, card_.timebase());
      pass.segments.push_back(std::move(segment));
      first = end;
    }
  }

  /// The segment of the backward pass at whose end the collective's bucket is complete; −1: another pass
  /// makes it.
  int backwardSegment(const StageIr& stage, int op) const {
    const std::vector<int>& buckets = states_.at(&stage).bucketOfSegment;
    const auto found = std::find(buckets.begin(), buckets.end(), op);
    return found == buckets.end() ? -1 : static_cast<int>(found - buckets.begin());
  }

  static bool isOverPlaces(const IrOperator& op) {
    const auto* sum = op.work.empty() ? nullptr : std::get_if<ops::Collective>(&op.work.front().item);
    return sum != nullptr && sum->axis == model::MeshAxis::pipe;
  }

  static std::vector<std::size_t> everyKernel(const KernelList& list) {
    std::vector<std::size_t> ends;
    for (std::size_t k = 1; k <= list.kernels.size(); ++k) ends.push_back(k);
    return ends;
  }

  /// True if the pass is a recipe of its own. Recomputed work belongs to the recipe of the backward pass. The
  /// forward and backward pass of a stage without a stash are one recipe, because the framework cuts the
  /// graph after the backward pass and after the update.
  static bool launches(const StageIr& stage, Pass pass) {
    if (pass == Pass::backward) return stage.stashEntries > 0;
    return pass == Pass::forward || pass == Pass::update || pass == Pass::weightGradient;
  }

  Ticks ticksOf(double seconds) const { return base::ticksFromSeconds(seconds, card_.timebase()); }

  void addSteps(const KernelList& list, const std::vector<PlacedKernel>& placed,
                const std::vector<Traffic>& traffic, std::pair<std::size_t, std::size_t> range, double base,
                LoweredSegment& segment) const {
    Ticks length;
    for (const LoweredStep& step : segment.steps) length = std::max(length, step.offset + step.ticks);
    for (std::size_t k = range.first; k < range.second; ++k) {
      const ListedKernel& listed = list.kernels[k];
      const Engine engine = listed.kernel.engine;
      const std::string name = listed.path + "/" + listed.kernel.name;
      const Ticks from = ticksOf(placed[k].start - base), to = ticksOf(placed[k].end - base);
      LoweredStep step = stepOf(kindOf(engine), laneOf(engine), programOf(engine), name, from, to - from);
      // Packing belongs to the collective of its name.
      step.op = listed.kernel.bucketWritten > 0 ? -1 : listed.op;
      const bool own = engine == Engine::host || engine == Engine::network;
      step.bytesIn = Bytes(own ? listed.kernel.bytesIn : traffic[k].read);
      step.bytesOut = Bytes(own ? listed.kernel.bytesOut : traffic[k].written);
      length = std::max(length, to);
      if (step.ticks.count > 0) segment.steps.push_back(std::move(step));
      const Ticks sliceFrom = ticksOf(placed[k].sliceStart - base),
                  sliceTo = ticksOf(placed[k].sliceEnd - base);
      if (sliceTo <= sliceFrom) continue;
      LoweredStep slices = stepOf(model::StepKind::exchange, model::LaneRole::copy, model_.programs().slices,
                                  listed.path + "/Slices", sliceFrom, sliceTo - sliceFrom);
      slices.op = listed.op;
      slices.bytesIn = Bytes(traffic[k].read);
      slices.bytesOut = Bytes(traffic[k].written);
      segment.steps.push_back(std::move(slices));
    }
    segment.ticks = length;
  }

  void finishTensors(const StageIr& stage) {
    const StageState& state = states_.at(&stage);
    for (std::size_t i = 0; i < stage.tensors.size(); ++i) {
      if (state.onChip.contains(i) || stage.tensors.items()[i].kept || state.standIns.contains(i)) continue;
      const auto read = state.readUntil.find(i);
      const auto bucket = state.inBucketFrom.find(state.uses.root(i));
      for (const LifeSteps life : state.lives.of(i)) {
        const bool view = bucket != state.inBucketFrom.end() && life.first < bucket->second;
        std::int32_t end = view ? std::min(life.end, bucket->second) : life.end;
        if (read != state.readUntil.end() && life.first < read->second) end = std::min(end, read->second);
        memory_.addLife(state.variables[i], life.first, end);
      }
    }
  }

  const std::vector<const StageIr*>& stages_;
  const CardModel& model_;
  const CardFigures& card_;
  HbmMemory memory_;
  std::int64_t chains_ = 0;  ///< chains of elementwise operators that became one kernel each
  std::map<const StageIr*, StageState> states_;
  StandInGradients standIns_;
};

}  // namespace

base::Result<LoweredDevice> lowerStages(const std::vector<const StageIr*>& stages,
                                        const std::string& deviceName, const CardModel& model) {
  return StageLowering(stages, model).lower(deviceName);
}

}  // namespace pipescope::devices::hbm_card
