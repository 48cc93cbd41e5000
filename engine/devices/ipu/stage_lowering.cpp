#include "engine/devices/ipu/stage_lowering.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "engine/devices/core/least_time.h"
#include "engine/devices/core/program_order.h"
#include "engine/devices/core/tensor_lives.h"
#include "engine/devices/ipu/code/code_sizes.h"
#include "engine/devices/ipu/code/exchange_code.h"
#include "engine/devices/ipu/code/outlining.h"
#include "engine/devices/ipu/code/step_code.h"
#include "engine/devices/ipu/fused_map.h"
#include "engine/devices/ipu/memory/streaming_tensors.h"
#include "engine/devices/ipu/memory/tile_memory.h"
#include "engine/devices/ipu/products/conv_vertices.h"
#include "engine/devices/ipu/segment_steps.h"
#include "engine/ops/core/rounding.h"

namespace pipescope::devices::ipu {
namespace {

using compile::IrOperator;
using compile::PassIr;
using compile::StageIr;
using model::Pass;

class StageLowering {
 public:
  StageLowering(const std::vector<const StageIr*>& stages, const IpuLoweringContext& context)
      : stages_(stages), context_(context), memory_(context.chip, context.ioTiles) {}

  base::Result<LoweredDevice> lower(const std::string& deviceName) {
    LoweredDevice device;
    device.device = stages_.front()->mesh.chip(0, stages_.front()->place);
    PIPESCOPE_ASSIGN(outlining_, Outlining::choose(stages_, context_));
    for (const StageIr* stage : stages_) addTensors(*stage);
    for (const OrderedPass& ordered : programOrder(stages_)) {
      PIPESCOPE_ASSIGN(LoweredPass pass, lowerPass(*ordered.stage, *ordered.pass));
      device.passes.push_back(std::move(pass));
    }
    for (const StageIr* stage : stages_) finishTensors(*stage);
    device.memory.push_back(memory_.finish(deviceName));
    if (streaming_.isUsed()) device.memory.push_back(streaming_.finish(deviceName, context_.streamingBytes));
    device.claims = {{"fuse_elementwise", chains_, Bytes(), Ticks(chainCycles_)},
                     {"outline", outlining_.calls(), outlining_.saved(), Ticks(-copyCycles_)}};
    return device;
  }

 private:
  struct StageTensors {
    std::vector<std::size_t> variables;  ///< variable of each IR tensor
    TensorLives lives;
  };

  void addTensors(const StageIr& stage) {
    StageTensors& tensors = tensors_[&stage];
    tensors.lives = TensorLives(stage);
    for (const compile::IrTensor& tensor : stage.tensors) {
      if (tensor.remote || tensor.shared) {
        if (!tensor.shared) streaming_.add(stage, tensor);
        tensors.variables.push_back(kNowhere);
        continue;
      }
      tensors.variables.push_back(memory_.addTensor(
          tensor.name, toString(tensor.use), toString(tensor.type), tensor.type.elements() * tensor.copies,
          graph::sizeOf(tensor.type.element), isAlwaysLive(tensor.use),
          tensor.use == compile::TensorUse::constant || tensor.use == compile::TensorUse::cache,
          stage.index));
    }
  }

  base::Result<LoweredPass> lowerPass(const StageIr& stage, const PassIr& ir) {
    LoweredPass pass;
    pass.stage = stage.index;
    pass.pass = ir.pass;
    LoweredSegment segment;
    const std::string name = "stage" + std::to_string(stage.index) + "/" + model::toString(ir.pass);
    segment.name = name;
    segment.lane = laneOfPass(ir.pass);
    control_.assign(static_cast<std::size_t>(allTiles()), 0);
    TensorLives& lives = tensors_[&stage].lives;
    lives.enterPass(ir.pass, memory_.steps());
    for (std::size_t i = 0; i < ir.operators.size(); ++i) {
      const IrOperator& op = ir.operators[i];
      const Pass kind = op.again ? Pass::recompute : ir.pass;
      pass.operators.push_back(describe(stage, op));
      if (op.again) pass.operators.back().pass = kind;
      const OutlinedCall* call = outlining_.callAt(ir, i);
      cutSegment(pass, segment, ownPass(ir.pass, op));
      if (call) {
        PIPESCOPE_TRY(lowerInCall(stage, kind, op, static_cast<int>(i), *call, segment));
      } else {
        PIPESCOPE_TRY(lowerOperator(stage, kind, op, static_cast<int>(i), segment));
      }
    }
    lives.leavePass(memory_.steps());
    pass.calls = outlining_.callsOf(ir);
    memory_.addAlwaysLive(name, "controlCode", toRuns(control_), stage.index);
    if (segment.ticks.count > 0 || pass.segments.empty()) pass.segments.push_back(std::move(segment));
    return pass;
  }

