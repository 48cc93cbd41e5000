#include "engine/devices/ipu/products/product_steps.h"

#include <algorithm>
#include <string>

#include "engine/devices/ipu/code/code_sizes.h"
#include "engine/devices/ipu/products/operand_shares.h"
#include "engine/ops/core/rounding.h"

namespace pipescope::devices::ipu {

using ops::ceilDiv;
using ops::roundUp;
namespace {

using Place = Temporary::Place;

std::int64_t codeBytesOf(const ConvVertex& vertex, bool oneByOne) {
  switch (vertex.method) {
    case ConvVertex::Method::amp:
      return oneByOne ? kCodeConv1x1 : kCodeConvNx1;
    case ConvVertex::Method::slic:
      return kCodeSlic;
    case ConvVertex::Method::horizontalMac:
      return kCodeHorizontalMac;
    case ConvVertex::Method::verticalMac:
      return kCodeVerticalMac;
    case ConvVertex::Method::outerProduct:
      return kCodeOuterProduct;
  }
  return 0;
}

/// Makes the steps of one plan.
class ProductSteps {
 public:
  ProductSteps(const Chip& chip, const ContractionPlan& plan, bool otherOrder, OperandPlaces operands)
      : chip_(chip),
        plan_(plan),
        costs_(plan.costs),
        rightIsInput_(plan.form.swapped != otherOrder),
        inputInPlace_(rightIsInput_ ? operands.right : operands.left),
        weightsInPlace_(rightIsInput_ ? operands.left : operands.right) {
    std::int64_t first = 0;
    for (const ConvShare& share : sharesOf(plan)) {
      shares_.push_back({first, share.tiles, costsOf(chip, plan, share.tile)});
      first += share.tiles;
    }
    tiles_ = first;
  }

  LoweredWork build() {
    arrangeOperands();
    partsFrom_ = plan_.form.arrangeEach ? 0 : work_.steps.size();
    slice();
    convolve();
    reduce();
    repeatSerialParts(partsFrom_);
    arrangeResult();
    work_.leftShares = rightIsInput_ ? weightShares(plan_) : inputShares(plan_);
    work_.rightShares = rightIsInput_ ? inputShares(plan_) : weightShares(plan_);
    return std::move(work_);
  }

 private:
  struct Share {
    std::int64_t first = 0, tiles = 0;
    ConvCosts costs;
  };

  template <class F>
  TileRuns runs(F value) const {
    TileRuns result;
    for (const Share& share : shares_) result.push_back({share.first, share.tiles, value(share.costs)});
    return result;
  }
  TileRuns everywhere(std::int64_t value) const { return {{0, tiles_, value}}; }

  /// Adds an exchange whose length is known.
  void exchange(const char* name, std::int64_t cycles, TileRuns received, std::int64_t pieces,
                const TileRuns& sent = {}) {
    if (cycles <= 0) return;
    work_.exchange(chip_, name, received, 1,
                   std::max<std::int64_t>(1, spreadOf(received).most / std::max<std::int64_t>(1, pieces)),
                   sent);
    const std::int64_t setUp = chip_.exchangeOverhead - work_.steps.back().sync;
    const std::int64_t most = spreadOf(received).most;
    work_.steps.back().ownAddresses = 0;
    work_.steps.back().cycles = transformed(std::move(received), [&](std::int64_t bytes) {
      return bytes <= 0 ? 0 : setUp + ceilDiv(cycles * bytes, std::max<std::int64_t>(1, most));
    });
  }

  /// The share of the right operand, which may be a parameter, in what two operands move.
  double rightShare(std::int64_t inputs, std::int64_t weights) const {
    const auto all = static_cast<double>(std::max<std::int64_t>(1, inputs + weights));
    return static_cast<double>(rightIsInput_ ? inputs : weights) / all;
  }

