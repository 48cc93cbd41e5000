#include "engine/devices/ipu/stage_lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/devices/core/least_time.h"
#include "engine/devices/core/program_order.h"
#include "engine/devices/core/tensor_lives.h"
#include "engine/devices/ipu/code_sizes.h"
#include "engine/devices/ipu/fused_map.h"
#include "engine/devices/ipu/outlining.h"
#include "engine/devices/ipu/rounding.h"
#include "engine/devices/ipu/step_code.h"
#include "engine/devices/ipu/tile_memory.h"

namespace pipescope::devices::ipu {
namespace {

using compile::PassPlan;
using compile::PlanOperator;
using compile::StagePlan;
using model::Pass;

class StageLowering {
 public:
  StageLowering(const std::vector<const StagePlan*>& stages, const LoweringContext& context)
      : stages_(stages), context_(context), memory_(context.chip, context.ioTiles) {}

  base::Result<LoweredDevice> lower(const std::string& deviceName) {
    LoweredDevice device;
    device.device = stages_.front()->device;
    PIPESCOPE_ASSIGN(outlining_, Outlining::choose(stages_, context_));
    for (const StagePlan* stage : stages_) addTensors(*stage);
    for (const OrderedPass& ordered : programOrder(stages_)) {
      PIPESCOPE_ASSIGN(LoweredPass pass, lowerPass(*ordered.stage, *ordered.pass));
      device.passes.push_back(std::move(pass));
    }
    for (const StagePlan* stage : stages_) finishTensors(*stage);
    device.memory.push_back(memory_.finish(deviceName));
    if (!streaming_.variables.empty()) device.memory.push_back(finishStreaming(deviceName));
    device.claims = {{"fuse_elementwise", chains_, Bytes(), Ticks(chainCycles_)},
                     {"outline", outlining_.calls(), outlining_.saved(), Ticks(-copyCycles_)}};
    return device;
  }

 private:
  struct StageTensors {
    std::vector<std::size_t> variables;  ///< by plan tensor
    TensorLives lives;
  };

  void addTensors(const StagePlan& stage) {
    StageTensors& tensors = tensors_[&stage];
    tensors.lives = TensorLives(stage);
    for (const compile::PlanTensor& tensor : stage.tensors) {
      if (tensor.remote || tensor.shared) {
        if (!tensor.shared) addRemote(stage, tensor);
        tensors.variables.push_back(kNowhere);
        continue;
      }
      tensors.variables.push_back(memory_.addTensor(
          tensor.name, toString(tensor.use), toString(tensor.type), tensor.type.elements() * tensor.copies,
          graph::sizeOf(tensor.type.element), isAlwaysLive(tensor.use),
          tensor.use == compile::TensorUse::constant, stage.index));
    }
  }

  void addRemote(const StagePlan& stage, const compile::PlanTensor& tensor) {
    LoweredVariable variable;
    variable.name = tensor.name;
    variable.category = toString(tensor.use);
    variable.shape = toString(tensor.type);
    variable.bytes = variable.maxUnitBytes = tensor.type.bytes() * tensor.copies;
    variable.alwaysLive = true;
    variable.stage = stage.index;
    streaming_.variables.push_back(std::move(variable));
  }

  LoweredMemory finishStreaming(const std::string& deviceName) {
    Bytes all;
    for (const LoweredVariable& variable : streaming_.variables) all += variable.bytes;
    streaming_.space = 1;
    streaming_.units.push_back({"variable", "non_interleaved", true, 0, 1, all});
    if (all.count > context_.streamingBytes) {
      streaming_.overflow.push_back(
          fmt::format("{}: {} bytes lie in streaming memory, of which it has {}: {} too much.\nFor streaming "
                      "memory: keep some kind of tensor on the chip, shard it over replicas, or use more "
                      "stages.",
                      deviceName, all.count, context_.streamingBytes, all.count - context_.streamingBytes));
    }
    return std::move(streaming_);
  }