  /// FLOP/s of the fastest products in this type, with sums of so many products in that type. Products that
  /// fit into a unit of the AMP write 16-bit results at the rate of 16-bit sums (addAmpOfResults).
  double peak(ElementType type, ElementType sums, std::int64_t terms) const {
    const Chip& chip = context_.chip;
    const bool oneUnit = terms > 0 && terms <= weightsPerUnit({.half = true});
    const bool halfSums = context_.halfPartials || oneUnit || graph::sizeOf(sums) == 2;
    std::int64_t multiplyAdds = halfSums ? chip.ampHalf : chip.ampHalfFloat;
    if (graph::sizeOf(type) > 2) multiplyAdds = chip.ampFloat;
    if (graph::sizeOf(type) == 1) multiplyAdds = std::max(chip.ampQuarter, chip.ampHalf);
    return 2 * static_cast<double>(multiplyAdds * chip.tiles) * static_cast<double>(chip.clockHz);
  }

  LoweredOperator describe(const StageIr& stage, const IrOperator& op) const {
    LoweredOperator lowered{op.name, op.kind, 0, Bytes(), op.block};
    for (const ops::Work& work : op.work) lowered.flops += flopsOf(work);
    addLeastTime(lowered, op.work, [this](ElementType type, ElementType sums, std::int64_t terms) {
      return peak(type, sums, terms);
    });
    for (const auto* list : {&op.inputs, &op.outputs}) {
      for (const compile::IrTensorId id : *list) {
        if (id.valid()) lowered.bytes += stage.tensors[id].type.bytes();
      }
    }
    return lowered;
  }

  /// Products from `first` on that may run side by side; at least one if the Work at `first` is a product.
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
  base::Result<LoweredWork> lowerAt(const IrOperator& op, std::size_t& i, const IpuLoweringContext& context) {
    const std::vector<ops::Contraction> together = sideBySide(op.work, i);
    if (together.size() > 1) {
      i += together.size() - 1;
      return lowerSideBySide(together, context);
    }
    PIPESCOPE_ASSIGN(std::optional<FusedChain> fused, fuseChain(op, i, context));
    if (!fused) {
      const auto* product = std::get_if<ops::Contraction>(&op.work[i].item);
      return product && op.work[i].repeat > 1 ? lowerSequenceProduct(*product, context)
                                              : lowerWork(op.work[i].item, context);
    }
    i += fused->count - 1;
    ++chains_;
    chainCycles_ += fused->savedCycles;
    return std::move(fused->work);
  }

  void addProgram(LoweredSegment& segment, const ProgramStep& step, const std::string& path, int op,
                  std::int64_t repeat, Pass pass, int stage) {
    appendSteps(segment, step, path, op, repeat, allTiles());
    memory_.addStep(path + "/" + step.name, step, pass);
    if (keepsCode_) addCode(path + "/" + step.name, step, stage);
  }

