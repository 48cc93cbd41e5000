#include "engine/devices/ipu/stage_lowering.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/devices/ipu/code_sizes.h"
#include "engine/devices/ipu/rounding.h"
#include "engine/devices/ipu/tensor_lives.h"
#include "engine/devices/ipu/tile_memory.h"

namespace pipescope::devices::ipu {
namespace {

using compile::PassPlan;
using compile::PlanOperator;
using compile::StagePlan;
using model::Pass;

/// A pass and where it comes in the program: host in, forward, then per stage from the last recompute and
/// backward, update, host out.
struct OrderedPass {
  const StagePlan* stage;
  const PassPlan* pass;
};

std::vector<OrderedPass> programOrder(const std::vector<const StagePlan*>& stages) {
  std::vector<OrderedPass> order;
  const auto take = [&](const StagePlan* stage, auto wanted) {
    for (const PassPlan& pass : stage->passes) {
      if (wanted(pass.pass)) order.push_back({stage, &pass});
    }
  };
  const auto ascending = [&](Pass kind) {
    for (const StagePlan* stage : stages) take(stage, [kind](Pass pass) { return pass == kind; });
  };
  ascending(Pass::hostIn);
  ascending(Pass::forward);
  for (auto it = stages.rbegin(); it != stages.rend(); ++it) {
    take(*it, [](Pass pass) {
      return pass == Pass::recompute || pass == Pass::backward || pass == Pass::weightGradient;
    });
  }
  ascending(Pass::update);
  for (const Pass other : {Pass::sync, Pass::collective, Pass::remote}) ascending(other);
  ascending(Pass::hostOut);
  return order;
}

class StageLowering {
 public:
  StageLowering(const std::vector<const StagePlan*>& stages, const LoweringContext& context)
      : stages_(stages), context_(context), memory_(context.chip) {}

  base::Result<LoweredDevice> lower(const std::string& deviceName) {
    LoweredDevice device;
    device.device = stages_.front()->device;
    for (const StagePlan* stage : stages_) addTensors(*stage);
    for (const OrderedPass& ordered : programOrder(stages_)) {
      PIPESCOPE_ASSIGN(LoweredPass pass, lowerPass(*ordered.stage, *ordered.pass));
      device.passes.push_back(std::move(pass));
    }
    for (const StagePlan* stage : stages_) finishTensors(*stage);
    device.memory.push_back(memory_.finish(deviceName));
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
      tensors.variables.push_back(memory_.addTensor(
          tensor.name, toString(tensor.use), toString(tensor.type), tensor.type.elements() * tensor.copies,
          graph::sizeOf(tensor.type.element), isAlwaysLive(tensor.use),
          tensor.use == compile::TensorUse::constant, stage.index));
    }
  }

  base::Result<LoweredPass> lowerPass(const StagePlan& stage, const PassPlan& plan) {
    LoweredPass pass;
    pass.stage = stage.index;
    pass.pass = plan.pass;
    const bool host = plan.pass == Pass::hostIn || plan.pass == Pass::hostOut;
    LoweredSegment segment;
    segment.name = "stage" + std::to_string(stage.index) + "/" + model::toString(plan.pass);
    segment.lane = host ? model::LaneRole::host : model::LaneRole::compute;
    const std::int32_t first = memory_.steps();
    TensorLives& lives = tensors_[&stage].lives;
    lives.enterPass(plan.pass, first);
    for (std::size_t i = 0; i < plan.operators.size(); ++i) {
      const PlanOperator& op = plan.operators[i];
      pass.operators.push_back(describe(stage, op));
      PIPESCOPE_TRY(lowerOperator(stage, plan.pass, op, static_cast<int>(i), segment));
    }
    lives.leavePass(memory_.steps());
    const std::int64_t programs = memory_.steps() - first;
    if (context_.chip.compilesCode)
      memory_.addAlwaysLive(segment.name, "controlCode",
                            {{0, context_.chip.tiles, programs * kControlPerProgram}}, stage.index);
    pass.segments.push_back(std::move(segment));
    return pass;
  }

  static LoweredOperator describe(const StagePlan& stage, const PlanOperator& op) {
    LoweredOperator lowered{op.name, op.kind, 0, Bytes()};
    for (const ops::Work& work : op.work) lowered.flops += flopsOf(work);
    for (const auto* list : {&op.inputs, &op.outputs}) {
      for (const compile::PlanTensorId id : *list) {
        if (id.valid()) lowered.bytes += stage.tensors[static_cast<std::size_t>(id.value)].type.bytes();
      }
    }
    return lowered;
  }

  /// The products from `first` on that may run side by side with it; at least one if it is a product.
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