  /// Bytes that each tile sends before the product. One sending serves all tiles that hear it, so no tile
  /// sends more than it receives.
  TileRuns sentOperands(const TileRuns& received) const {
    TileRuns sent = runs([](const ConvCosts& c) { return std::max<std::int64_t>(c.sentBytes, 1); });
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i].value = std::min(sent[i].value, received[i].value);
    return sent;
  }

  /// The runs of neighbouring elements in a tile's share of the input. Groups of channels are the outermost
  /// axis of the tensor, then come the batch and the field, and the channels of a group are the innermost
  /// (C: PopLibs, ConvUtilInternal.cpp, [G1][C1][N][field][G2][C2]). Axes whose whole extent the share takes
  /// belong to the run.
  std::int64_t inputRuns() const {
    const ConvShape& shape = plan_.form.shape;
    const ConvTile& tile = plan_.tile;
    std::int64_t runs = tile.groups * tile.inGroups;
    bool whole = true;
    for (std::size_t i = shape.dimCount; i-- > 0;) {
      const std::int64_t taken = shape.dims[i].inputsFor(tile.output[i], tile.kernel[i]);
      if (!whole) runs *= taken;
      whole = whole && taken == shape.dims[i].input;
    }
    return whole ? runs : runs * tile.batch;
  }

  /// Messages of the exchange of operands on the busiest tile: what arrives, a message for each run of
  /// neighbouring elements and for each further tile that sends a part of one, and what the tile itself
  /// sends.
  std::int64_t operandMessages() const {
    const ConvTile& tile = plan_.tile;
    const auto part = [](std::int64_t runs, std::int64_t moved, std::int64_t whole) {
      return ceilDiv(runs * moved, std::max<std::int64_t>(1, whole));
    };
    const std::int64_t arriving =
        part(inputRuns(), costs_.movedInputBytes, costs_.inputBytes) +
        part(tile.groups * tile.outGroups, costs_.movedWeightBytes, costs_.weightBytes) +
        piecesOf(costs_.receivedBytes) - 1;
    return arriving + std::max<std::int64_t>(1, part(arriving, costs_.sentBytes, costs_.receivedBytes));
  }

  void copies(const char* name, std::int64_t cycles) {
    if (cycles > 0)
      work_.compute(chip_, name, everywhere(cycles), {"popops::OnTileCopy", kCodeCopy, kStateSimple, 0});
  }

  void arrangeOperands() {
    const std::size_t first = work_.steps.size();
    if (costs_.arrangeExchange > 0) {
      exchange("PreArrange/Exchange", costs_.arrangeExchange, everywhere(costs_.arrangeBytes),
               piecesOf(costs_.arrangeBytes));
      const ConvShape& shape = plan_.form.shape;
      work_.steps.back().ownAddresses = rightShare(plan_.form.arrangeInput ? shape.inputElements() : 0,
                                                   plan_.form.arrangeWeights ? shape.weightElements() : 0);
    }
    if (plan_.form.turned && costs_.arrangeExchange == 0) {
      const char* type = plan_.form.shape.half ? "popops::Transpose2d<half>" : "popops::Transpose2d<float>";
      work_.compute(chip_, "PreArrange/Transpose", everywhere(costs_.arrange),
                    {type, kCodeCopy, kStateSimple, 0});
    } else {
      copies("PreArrange/OnTileCopy", costs_.arrange);
    }
    if (costs_.arrangeExchange > 0) {
      exchange("PreArrange/Place", costs_.arrangeExchange, everywhere(costs_.arrangeBytes),
               piecesOf(costs_.arrangeBytes));
    }
    // Products that are repeated for the steps of a sequence carry gradients back through the same weights,
    // which are arranged once, before the first (C: popnn, Lstm.cpp and Gru.cpp, preArrangeMatMulInputRHS).
    const ConvForm& form = plan_.form;
    const bool weightsOnly = form.swapped && form.arrangeInput && !form.arrangeWeights &&
                             form.unpadded.pass == ProductPass::inputGradient;
    for (std::size_t i = first; i < work_.steps.size(); ++i) work_.steps[i].once = weightsOnly;
    arrangeFirst_ = first;
    if (costs_.arrangeExchange > 0)
      work_.hold("PreArrange/Source", everywhere(costs_.arrangeBytes), first, work_.steps.size());
  }

