#include "engine/devices/ipu/products/joint_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/devices/ipu/products/plan_cost.h"
#include "engine/ops/core/rounding.h"

namespace pipescope::devices::ipu {

using ops::ceilDiv;
using ops::roundUp;
namespace {

using Method = ConvVertex::Method;

/// The vertices of the three passes.
using JointVertices = std::array<ConvVertex, 3>;

/// The product as a convolution whose input is the weights, or in the last pass the gradient of the result.
ConvShape jointShape(const ConvShape& shape) {
  return flatten(swapOperands(shape));
}

/// The AMP vertex with these groups of channels, if the chip has one.
std::optional<ConvVertex> ampWith(const Chip& chip, const ConvShape& shape, std::int64_t in,
                                  std::int64_t out) {
  for (const ConvVertex& vertex : convVertices(chip, shape)) {
    if (vertex.method == Method::amp && vertex.inGroup == in && vertex.outGroup == out) return vertex;
  }
  return std::nullopt;
}

/// Vertices that may multiply in the forward pass. Their groups of input channels become groups of output
/// channels of the weights' gradient, so they fill the units of the AMP (C). Single channels are left out:
/// the horizontal MAC's assembly takes an even number of them (C: ConvPartialHorizontalMac.cpp).
std::vector<ConvVertex> forwardVertices(const Chip& chip, const ConvShape& shape) {
  std::vector<ConvVertex> vertices;
  std::int64_t units = 0;
  for (const ConvVertex& vertex : convVertices(chip, shape)) {
    if (vertex.method != Method::amp) continue;
    units = std::max(units, vertex.convUnits);
    if (vertex.inGroup % vertex.convUnits == 0) vertices.push_back(vertex);
  }
  const std::int64_t out = shape.halfPartials ? 2 : 1;
  const std::int64_t most = roundUp(shape.inputChannels, shape.half ? 2 : 1);
  for (std::int64_t in = units, before = 0; units > 0 && in <= most; in += units) {
    const std::int64_t groups = ceilDiv(most, in);
    if (groups != before) vertices.push_back({Method::horizontalMac, 1, in, out, 0, 1});
    before = groups;
  }
  return vertices;
}

/// The vertices that follow from the forward pass's (C: getFullyConnectedBwdMethod,
/// getFullyConnectedWUMethod).
std::optional<JointVertices> verticesAfter(const Chip& chip, const std::array<ConvShape, 3>& shapes,
                                           const ConvVertex& forward) {
  JointVertices vertices{forward, forward, forward};
  const std::int64_t in = forward.outGroup, out = forward.inGroup;
  if (shapes[0].outputChannels == 1 && in == 1) {
    vertices[2] = {Method::outerProduct, 1, 1, out, 0, 1};
  } else if (out != 1) {
    const std::optional<ConvVertex> amp = ampWith(chip, shapes[2], in, out);
    if (!amp) return std::nullopt;
    vertices[2] = *amp;
  } else {
    vertices[2] = {Method::horizontalMac, 1, in, out, 0, 1};
  }
  return vertices;
}

/// The numbers of parts worth trying: the fewest for each size of the largest part.
std::vector<std::int64_t> jointCuts(std::int64_t grains, std::int64_t tiles) {
  std::vector<std::int64_t> cuts;
  for (std::int64_t parts = 1; parts <= std::min(grains, tiles);) {
    cuts.push_back(parts);
    const std::int64_t largest = ceilDiv(grains, parts);
    if (largest == 1) break;
    parts = std::max(parts + 1, ceilDiv(grains, largest - 1));
  }
  return cuts;
}

/// Looks at all splits of one set of vertices.
class JointSearch {
 public:
  JointSearch(const Chip& chip, const std::array<ConvShape, 3>& shapes, const JointVertices& vertices)
      : chip_(chip) {
    for (std::size_t i = 0; i < forms_.size(); ++i)
      forms_[i] = makeJointForm(shapes[i], vertices[i], vertices[0].inGroup);
  }