  base::Status lowerOperator(const StagePlan& stage, Pass pass, const PlanOperator& op, int index,
                             LoweredSegment& segment) {
    const std::int32_t first = memory_.steps();
    for (std::size_t i = 0; i < op.work.size(); ++i) {
      const ops::Work& work = op.work[i];
      LoweringContext context = context_;
      context.what = op.name + " (" + op.kind + ")";
      if (work.repeat < 1) return base::badInput(context.what + ": a repeat count below 1.");
      const std::vector<ops::Contraction> together = sideBySide(op.work, i);
      PIPESCOPE_ASSIGN(const LoweredWork lowered, together.size() > 1 ? lowerSideBySide(together, context)
                                                                      : lowerWork(work.item, context));
      if (together.size() > 1) i += together.size() - 1;
      const std::string path = work.label.empty() ? op.name : op.name + "/" + work.label;
      const std::int32_t firstOfWork = memory_.steps();
      for (const ProgramStep& step : lowered.steps) {
        addSteps(segment, step, path, index, work.repeat);
        memory_.addStep(path + "/" + step.name, step, pass);
        addCode(path + "/" + step.name, step, stage.index);
      }
      for (const Temporary& temporary : lowered.temporaries) {
        memory_.addTemporary(path + "/" + temporary.name, temporary, firstOfWork, stage.index);
      }
    }
    tensors_[&stage].lives.operatorAt(op, first, memory_.steps());
    return {};
  }

  /// The step and the sync before it.
  void addSteps(LoweredSegment& segment, const ProgramStep& step, const std::string& path, int op,
                std::int64_t repeat) const {
    if (step.sync > 0) {
      LoweredStep sync;
      sync.kind = model::StepKind::sync;
      sync.lane = model::LaneRole::exchange;
      sync.program = "Sync";
      sync.name = path + "/Sync";
      sync.ticks = sync.minTicks = sync.maxTicks = Ticks(step.sync * repeat);
      sync.activeUnits = context_.chip.tiles;
      sync.meanTicks = static_cast<double>(sync.ticks.count);
      append(segment, sync, op);
    }
    const Spread spread = spreadOf(step.cycles);
    LoweredStep lowered;
    lowered.kind = step.kind;
    lowered.lane = step.kind == model::StepKind::compute      ? model::LaneRole::compute
                   : step.kind == model::StepKind::streamCopy ? model::LaneRole::host
                                                              : model::LaneRole::exchange;
    lowered.program = step.program;
    lowered.name = path + "/" + step.name;
    lowered.ticks = lowered.maxTicks = Ticks(spread.most * repeat);
    lowered.minTicks = Ticks(spread.least * repeat);
    lowered.activeUnits = spread.active;
    lowered.meanTicks = static_cast<double>(spread.total * repeat) / static_cast<double>(context_.chip.tiles);
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
    const auto onTiles = [&](std::int64_t bytes) {
      return transformed(step.cycles, [bytes](std::int64_t cycles) { return cycles > 0 ? bytes : 0; });
    };
    if (step.kind == model::StepKind::compute) {
      memory_.addVertices(path, step, stage);
      if (step.name.ends_with("OnTileCopy"))
        memory_.addAlwaysLive(path, "copyDescriptor", onTiles(kCopyDescriptor), stage);
    }
    if (step.kind == model::StepKind::exchange) {
      memory_.addAlwaysLive(path, "internalExchangeCode",
                            onTiles(kExchangeBase + kExchangePerMessage * step.messages), stage);
    }
    if (step.program == "StreamCopyMid") {
      memory_.addAlwaysLive(path, "hostExchangeCode",
                            onTiles(kExchangeBase + kExchangePerMessage * step.messages), stage);
      memory_.addAlwaysLive(path, "hostExchangePacketHeader", onTiles(kPacketHeader), stage);
    }
  }

  void finishTensors(const StagePlan& stage) {
    const StageTensors& tensors = tensors_[&stage];
    for (std::size_t i = 0; i < stage.tensors.size(); ++i) {
      const std::size_t variable = tensors.variables[i];
      for (const LifeInterval life : tensors.lives.of(i)) memory_.addLife(variable, life.first, life.end);
      if (tensors.lives.crosses(i)) {
        const TileRuns runs = memory_.runsOf(variable);
        const auto each = [&](std::int64_t bytes) {
          return transformed(runs, [bytes](std::int64_t n) { return n > 0 ? bytes : 0; });
        };
        memory_.addAlwaysLive(stage.tensors[i].name, "globalExchangeCode",
                              each(kExchangeBase + kExchangePerMessage), stage.index);
        memory_.addAlwaysLive(stage.tensors[i].name, "globalExchangePacketHeader", each(kPacketHeader),
                              stage.index);
      }
    }
  }

  const std::vector<const StagePlan*>& stages_;
  const LoweringContext& context_;
  TileMemory memory_;
  std::map<const StagePlan*, StageTensors> tensors_;
};

}  // namespace

base::Result<LoweredDevice> lowerStages(const std::vector<const StagePlan*>& stages,
                                        const std::string& deviceName, const LoweringContext& context) {
  return StageLowering(stages, context).lower(deviceName);
}

}  // namespace pipescope::devices::ipu