  /// Copies from and to streaming memory, collectives that assemble shares, and what is recomputed are
  /// segments of their own.
  static std::optional<Pass> ownPass(Pass pass, const PlanOperator& op) {
    const auto all = [&](auto wanted) {
      return !op.work.empty() && std::all_of(op.work.begin(), op.work.end(), wanted);
    };
    if (all([](const ops::Work& work) {
          const auto* copy = std::get_if<ops::HostCopy>(&work.item);
          return copy && copy->remote;
        }))
      return Pass::remote;
    // A model's own sums over replicas (batch norms) belong to the work of the pass.
    const bool planned = pass != Pass::collective && op.kind != "ReplicaSum";
    if (planned &&
        all([](const ops::Work& work) { return std::holds_alternative<ops::Collective>(work.item); }))
      return Pass::collective;
    if (op.again) return Pass::recompute;
    return std::nullopt;
  }

  /// Ends the segment if the next operator is of another kind.
  static void cut(LoweredPass& pass, LoweredSegment& segment, std::optional<Pass> own) {
    if (segment.pass == own) return;
    const std::string stage = segment.name.substr(0, segment.name.find('/') + 1);
    const Pass kind = own.value_or(pass.pass);
    LoweredSegment next;
    next.name = stage + model::toString(kind);
    next.lane = laneOf(kind);
    next.pass = own;
    if (segment.ticks.count > 0) pass.segments.push_back(std::move(segment));
    segment = std::move(next);
  }

  static model::LaneRole laneOf(Pass pass) {
    if (pass == Pass::hostIn || pass == Pass::hostOut || pass == Pass::remote) return model::LaneRole::host;
    return pass == Pass::collective ? model::LaneRole::exchange : model::LaneRole::compute;
  }

  base::Result<LoweredPass> lowerPass(const StagePlan& stage, const PassPlan& plan) {
    LoweredPass pass;
    pass.stage = stage.index;
    pass.pass = plan.pass;
    LoweredSegment segment;
    const std::string name = "stage" + std::to_string(stage.index) + "/" + model::toString(plan.pass);
    segment.name = name;
    segment.lane = laneOf(plan.pass);
    control_.assign(static_cast<std::size_t>(allTiles()), 0);
    TensorLives& lives = tensors_[&stage].lives;
    lives.enterPass(plan.pass, memory_.steps());
    for (std::size_t i = 0; i < plan.operators.size(); ++i) {
      const PlanOperator& op = plan.operators[i];
      const Pass kind = op.again ? Pass::recompute : plan.pass;
      pass.operators.push_back(describe(stage, op));
      if (op.again) pass.operators.back().pass = kind;
      const OutlinedCall* call = outlining_.callAt(plan, i);
      cut(pass, segment, ownPass(plan.pass, op));
      if (call) {
        PIPESCOPE_TRY(lowerInCall(stage, kind, op, static_cast<int>(i), *call, segment));
      } else {
        PIPESCOPE_TRY(lowerOperator(stage, kind, op, static_cast<int>(i), segment));
      }
    }
    lives.leavePass(memory_.steps());
    pass.calls = outlining_.callsOf(plan);
    memory_.addAlwaysLive(name, "controlCode", toRuns(control_), stage.index);
    if (segment.ticks.count > 0 || pass.segments.empty()) pass.segments.push_back(std::move(segment));
    return pass;
  }

  /// FLOP/s of the fastest products in this type, with sums in that type.
  double peak(ElementType type, ElementType sums) const {
    const Chip& chip = context_.chip;
    const bool halfSums = context_.halfPartials || graph::sizeOf(sums) == 2;
    std::int64_t multiplyAdds = halfSums ? chip.ampHalf : chip.ampHalfFloat;
    if (graph::sizeOf(type) > 2) multiplyAdds = chip.ampFloat;
    if (graph::sizeOf(type) == 1) multiplyAdds = std::max(chip.ampQuarter, chip.ampHalf);
    return 2 * static_cast<double>(multiplyAdds * chip.tiles) * static_cast<double>(chip.clockHz);
  }