  /// Finds splits that take fewer than `best` cycles, and stores them in `plan`.
  void run(std::int64_t memory, std::int64_t& best, std::optional<JointPlan>& plan) {
    const std::int64_t field = ceilDiv(forms_[0].shape.dims[0].output, forms_[0].fieldGrain);
    for (const std::int64_t groups : jointCuts(forms_[0].groupGrains, chip_.tiles)) {
      for (const std::int64_t outputs : jointCuts(field, chip_.tiles / groups)) {
        for (const std::int64_t inputs : jointCuts(forms_[0].inGrains, chip_.tiles / groups / outputs)) {
          ++searched_;
          const std::array<ConvSplit, 3> splits = splitsOf(groups, outputs, inputs);
          const std::int64_t cycles = cyclesOf(splits, memory, best);
          if (cycles >= best) continue;
          best = cycles;
          plan = planOf(splits);
        }
      }
    }
  }

 private:
  static std::array<ConvSplit, 3> splitsOf(std::int64_t groups, std::int64_t outputs, std::int64_t inputs) {
    std::array<ConvSplit, 3> splits;
    for (ConvSplit& split : splits) split.groups = groups;
    splits[0].output[0] = splits[1].inChannels = splits[2].output[0] = outputs;
    splits[0].inChannels = splits[1].output[0] = splits[2].outChannels = inputs;
    return splits;
  }

  /// Cycles of the three passes; at least `limit` if they take so long or more memory than `memory`.
  std::int64_t cyclesOf(const std::array<ConvSplit, 3>& splits, std::int64_t memory, std::int64_t limit) {
    std::int64_t cycles = 0;
    for (std::size_t i = 0; i < forms_.size() && cycles < limit; ++i) {
      const ConvCosts costs =
          costsOf(chip_, forms_[i], splits[i], largestTile(forms_[i], splits[i]), caches_[i]);
      if (costs.temporaryBytes > memory) return limit;
      cycles += costs.total;
    }
    return cycles;
  }

  JointPlan planOf(const std::array<ConvSplit, 3>& splits) {
    JointPlan plan;
    for (std::size_t i = 0; i < forms_.size(); ++i) {
      ContractionPlan& pass = plan.passes[i];
      pass.form = forms_[i];
      pass.form.turned = i == 1;
      pass.split = splits[i];
      pass.tile = largestTile(pass.form, pass.split);
      pass.costs = costsOf(chip_, pass.form, pass.split, pass.tile, caches_[i]);
      pass.searched = searched_;
    }
    return plan;
  }

  const Chip& chip_;
  std::array<ConvForm, 3> forms_;
  std::array<WorkerCache, 3> caches_;
  std::int64_t searched_ = 0;
};

}  // namespace

std::array<ConvShape, 3> passesOf(const ConvShape& shape) {
  ConvShape forward = shape;
  forward.pass = ProductPass::forward;
  // A pass that exchanges two extents of the forward pass gives the forward pass back if they are exchanged
  // again.
  if (shape.pass == ProductPass::inputGradient) std::swap(forward.inputChannels, forward.outputChannels);
  if (shape.pass == ProductPass::weightGradient) std::swap(forward.batch, forward.inputChannels);
  std::array<ConvShape, 3> passes{forward, forward, forward};
  passes[1].pass = ProductPass::inputGradient;
  std::swap(passes[1].inputChannels, passes[1].outputChannels);
  passes[2].pass = ProductPass::weightGradient;
  std::swap(passes[2].batch, passes[2].inputChannels);
  return passes;
}

std::optional<JointPlan> planJointly(const Chip& chip, const std::array<ConvShape, 3>& passes,
                                     std::int64_t memory, std::int64_t alone) {
  std::optional<JointPlan> plan;
  // Float8 has no vertices for all three passes.
  if (passes[0].quarter) return plan;
  const std::array<ConvShape, 3> shapes{jointShape(passes[0]), jointShape(passes[1]), jointShape(passes[2])};
  // PopLibs keeps the joint plan if it takes the same time as the separate ones.
  std::int64_t best = alone == INT64_MAX ? alone : alone + 1;
  for (const ConvVertex& vertex : forwardVertices(chip, shapes[0])) {
    if (const std::optional<JointVertices> vertices = verticesAfter(chip, shapes, vertex))
      JointSearch(chip, shapes, *vertices).run(memory, best, plan);
  }
  return plan;
}

}  // namespace pipescope::devices::ipu