  void slice() {
    if (costs_.slice > 0) {
      work_.compute(chip_, "DynamicSlice", everywhere(costs_.slice),
                    {"popops::DynamicSlice1d", kCodeDynamicSlice, kStateSimple, 0});
    }
  }

  void convolve() {
    const ConvForm& form = plan_.form;
    const std::size_t first = work_.steps.size();
    if (costs_.operandExchange > 0) {
      const TileRuns received =
          runs([&](const ConvCosts& c) { return std::max<std::int64_t>(c.receivedBytes, 1); });
      exchange("PreConvolve/Exchange", costs_.operandExchange, received, piecesOf(costs_.receivedBytes),
               sentOperands(received));
      work_.steps.back().messages = operandMessages();
      work_.steps.back().ownAddresses = rightShare(costs_.movedInputBytes, costs_.movedWeightBytes);
    }
    const bool oneByOne = usesOneByOne(form.shape, form.vertex, plan_.tile);
    const std::int64_t lists =
        4 * (plan_.tile.inGroups + plan_.tile.outGroups + plan_.tile.inGroups * plan_.tile.outGroups) *
        plan_.tile.groups;
    // The share of a worker in a 1x1 vertex is three 16-bit numbers (C: ConvPartial1x1Out.cpp; M: Poplar's
    // tutorial 4 has 97 kB of lists of shares on 2,750 tiles). Other vertices have more of them.
    const std::int64_t shares = (oneByOne ? 6 : 12) * chip_.workers;
    convolve_ = work_.compute(chip_, "Convolve", runs([](const ConvCosts& c) { return c.compute; }),
                              {vertexName(form.shape, form.vertex, oneByOne),
                               codeBytesOf(form.vertex, oneByOne), kStateConv, lists + shares});
    // Operands that lie on the tile already are used in place.
    work_.hold("Inputs", runs([&](const ConvCosts& c) { return heldInputs(c); }), first, convolve_ + 1);
    // Except in the AMP and SLIC, one operand must not lie in the memory element of the other or of the
    // result (C: PopLibs, constraints of ConvPartialHorizontalMac, ConvPartialVerticalMac and OuterProduct).
    work_.hold("Weights", runs([&](const ConvCosts& c) { return heldWeights(c); }), first, convolve_ + 1,
               weightsAreWide() ? Place::interleaved
               : sumsAreWide()  ? Place::anywhere
                                : Place::anotherElement);
    if (form.vertex.method == ConvVertex::Method::slic) {
      work_.hold("OutFieldBuffer", runs([&](const ConvCosts& c) { return slicBufferBytes(c); }), convolve_,
                 convolve_ + 1, Place::interleaved);
    }
    // Each worker adds into sums of its own (C: PopLibs, ConvVertices.cpp, partials of the vertical MAC).
    if (form.vertex.method == ConvVertex::Method::verticalMac) {
      work_.hold("WorkerSums", runs([&](const ConvCosts& c) {
                   return chip_.workers * c.partialBytes / std::max<std::int64_t>(1, plan_.tile.groups);
                 }),
                 convolve_, convolve_ + 1);
    }
  }

  /// Bytes of the operands that a tile holds beside their tensors. What was arranged for the product may be
  /// used in place, whoever made it. Each serial part works on a slice of its own.
  std::int64_t heldInputs(const ConvCosts& costs) const {
    return inputInPlace_ || plan_.form.arrangeInput ? costs.movedInputBytes : costs.inputBytes;
  }
  std::int64_t heldWeights(const ConvCosts& costs) const {
    const bool inPlace = weightsInPlace_ || plan_.form.arrangeWeights;
    return inPlace && plan_.form.serial == 1 ? costs.movedWeightBytes : costs.weightBytes;
  }

