#include "engine/devices/ipu/products/plan_cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/ops/core/rounding.h"

namespace pipescope::devices::ipu {

using ops::ceilDiv;
using ops::roundUp;
namespace {

std::int64_t exchangeCycles(const Chip& chip, std::int64_t bytes, double factor = 1) {
  return static_cast<std::int64_t>(
      std::ceil(static_cast<double>(bytes) / (chip.exchangeBytesPerCycle * factor)));
}

/// Cycles to bring `bytes` of results into the groups of channels of the next layer: 5/4 of the bytes over
/// the bytes of a cycle, or 5/3 if channels do not fill vectors (PopLibs planner, C).
std::int64_t regroupCycles(const Chip& chip, std::int64_t bytes, std::int64_t bytesPerCycle, bool vectors) {
  return ceilDiv(bytes * 5, std::min(chip.vectorBytes, bytesPerCycle) * (vectors ? 4 : 3));
}

bool anyOf(const std::array<bool, kMaximumDims>& flags) {
  return std::any_of(flags.begin(), flags.end(), [](bool f) { return f; });
}

struct Zeros {
  std::int64_t kernel = 0, input = 0;
};

/// Bytes of zeros that pad a tile's kernel to what the vertex takes at a time, and for SLIC also its dilated
/// and padded input.
Zeros zerosOf(const ConvForm& form, const ConvTile& tile) {
  const ConvVertex& vertex = form.vertex;
  const bool slic = vertex.method == ConvVertex::Method::slic;
  const std::int64_t multiple = slic ? 4 : vertex.filterHeight;
  if (multiple == 1 || form.shape.dimCount == 0) return {};
  const std::size_t filled = slic ? form.shape.dimCount - 1 : 0;
  const std::int64_t groups = tile.groups * vertex.groupGroup, inChannels = tile.inGroups * vertex.inGroup;
  std::int64_t kernel = 1, whole = 1, inputs = 1, padded = 1;
  for (std::size_t i = 0; i < form.shape.dimCount; ++i) {
    const std::int64_t taps = i == filled ? roundUp(tile.kernel[i], multiple) : tile.kernel[i];
    kernel *= tile.kernel[i];
    whole *= taps;
    inputs *= form.shape.dims[i].inputsFor(tile.output[i], tile.kernel[i]);
    padded *= (tile.output[i] - 1) * form.shape.dims[i].stride + taps;
  }
  Zeros zeros{groups * inChannels * tile.outGroups * vertex.outGroup * (whole - kernel), 0};
  if (slic) zeros.input = groups * tile.batch * inChannels * std::max<std::int64_t>(0, padded - inputs);
  return zeros;
}

void addArrangement(const Chip& chip, const ConvForm& form, const ConvSplit& split, ConvCosts& costs) {
  const ConvShape& shape = form.shape;
  const std::int64_t element = shape.operandBytes(), tiles = split.tiles();
  const std::int64_t in = std::gcd(form.vertex.inGroup, form.unpadded.inputChannels);
  const std::int64_t out = std::gcd(form.vertex.outGroup, form.unpadded.outputChannels);
  const std::int64_t groups = std::gcd(form.vertex.groupGroup, form.unpadded.groups);
  std::int64_t largest = 0;
  const auto add = [&](std::int64_t elements, std::int64_t neighbours) {
    const std::int64_t bytes = ceilDiv(elements * element, tiles);
    costs.arrangeExchange += exchangeCycles(chip, bytes);
    costs.arrange += arrangeCycles(bytes, neighbours * element);
    costs.arrangeBytes += bytes;
    largest = std::max(largest, bytes);
  };
  if (form.arrangeInput) add(shape.inputElements(), groups * in);
  if (form.arrangeWeights)
    add(ceilDiv(shape.weightElements(), form.arrangeEach ? form.serial : 1), groups * in * out);
  costs.temporaryBytes = std::max(costs.temporaryBytes, 2 * largest);
  if (!form.arrangeOutput && !form.regroupOutput) return;
  const std::int64_t result = shape.resultBytes(), bytes = ceilDiv(shape.outputElements() * result, tiles);
  const bool outputVectors = form.unpadded.outputChannels % (shape.half ? 4 : 2) == 0;
  if (form.arrangeOutput) costs.outputExchange = exchangeCycles(chip, bytes);
  costs.output =
      regroupCycles(chip, bytes, form.arrangeOutput ? result : form.vertex.outGroup * result, outputVectors);
  costs.outputBytes = bytes;
  costs.temporaryBytes = std::max(costs.temporaryBytes, 2 * bytes);
}

void addOperands(const Chip& chip, const ConvForm& form, const ConvSplit& split, const ConvTile& tile,
                 ConvCosts& costs) {
  const ConvShape& shape = form.shape;
  const std::int64_t groups = tile.groups * form.vertex.groupGroup;
  const std::int64_t inChannels = tile.inGroups * form.vertex.inGroup,
                     outChannels = tile.outGroups * form.vertex.outGroup;
  std::int64_t inputs = groups * tile.batch * inChannels, weights = groups * inChannels * outChannels;
  std::int64_t partials = groups * tile.batch * outChannels, own = inputs;
  const bool weightsStay = form.joint && shape.pass != ProductPass::weightGradient;
  for (std::size_t i = 0; i < shape.dimCount; ++i) {
    const std::int64_t taken = shape.dims[i].inputsFor(tile.output[i], tile.kernel[i]);
    inputs *= taken;
    own *= weightsStay ? taken : std::min(taken, ceilDiv(shape.dims[i].input, split.output[i]));
    weights *= tile.kernel[i];
    partials *= tile.output[i];
  }
  const Zeros zeros = zerosOf(form, tile);
  const std::int64_t element = shape.operandBytes();
  costs.inputBytes = (inputs + zeros.input) * element;
  costs.weightBytes = (weights + zeros.kernel) * element;
  costs.partialBytes = partials * shape.partialBytes();
  if (form.turned) {
    costs.arrange += turnCycles(chip, inputs, form.vertex.inGroup, shape.half);
    costs.turnedBytes = inputs * element;
  }
  // Operands are spread evenly over the tiles that use them, so a part is there already. Elements that
  // windows share with their neighbours come from those neighbours. Neighbouring tiles hold neighbouring
  // output channels, so pairs that want the same inputs share an exchange bus.
  const std::int64_t moveInputs = (inputs - own / split.outChannels) * element;
  const std::int64_t moveWeights = (weights - weights / split.positions()) * element;
  const bool shared = split.outChannels % 2 == 0 && shape.neighboursShareInputs();
  costs.receivedBytes = moveInputs + moveWeights;
  // A vertex takes the window of each group of channels, and its weights, from one piece of memory. So only a
  // piece that lies on the tile as a whole is used in place (C: PopLibs, ConvVertices.cpp, inWindow).
  // The owners of some pieces hold even runs of them, and each end of a run that is not the end of a piece
  // cuts one.
  const auto moved = [](std::int64_t elements, std::int64_t pieces, std::int64_t owners) {
    const std::int64_t whole = std::max<std::int64_t>(0, pieces - owners + std::gcd(pieces, owners));
    return elements - elements / pieces * whole / owners;
  };
  const std::int64_t inPieces = tile.groups * tile.inGroups, outPieces = inPieces * tile.outGroups;
  costs.movedInputBytes =
      (own < inputs || zeros.input > 0 ? inputs + zeros.input : moved(inputs, inPieces, split.outChannels)) *
      element;
  costs.movedWeightBytes =
      (zeros.kernel > 0 ? weights + zeros.kernel : moved(weights, outPieces, split.positions())) * element;
  const std::int64_t receiving = exchangeCycles(chip, moveInputs, shared ? chip.exchangePairFactor : 1) +
                                 exchangeCycles(chip, moveWeights) +
                                 exchangeCycles(chip, (zeros.kernel + zeros.input) * element);
  // A tile sends its own part once, however many tiles hear it. Two tiles that share a bus so receive faster
  // than both can send.
  costs.sentBytes = std::min(moveInputs, ceilDiv(own, split.outChannels) * element) +
                    std::min(moveWeights, ceilDiv(weights, split.positions()) * element);
  costs.operandExchange = std::max(receiving, exchangeCycles(chip, costs.sentBytes));
  // All serial parts take from what was arranged before them.
  const std::int64_t kept = form.serial > 1 && !form.arrangeEach ? costs.arrangeBytes : 0;
  costs.temporaryBytes =
      std::max(costs.temporaryBytes, kept + costs.inputBytes + costs.weightBytes + costs.partialBytes);
}

void addReduction(const Chip& chip, const ConvForm& form, const ConvSplit& split, ConvCosts& costs) {
  const ConvShape& shape = form.shape;
  const std::int64_t depth = split.depth(), partial = shape.partialBytes();
  const std::int64_t partials = costs.partialBytes / partial;
  costs.stages = reduceStages(depth, partials);
  for (std::size_t i = 0; i < costs.stages.count; ++i) {
    const ReduceStage& stage = costs.stages.stage[i];
    const bool last = i + 1 == costs.stages.count;
    costs.stageExchange[i] = exchangeCycles(chip, (stage.depth - 1) * stage.outputs * partial);
    costs.stageCompute[i] =
        reduceCycles(chip, stage, shape.halfPartials, last ? shape.half : shape.halfPartials);
    costs.temporaryBytes = std::max(costs.temporaryBytes, stage.depth * stage.outputs * partial);
  }
  if (depth == 1 && shape.half != shape.halfPartials) costs.cast = castVertexCycles(chip, partials);
}

/// Cycles of launches, syncs and the loop over serial parts.
void addUp(const Chip& chip, const ConvForm& form, ConvCosts& costs) {
  if (form.serial > 1) {
    // The weights of a part are cut out of all weights, and its results are written into all results, by
    // 64-bit copies.
    costs.slice =
        33 + ceilDiv(costs.weightBytes, chip.vectorBytes) + ceilDiv(costs.partialBytes, chip.vectorBytes);
  }
  std::int64_t once = 0, each = 0;
  const auto add = [](std::int64_t& sum, std::int64_t cycles, std::int64_t overhead) {
    if (cycles > 0) sum += cycles + overhead;
  };
  std::int64_t& arranging = form.arrangeEach ? each : once;
  add(arranging, costs.arrangeExchange, chip.exchangeOverhead);
  add(arranging, costs.arrange, chip.computeSetOverhead);
  add(arranging, costs.arrangeExchange, chip.exchangeOverhead);
  add(each, costs.slice, chip.computeSetOverhead);
  add(each, costs.operandExchange, chip.exchangeOverhead);
  add(each, costs.compute, chip.computeSetOverhead);
  for (std::size_t i = 0; i < costs.stages.count; ++i) {
    add(each, costs.stageExchange[i], chip.exchangeOverhead);
    add(each, costs.stageCompute[i], chip.computeSetOverhead);
  }
  add(each, costs.cast, chip.computeSetOverhead);
  add(once, costs.outputExchange, chip.exchangeOverhead);
  add(once, costs.output, chip.computeSetOverhead);
  costs.total = once + each * form.serial;
}

}  // namespace

std::int64_t ConvSplit::positions() const {
  return batch * output[0] * output[1] * output[2];
}
std::int64_t ConvSplit::depth() const {
  return inChannels * kernel[0] * kernel[1] * kernel[2];
}
std::int64_t ConvSplit::tiles() const {
  return groups * outChannels * positions() * depth();
}

ConvForm makeForm(const ConvShape& unpadded, bool swapped, const std::array<bool, kMaximumDims>& expanded,
                  const ConvVertex& vertex, std::int64_t serial, std::int64_t combined) {
  ConvForm form;
  form.combined = combined;
  form.unpadded = unpadded;
  form.shape = unpadded;
  form.shape.groups = roundUp(unpadded.groups, vertex.groupGroup);
  form.shape.inputChannels = roundUp(unpadded.inputChannels, vertex.inGroup);
  form.shape.outputChannels = roundUp(unpadded.outputChannels, vertex.outGroup);
  // The vertex writes what it multiplies in the type of its operands, and nothing is added to it (C: PopLibs,
  // OuterProduct.cpp).
  if (vertex.method == ConvVertex::Method::outerProduct) form.shape.halfPartials = form.shape.half;
  if (vertex.halfResult) form.shape.halfPartials = true;
  form.swapped = swapped;
  form.expanded = expanded;
  form.vertex = vertex;
  form.serial = serial;
  form.groupGrains = form.shape.groups / vertex.groupGroup;
  form.inGrains = form.shape.inputChannels / vertex.inGroup;
  form.outGrains = ceilDiv(form.shape.outputChannels / vertex.outGroup, serial);
  const bool padIn = form.shape.inputChannels != unpadded.inputChannels;
  // The plan lays out the rows and columns of a matrix product, so it stores them in whole groups, and the
  // zeros arrive with the operands.
  const bool padOut = !unpadded.matmul && form.shape.outputChannels != unpadded.outputChannels;
  const bool update = unpadded.pass == ProductPass::weightGradient, matmul = unpadded.matmul;
  const bool turned = swapped != matmul;  // Matrix products lie in memory as their swapped form wants them.
  const bool moved = anyOf(expanded) || turned || combined > 1 || padIn || (update && !matmul);
  form.arrangeInput = moved || (matmul && unpadded.pass != ProductPass::forward);
  form.arrangeWeights = moved || padOut || (!matmul && unpadded.pass == ProductPass::inputGradient);
  form.arrangeOutput = swapped != (matmul || update) || combined > 1 || padOut || (matmul && update);
  form.regroupOutput = !form.arrangeOutput && !matmul && vertex.outGroup != weightsPerUnit(unpadded);
  return form;
}

ConvForm makeJointForm(const ConvShape& unpadded, const ConvVertex& vertex, std::int64_t fieldGrain) {
  ConvForm form = makeForm(unpadded, true, {}, vertex, 1);
  form.joint = true;
  form.fieldGrain = fieldGrain;
  form.arrangeInput = form.arrangeWeights = form.shape.inputChannels != unpadded.inputChannels;
  form.arrangeOutput = form.regroupOutput = false;
  return form;
}

std::int64_t turnCycles(const Chip& chip, std::int64_t elements, std::int64_t size, bool half) {
  const std::int64_t matrices = ceilDiv(ceilDiv(elements, size * size), chip.workers);
  const auto cycles = [&](std::int64_t start, std::int64_t each) {
    return chip.workers * (start + matrices * each);
  };
  if (half) {
    if (size == 4) return cycles(32, 15);
    if (size % 4 == 0 && 1 + 3 * (size / 4) < 512)
      return cycles(37, 12 + size / 4 * (15 + 4 * (size / 4 - 2)));
    return cycles(15, 8 + size * (5 + size * 5 / 2));
  }
  if (size % 2 == 0 && size * (size - 2) / 2 < 512)
    return cycles(27, 11 + size / 2 * (6 + 3 * (size / 2 - 1)));
  return cycles(13, 8 + size * (5 + size * 2));
}

std::int64_t arrangeCycles(std::int64_t bytes, std::int64_t neighbours) {
  const double perByte = neighbours % 8 == 0 ? 0.4404 : neighbours % 4 == 0 ? 3.125 : 5.1484;
  return bytes == 0 ? 0 : 587 + static_cast<std::int64_t>(std::ceil(perByte * static_cast<double>(bytes)));
}

ArrangementBound arrangementBound(const Chip& chip, const ConvForm& form) {
  ConvSplit all;
  all.batch = chip.tiles;
  ConvCosts costs;
  addArrangement(chip, form, all, costs);
  // Includes the overheads that addUp() adds to each.
  const auto with = [](std::int64_t cycles, std::int64_t overhead) {
    return cycles > 0 ? cycles + overhead : 0;
  };
  const std::int64_t operands =
      2 * with(costs.arrangeExchange, chip.exchangeOverhead) + with(costs.arrange, chip.computeSetOverhead);
  return {operands * (form.arrangeEach ? form.serial : 1) +
              with(costs.outputExchange, chip.exchangeOverhead) + with(costs.output, chip.computeSetOverhead),
          costs.temporaryBytes};
}

ConvTile largestTile(const ConvForm& form, const ConvSplit& split) {
  ConvTile tile;
  tile.groups = ceilDiv(form.groupGrains, split.groups);
  tile.batch = ceilDiv(form.shape.batch, split.batch);
  tile.inGroups = ceilDiv(form.inGrains, split.inChannels);
  tile.outGroups = ceilDiv(form.outGrains, split.outChannels);
  for (std::size_t i = 0; i < form.shape.dimCount; ++i) {
    const std::int64_t output = form.shape.dims[i].output, grain = form.fieldGrain;
    tile.output[i] = std::min(output, ceilDiv(ceilDiv(output, grain), split.output[i]) * grain);
    tile.kernel[i] = ceilDiv(form.shape.dims[i].kernel, split.kernel[i]);
  }
  return tile;
}

ConvCosts costsOf(const Chip& chip, const ConvForm& form, const ConvSplit& split, const ConvTile& tile,
                  WorkerCache& cache) {
  ConvCosts costs;
  addArrangement(chip, form, split, costs);
  addOperands(chip, form, split, tile, costs);
  costs.compute = convVertexCycles(chip, form.shape, form.vertex, tile, cache);
  addReduction(chip, form, split, costs);
  addUp(chip, form, costs);
  return costs;
}

}  // namespace pipescope::devices::ipu