  /// Adds the copies of a call's arguments or results. Both are spread over the tiles in the same way. `both`
  /// of the bytes live at their old and new place while the copy runs.
  base::Status copyForCall(const StageIr& stage, Pass pass, const IrOperator& op, int index, const char* name,
                           std::int64_t bytes, Temporary both, LoweredSegment& segment) {
    if (bytes == 0) return {};
    IpuLoweringContext context = context_;
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
  base::Status lowerInCall(const StageIr& stage, Pass pass, const IrOperator& op, int index,
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

  base::Status lowerOperator(const StageIr& stage, Pass pass, const IrOperator& op, int index,
                             LoweredSegment& segment) {
    std::int32_t written = memory_.steps();
    readsKept_ = readsKeptTensors(stage, op);
    for (std::size_t i = 0; i < op.work.size(); ++i) {
      const ops::Work& work = op.work[i];
      IpuLoweringContext context = context_;
      context.what = op.name + " (" + op.kind + ")";
      if (pass == Pass::update) context.streamingBytesPerSecond = context_.updateStreamingBytesPerSecond;
      if (const auto* product = std::get_if<ops::Contraction>(&work.item))
        context.operands = operandPlacesOf(stage, op, *product);
      if (work.repeat < 1) return base::badInput(context.what + ": a repeat count below 1.");
      PIPESCOPE_ASSIGN(LoweredWork lowered, lowerAt(op, i, context));
      if (!hasItsTiles(work)) lowered.moveTo(context_.chip, firstTileOf(stage, op));
      const std::string path = work.label.empty() ? op.name : op.name + "/" + work.label;
      const std::int32_t firstOfWork = memory_.steps();
      if (const auto* product = std::get_if<ops::Contraction>(&work.item))
        layOutWeights(stage, op, *product, lowered);
      if (leavesResult(op, i)) {
        written = firstOfWork + static_cast<std::int32_t>(lowered.resultFrom);
        placeResults(stage, op, lowered);
      }
      for (const ProgramStep& step : lowered.steps)
        addProgram(segment, step, path, index, step.once ? 1 : work.repeat, pass, stage.index);
      if (const auto* copy = std::get_if<ops::HostCopy>(&work.item);
          copy && !copy->remote && context.ioTiles > 0)
        memory_.addStreamBuffer(path, onIoTiles(context, copy->bytes.count), stage.index);
      for (const Temporary& temporary : lowered.temporaries) {
        memory_.addTemporary(path + "/" + temporary.name, temporary, firstOfWork, stage.index);
      }
    }
    followOperands(stage, op);
    tensors_[&stage].lives.operatorAt(op, written, memory_.steps());
    return {};
  }

  /// True if the Work with this index makes the operator's result, which later Work at most changes in place.
  static bool leavesResult(const IrOperator& op, std::size_t index) {
    const ops::Work& work = op.work[index];
    if (work.repeat != 1 || index > 0) return false;
    const bool product = std::holds_alternative<ops::Contraction>(work.item);
    return op.work.size() == 1 ||
           (product && std::all_of(op.work.begin() + 1, op.work.end(), [](const ops::Work& next) {
              return std::holds_alternative<ops::Map>(next.item);
            }));
  }

  std::size_t variableOf(const StageIr& stage, compile::IrTensorId id) const {
    return id.valid() ? tensors_.at(&stage).variables[static_cast<std::size_t>(id.value)] : kNowhere;
  }

  void placeResults(const StageIr& stage, const IrOperator& op, const LoweredWork& work) {
    // PopLibs spreads these results from tile 0 on (C: Convolution.cpp, Pooling.cpp, ReductionStages.cpp).
    const ops::WorkItem& item = op.work.front().item;
    const bool fromFirst = std::holds_alternative<ops::Contraction>(item) ||
                           std::holds_alternative<ops::Pool>(item) ||
                           std::holds_alternative<ops::Reduce>(item);
    for (const compile::IrTensorId id : op.outputs) {
      const std::size_t variable = variableOf(stage, id);
      if (variable == kNowhere) continue;
      if (fromFirst) memory_.spreadFrom(variable, 0);
      memory_.place(variable, work.resultPlace, work.resultRuns);
    }
  }

  /// Divides weights among tiles as the first product that reads them wants it (C: PopART's Devicex asks that
  /// operator to create them).
  void layOutWeights(const StageIr& stage, const IrOperator& op, const ops::Contraction& product,
                     const LoweredWork& work) {
    for (std::size_t i = 0; i < std::min<std::size_t>(2, op.inputs.size()); ++i) {
      const std::size_t variable = variableOf(stage, op.inputs[i]);
      const auto right = placedSide(stage, op, product, i);
      if (!right || variable == kNowhere || !laidOut_.insert({&stage, variable}).second) continue;
      memory_.layOut(variable, *right ? work.rightShares : work.leftShares, 0);
    }
  }

  /// Results of functions lie where an operand does: of those with as many elements, the one whose fullest
  /// tile holds least (C: PopLibs, createOutputForElementWiseOp). So do views of all elements.
  void followOperands(const StageIr& stage, const IrOperator& op) {
    const bool follows = std::all_of(op.work.begin(), op.work.end(), [](const ops::Work& work) {
      return std::holds_alternative<ops::Map>(work.item) || std::holds_alternative<ops::Reduce>(work.item);
    });
    if (!follows) return;
    for (const compile::IrTensorId made : op.outputs) {
      const std::size_t output = variableOf(stage, made);
      if (output == kNowhere || isAlwaysLive(stage.tensors[made].use)) continue;
      std::size_t best = kNowhere;
      for (const compile::IrTensorId id : op.inputs) {
        const std::size_t input = variableOf(stage, id);
        if (input == kNowhere || id == made || stage.tensors[id].copies != 1 ||
            stage.tensors[id].type.elements() != stage.tensors[made].type.elements())
          continue;
        if (best == kNowhere || memory_.mostElements(input) < memory_.mostElements(best)) best = input;
      }
      if (best != kNowhere) memory_.layOut(output, memory_.runsOf(best), memory_.startOf(best));
    }
  }

  /// True if the work's tiles are fixed: a product begins on tile 0 (C: PopLibs, Convolution.cpp,
  /// linearizeTileIndices), a collective uses all tiles, and a host copy those for input and output.
  bool hasItsTiles(const ops::Work& work) const {
    return std::holds_alternative<ops::Contraction>(work.item) ||
           std::holds_alternative<ops::Collective>(work.item) ||
           (std::holds_alternative<ops::HostCopy>(work.item) && context_.ioTiles > 0);
  }

  /// Work is done where its result lies, or else where its first operand does.
  std::int64_t firstTileOf(const StageIr& stage, const IrOperator& op) const {
    const std::vector<std::size_t>& variables = tensors_.at(&stage).variables;
    for (const auto* list : {&op.outputs, &op.inputs}) {
      for (const compile::IrTensorId id : *list) {
        if (id.valid() && variables[static_cast<std::size_t>(id.value)] != kNowhere)
          return memory_.startOf(variables[static_cast<std::size_t>(id.value)]);
      }
    }
    return 0;
  }

  std::int64_t allTiles() const { return context_.chip.tiles + context_.ioTiles; }

  void addCode(const std::string& path, const ProgramStep& step, int stage) {
    if (step.kind == model::StepKind::compute) memory_.addVertices(path, step, stage);
    addTo(control_, controlCodeOf(step, context_.chip));
    for (const CodePart& part : codeOf(step, context_.chip)) {
      memory_.addAlwaysLive(path, part.category,
                            part.shared ? partOf(part.bytes, exchanges_.take(step, readsKept_)) : part.bytes,
                            stage);
    }
  }

  void finishTensors(const StageIr& stage) {
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

  const std::vector<const StageIr*>& stages_;
  const IpuLoweringContext& context_;
  static constexpr std::size_t kNowhere = SIZE_MAX;  ///< variables that do not lie on tiles
  TileMemory memory_;
  StreamingTensors streaming_;
  std::map<const StageIr*, StageTensors> tensors_;
  std::set<std::pair<const StageIr*, std::size_t>> laidOut_;  ///< weights that a product has laid out
  Outlining outlining_;
  std::vector<std::int64_t> control_;  ///< bytes of the pass's control code on each tile
  ExchangeCode exchanges_;
  bool readsKept_ = false;               ///< the operator reads tensors that are always live
  bool keepsCode_ = true;                ///< false: another call holds the operator's code
  std::vector<std::int32_t> callSteps_;  ///< steps at which the operators of the call began
  std::int64_t chains_ = 0, chainCycles_ = 0, copyCycles_ = 0;
};

}  // namespace

base::Result<LoweredDevice> lowerStages(const std::vector<const StageIr*>& stages,
                                        const std::string& deviceName, const IpuLoweringContext& context) {
  return StageLowering(stages, context).lower(deviceName);
}

}  // namespace pipescope::devices::ipu