  LoweredOperator describe(const StagePlan& stage, const PlanOperator& op) const {
    LoweredOperator lowered{op.name, op.kind, 0, Bytes(), op.block};
    for (const ops::Work& work : op.work) lowered.flops += flopsOf(work);
    addLeastTime(lowered, op.work, [this](ElementType type, ElementType sums) { return peak(type, sums); });
    for (const auto* list : {&op.inputs, &op.outputs}) {
      for (const compile::PlanTensorId id : *list) {
        if (id.valid()) lowered.bytes += stage.tensors[id].type.bytes();
      }
    }
    return lowered;
  }

  /// How many products from `first` on may run side by side; at least one if it is a product.
  static std::vector<ops::Contraction> sideBySide(const std::vector<ops::Work>& work, std::size_t first) {
    std::vector<ops::Contraction> products;
    for (std::size_t i = first; i < work.size(); ++i) {
      const auto* product = std::get_if<ops::Contraction>(&work[i].item);
      if (!product || work[i].concurrent <= 0 || work[i].concurrent != work[first].concurrent ||
          work[i].repeat != work[first].repeat)
        break;
      products.push_back(*product);
    }
    return products;
  }

  /// Lowers the Work at `i` with what runs beside it or in the same vertex; `i` becomes the index of the last
  /// of these.
  base::Result<LoweredWork> lowerAt(const PlanOperator& op, std::size_t& i, const LoweringContext& context) {
    const std::vector<ops::Contraction> together = sideBySide(op.work, i);
    if (together.size() > 1) {
      i += together.size() - 1;
      return lowerSideBySide(together, context);
    }
    PIPESCOPE_ASSIGN(std::optional<FusedChain> fused, fuseChain(op, i, context));
    if (!fused) return lowerWork(op.work[i].item, context);
    i += fused->count - 1;
    ++chains_;
    chainCycles_ += fused->savedCycles;
    return std::move(fused->work);
  }

  void addProgram(LoweredSegment& segment, const ProgramStep& step, const std::string& path, int op,
                  std::int64_t repeat, Pass pass, int stage) {
    addSteps(segment, step, path, op, repeat);
    memory_.addStep(path + "/" + step.name, step, pass);
    if (keepsCode_) addCode(path + "/" + step.name, step, stage);
  }

  /// Adds the copies of a call's arguments or results. Both are spread over the tiles in the same way. Of the
  /// bytes, `both` live at their old and new place while the copy runs.
  base::Status copyForCall(const StagePlan& stage, Pass pass, const PlanOperator& op, int index,
                           const char* name, std::int64_t bytes, Temporary both, LoweredSegment& segment) {
    if (bytes == 0) return {};
    LoweringContext context = context_;
    context.what = op.name + "/" + name;
    PIPESCOPE_ASSIGN(LoweredWork copy,
                     lowerWork(ops::Rearrange{bytes, bytes, graph::ElementType::uint8}, context));
    copyCycles_ += copy.cycles();
    copy.hold(both.name, both.bytes, 0, copy.steps.size());
    copy.moveTo(context_.chip, firstTileOf(stage, op));
    const std::int32_t first = memory_.steps();
    for (const ProgramStep& step : copy.steps)
      addProgram(segment, step, context.what, index, 1, pass, stage.index);
    for (const Temporary& temporary : copy.temporaries)
      memory_.addTemporary(temporary.name, temporary, first, stage.index);
    return {};
  }