  /// SLIC adds into a second buffer by turns, which is as large as the sums of one group of groups, and keeps
  /// rearranged weights beside it (C: PopLibs, ConvVertices.cpp, outFieldBuffer and extraBytes).
  std::int64_t slicBufferBytes(const ConvCosts& costs) const {
    constexpr std::int64_t kRearrangedWeights = 200, kAlignment = 16;
    const std::int64_t sums = costs.partialBytes / std::max<std::int64_t>(1, plan_.tile.groups);
    return roundUp(sums + kRearrangedWeights, kAlignment);
  }

  /// The AMP loads and stores its sums 128 bits at a time, which needs interleaved memory.
  bool sumsAreWide() const {
    const ConvVertex::Method method = plan_.form.vertex.method;
    return method == ConvVertex::Method::amp || method == ConvVertex::Method::slic;
  }

  /// Weights that the AMP loads 128 bits at a time need interleaved memory, too.
  bool weightsAreWide() const {
    const ConvVertex& vertex = plan_.form.vertex;
    return chip_.weightLoadBytes > chip_.vectorBytes && vertex.method == ConvVertex::Method::amp &&
           vertex.filterHeight != 4;
  }

  void reduce() {
    const ConvShape& shape = plan_.form.shape;
    const std::size_t count = costs_.stages.count;
    Place place = sumsAreWide() ? Place::interleaved : Place::anywhere;
    const bool finalPartials = count == 0 && costs_.cast == 0;
    TileRuns partials = runs([](const ConvCosts& c) { return c.partialBytes; });
    std::size_t from = written_ = convolve_;
    for (std::size_t i = 0; i < count; ++i) {
      const ReduceStage& stage = costs_.stages.stage[i];
      const std::string name = count == 1 ? "Reduce" : "Reduce/Stage" + std::to_string(i);
      const std::int64_t received = (stage.depth - 1) * stage.outputs * shape.partialBytes();
      exchange((name + "/Exchange").c_str(), costs_.stageExchange[i], everywhere(received), stage.depth - 1);
      const std::size_t last =
          work_.compute(chip_, name, everywhere(costs_.stageCompute[i]),
                        {i + 1 == count ? "poplin::ReduceAdd" : "poplin::ReduceAddPartials", kCodeReduceAdd,
                         kStateReduce, 4 * stage.depth});
      work_.hold("Partials" + std::to_string(i), partials, from, last + 1, place);
      place = Place::anywhere;
      partials = everywhere((stage.depth - 1) * stage.outputs * shape.partialBytes());
      from = written_ = last;
      work_.hold("ReduceBuffer" + std::to_string(i), partials, last - 1, last + 1);
      partials = everywhere(stage.outputs * shape.partialBytes());
    }
    if (costs_.cast > 0) {
      const std::size_t last = work_.compute(chip_, "Cast", everywhere(costs_.cast),
                                             {"popops::Cast1D<float,half>", kCodeCast, kStateSimple, 0});
      written_ = last;
      work_.hold("Partials", partials, from, last + 1, place);
    } else if (finalPartials && plan_.form.serial > 1) {
      work_.hold("Partials", partials, from, work_.steps.size(), place);
    }
  }

  void arrangeResult() {
    const std::size_t first = work_.steps.size();
    if (costs_.outputExchange > 0)
      exchange("Output/Exchange", costs_.outputExchange, everywhere(costs_.outputBytes),
               piecesOf(costs_.outputBytes));
    copies("Output/OnTileCopy", costs_.output);
    // Each serial part writes its results.
    if (plan_.form.serial > 1) written_ = partsFrom_;
    // Without a reduction or a cast, the vertex itself writes the result.
    const Place place =
        costs_.stages.count == 0 && costs_.cast == 0 && sumsAreWide() ? Place::interleaved : Place::anywhere;
    if (first < work_.steps.size()) {
      work_.hold("Output", everywhere(costs_.outputBytes), written_, work_.steps.size(), place);
      written_ = first;
    } else if (plan_.form.serial == 1) {
      work_.resultPlace = place;
      const std::int64_t partial = plan_.form.shape.partialBytes(), result = plan_.form.shape.resultBytes();
      const ReduceStages& stages = costs_.stages;
      work_.resultRuns = stages.count > 0
                             ? everywhere(stages.stage[stages.count - 1].outputs * result)
                             : runs([&](const ConvCosts& c) { return c.partialBytes / partial * result; });
    }
    work_.resultFrom = written_;
    // The weight gradients of repeated products (the steps of a sequence) are summed in the order in which
    // the product leaves them. They are put into the order of the weights once, at the end.
    for (std::size_t i = first; i < work_.steps.size(); ++i)
      work_.steps[i].once = plan_.form.unpadded.pass == ProductPass::weightGradient;
  }

  /// Serial parts run the same programs one after another, so each step from `first` on stands for all parts.
  void repeatSerialParts(std::size_t first) {
    const std::int64_t parts = plan_.form.serial;
    // The product takes turned weights, and what is used in place, from where they were arranged.
    const bool inPlace = (plan_.form.arrangeInput && costs_.movedInputBytes < costs_.inputBytes) ||
                         (plan_.form.arrangeWeights && costs_.movedWeightBytes < costs_.weightBytes);
    const std::size_t used = plan_.form.turned || inPlace ? convolve_ + 1 : convolve_;
    const std::size_t keptTo = parts > 1 && !plan_.form.arrangeEach ? work_.steps.size() : used;
    // A transposition reads and writes different memory elements (C: PopLibs, constraint of Transpose1D).
    work_.hold("PreArrange/Result", everywhere(costs_.arrangeBytes + costs_.turnedBytes), arrangeFirst_,
               keptTo, plan_.form.turned ? Place::ownElement : Place::anywhere);
    // Slices are cut from weights in the order of the product.
    if (parts > 1 && !weightsInPlace_ && !plan_.form.arrangeWeights) {
      const ConvShape& shape = plan_.form.shape;
      work_.hold("PreArrange/Weights",
                 everywhere(ceilDiv(shape.weightElements() * shape.operandBytes(), tiles_)), first,
                 work_.steps.size());
    }
    for (std::size_t i = first; parts > 1 && i < work_.steps.size(); ++i) {
      ProgramStep& step = work_.steps[i];
      step.cycles =
          transformed(std::move(step.cycles), [parts](std::int64_t cycles) { return cycles * parts; });
      step.sync *= parts;
      step.bytesIn *= parts;
      step.bytesOut *= parts;
    }
  }

  /// The number of tiles that send operands to a tile; each of them holds an even share.
  std::int64_t piecesOf(std::int64_t bytes) const {
    const ConvShape& shape = plan_.form.shape;
    const std::int64_t whole = (shape.inputElements() + shape.weightElements()) * shape.operandBytes();
    return std::clamp<std::int64_t>(ceilDiv(bytes, std::max<std::int64_t>(128, whole / chip_.tiles)), 1,
                                    chip_.tiles);
  }

  const Chip& chip_;
  const ContractionPlan& plan_;
  const ConvCosts& costs_;
  bool rightIsInput_;  ///< a form with swapped operands takes the right one as its input
  /// The operands lie where the product uses them, so a tile needs copies only of what comes from other
  /// tiles.
  bool inputInPlace_, weightsInPlace_;
  std::vector<Share> shares_;
  std::int64_t tiles_ = 0;
  std::size_t arrangeFirst_ = 0, convolve_ = 0;
  std::size_t partsFrom_ = 0;  ///< the first step of a serial part
  std::size_t written_ = 0;    ///< the step that writes the results
  LoweredWork work_;
};

}  // namespace

LoweredWork stepsOf(const Chip& chip, const ContractionPlan& plan, bool otherOrder, OperandPlaces operands) {
  return ProductSteps(chip, plan, otherOrder, operands).build();
}

}  // namespace pipescope::devices::ipu