  /// Lowers an operator of a call between the copies of the arguments that it uses first and of the results
  /// that it makes.
  base::Status lowerInCall(const StagePlan& stage, Pass pass, const PlanOperator& op, int index,
                           const OutlinedCall& call, LoweredSegment& segment) {
    const std::size_t own = static_cast<std::size_t>(index) - call.first;
    const OutlinedCall::Copies& copies = call.copies[own];
    const auto both = [&](const char* what, std::int64_t bytes) {
      return Temporary{call.function + what, spreadEvenly(context_.chip, bytes, 1)};
    };
    if (own == 0) callSteps_.clear();
    callSteps_.push_back(memory_.steps());
    PIPESCOPE_TRY(
        copyForCall(stage, pass, op, index, "CopyIn", copies.in, both("/arguments", copies.moved), segment));
    keepsCode_ = call.keepsCode;
    PIPESCOPE_TRY(lowerOperator(stage, pass, op, index, segment));
    keepsCode_ = true;
    for (const OutlinedCall::Held& held : call.held) {
      if (held.last != own) continue;
      Temporary argument = both("/arguments", held.bytes);
      argument.bytes = rotated(argument.bytes, firstTileOf(stage, op), context_.chip.tiles);
      argument.end = static_cast<std::size_t>(memory_.steps() - callSteps_[held.first]);
      memory_.addTemporary(argument.name, argument, callSteps_[held.first], stage.index);
    }
    return copyForCall(stage, pass, op, index, "CopyOut", copies.out, both("/results", copies.out), segment);
  }

  base::Status lowerOperator(const StagePlan& stage, Pass pass, const PlanOperator& op, int index,
                             LoweredSegment& segment) {
    const std::int32_t first = memory_.steps();
    for (std::size_t i = 0; i < op.work.size(); ++i) {
      const ops::Work& work = op.work[i];
      LoweringContext context = context_;
      context.what = op.name + " (" + op.kind + ")";
      if (pass == Pass::update) context.streamingBytesPerSecond = context_.updateStreamingBytesPerSecond;
      if (work.repeat < 1) return base::badInput(context.what + ": a repeat count below 1.");
      PIPESCOPE_ASSIGN(LoweredWork lowered, lowerAt(op, i, context));
      if (!hasItsTiles(work)) lowered.moveTo(context_.chip, firstTileOf(stage, op));
      const std::string path = work.label.empty() ? op.name : op.name + "/" + work.label;
      const std::int32_t firstOfWork = memory_.steps();
      for (const ProgramStep& step : lowered.steps)
        addProgram(segment, step, path, index, step.once ? 1 : work.repeat, pass, stage.index);
      if (const auto* copy = std::get_if<ops::HostCopy>(&work.item);
          copy && !copy->remote && context.ioTiles > 0)
        memory_.addStreamBuffer(path, onIoTiles(context, copy->bytes.count), stage.index);
      for (const Temporary& temporary : lowered.temporaries) {
        memory_.addTemporary(path + "/" + temporary.name, temporary, firstOfWork, stage.index);
      }
    }
    tensors_[&stage].lives.operatorAt(op, first, memory_.steps());
    return {};
  }

  /// Whether the work uses all tiles, or those for input and output.
  bool hasItsTiles(const ops::Work& work) const {
    return std::holds_alternative<ops::Collective>(work.item) ||
           (std::holds_alternative<ops::HostCopy>(work.item) && context_.ioTiles > 0);
  }

  /// Work is done where its result lies, or else where its first operand does.
  std::int64_t firstTileOf(const StagePlan& stage, const PlanOperator& op) const {
    const std::vector<std::size_t>& variables = tensors_.at(&stage).variables;
    for (const auto* list : {&op.outputs, &op.inputs}) {
      for (const compile::PlanTensorId id : *list) {
        if (id.valid() && variables[static_cast<std::size_t>(id.value)] != kNowhere)
          return memory_.startOf(variables[static_cast<std::size_t>(id.value)]);
      }
    }
    return 0;
  }

  std::int64_t allTiles() const { return context_.chip.tiles + context_.ioTiles; }

  /// Adds the step and the sync before it.
  void addSteps(LoweredSegment& segment, const ProgramStep& step, const std::string& path, int op,
                std::int64_t repeat) const {
    if (step.sync > 0) {
      LoweredStep sync;
      sync.kind = model::StepKind::sync;
      sync.lane = model::LaneRole::exchange;
      sync.program = "Sync";
      sync.name = path + "/Sync";
      sync.ticks = sync.minTicks = sync.maxTicks = Ticks(step.sync * repeat);
      sync.activeUnits = allTiles();
      sync.meanTicks = static_cast<double>(sync.ticks.count);
      sync.units = {{0, allTiles(), sync.ticks}};
      append(segment, sync, op);
    }
    const Spread spread = spreadOf(step.cycles);
    LoweredStep lowered;
    lowered.kind = step.kind;
    lowered.lane = step.kind == model::StepKind::compute      ? model::LaneRole::compute
                   : step.kind == model::StepKind::streamCopy ? model::LaneRole::host
                   : step.kind == model::StepKind::remoteCopy ? model::LaneRole::host
                                                              : model::LaneRole::exchange;
    lowered.program = step.program;
    lowered.name = path + "/" + step.name;
    lowered.ticks = lowered.maxTicks = Ticks(spread.most * repeat);
    lowered.minTicks = Ticks(spread.least * repeat);
    lowered.activeUnits = spread.active;
    lowered.meanTicks = static_cast<double>(spread.total * repeat) / static_cast<double>(allTiles());
    for (const TileRun& run : step.cycles) {
      if (run.value > 0) lowered.units.push_back({run.first, run.count, Ticks(run.value * repeat)});
    }
    lowered.bytesIn = Bytes(step.bytesIn * repeat);
    lowered.bytesOut = Bytes(step.bytesOut * repeat);
    append(segment, lowered, op);
  }

  static void append(LoweredSegment& segment, LoweredStep step, int op) {
    if (step.ticks.count <= 0) return;
    step.op = op;
    step.offset = segment.ticks;
    segment.ticks += step.ticks;
    segment.steps.push_back(std::move(step));
  }

  void addCode(const std::string& path, const ProgramStep& step, int stage) {
    if (step.kind == model::StepKind::compute) memory_.addVertices(path, step, stage);
    addTo(control_, controlCodeOf(step, context_.chip));
    for (const CodePart& part : codeOf(step)) memory_.addAlwaysLive(path, part.category, part.bytes, stage);
  }

  void finishTensors(const StagePlan& stage) {
    const StageTensors& tensors = tensors_[&stage];
    for (std::size_t i = 0; i < stage.tensors.size(); ++i) {
      const std::size_t variable = tensors.variables[i];
      for (const LifeSteps life : tensors.lives.of(i)) memory_.addLife(variable, life.first, life.end);
      if (tensors.lives.crosses(i)) {
        const TileRuns runs = memory_.runsOf(variable);
        const auto each = [&](std::int64_t bytes) {
          return transformed(runs, [bytes](std::int64_t n) { return n > 0 ? bytes : 0; });
        };
        memory_.addAlwaysLive(stage.tensors.items()[i].name, "globalExchangeCode",
                              each(kExchangeBase + kExchangePerMessage), stage.index);
        memory_.addAlwaysLive(stage.tensors.items()[i].name, "globalExchangePacketHeader",
                              each(kPacketHeader), stage.index);
      }
    }
  }

  const std::vector<const StagePlan*>& stages_;
  const LoweringContext& context_;
  static constexpr std::size_t kNowhere = SIZE_MAX;  ///< not on tiles
  TileMemory memory_;
  LoweredMemory streaming_;
  std::map<const StagePlan*, StageTensors> tensors_;
  Outlining outlining_;
  std::vector<std::int64_t> control_;    ///< bytes of the pass's control code on each tile
  bool keepsCode_ = true;                ///< false: another call holds the operator's code
  std::vector<std::int32_t> callSteps_;  ///< at which the operators of the call began
  std::int64_t chains_ = 0, chainCycles_ = 0, copyCycles_ = 0;
};

}  // namespace

base::Result<LoweredDevice> lowerStages(const std::vector<const StagePlan*>& stages,
                                        const std::string& deviceName, const LoweringContext& context) {
  return StageLowering(stages, context).lower(deviceName);
}

}  // namespace pipescope::devices::ipu
