// The changes of form that PopLibs' planner tries.
#include <algorithm>
#include <utility>

#include "engine/devices/ipu/products/conv_shape.h"
#include "engine/ops/core/rounding.h"

namespace pipescope::devices::ipu {

ConvShape swapOperands(ConvShape shape) {
  std::swap(shape.batch, shape.outputChannels);
  for (std::size_t i = 0; i < shape.dimCount; ++i) {
    ConvDim& dim = shape.dims[i];
    std::swap(dim.input, dim.kernel);
    std::swap(dim.inputDilation, dim.kernelDilation);
    if (dim.input != dim.output || dim.kernel != 1) {
      dim.padding = std::max<std::int64_t>(dim.padding, 2 * (dim.kernel - 1) * dim.kernelDilation);
    }
  }
  return shape;
}

ConvShape transposedProduct(ConvShape shape) {
  std::swap(shape.batch, shape.outputChannels);
  if (shape.pass != ProductPass::forward) {
    shape.pass =
        shape.pass == ProductPass::inputGradient ? ProductPass::weightGradient : ProductPass::inputGradient;
  }
  return shape;
}

ConvShape inPlannedOrder(const ConvShape& shape) {
  if (!shape.matmul || shape.trained || shape.sequence) return shape;
  // The forward product, [rows,summed]·[summed,columns].
  std::int64_t rows = shape.batch, summed = shape.inputChannels, columns = shape.outputChannels;
  if (shape.pass == ProductPass::inputGradient) std::swap(summed, columns);
  if (shape.pass == ProductPass::weightGradient) std::swap(rows, summed);
  if (shape.pass == ProductPass::forward && std::min(rows, columns) == 1)
    return rows == 1 ? shape : transposedProduct(shape);
  // Both gradients of a square product are the same work.
  if (rows == columns) return shape.pass == ProductPass::weightGradient ? transposedProduct(shape) : shape;
  constexpr std::int64_t kMuchLongerSide = 8, kMuchLargerThanTheResult = 16;
  const std::int64_t shorter = std::min(rows, columns), longer = std::max(rows, columns);
  const bool shorterLeft = longer >= kMuchLongerSide * shorter && summed < kMuchLargerThanTheResult * shorter;
  return shorterLeft == (rows == shorter) ? shape : transposedProduct(shape);
}

ConvShape expandDim(ConvShape shape, std::size_t index) {
  ConvDim& dim = shape.dims[index];
  shape.inputChannels *= dim.kernel;
  ConvDim plain;
  plain.input = plain.output = dim.output;
  dim = plain;
  return shape;
}

std::vector<std::int64_t> groupFactors(const ConvShape& shape) {
  std::vector<std::int64_t> factors{1};
  const std::int64_t channels = shape.inputChannels;
  if (shape.quarter || shape.groups == 1 || channels > (shape.half ? 2 : 1)) return factors;
  const std::int64_t least = shape.half ? 4 : 2, most = shape.half ? 16 : 8;
  for (std::int64_t factor = least / channels; factor <= most / channels; factor *= 2)
    factors.push_back(factor);
  return factors;
}

ConvShape combineGroups(ConvShape shape, std::int64_t factor) {
  shape.groups = ops::ceilDiv(shape.groups, factor);
  shape.inputChannels *= factor;
  shape.outputChannels *= factor;
  return shape;
}

ConvShape flatten(const ConvShape& shape) {
  ConvShape flat = shape;
  for (ConvDim& dim : flat.dims) dim = ConvDim{};
  flat.dimCount = 0;
  std::int64_t positions = shape.batch;
  std::size_t last = shape.dimCount;  // last axis that can be merged
  for (std::size_t i = 0; i < shape.dimCount; ++i) {
    if (shape.dims[i].plain()) last = i;
  }
  // A single axis gets a second one before it, which the batch becomes.
  const bool extra = shape.dimCount == 0 || (shape.dimCount == 1 && last == 1);
  if (!extra && last == shape.dimCount) return shape;
  for (std::size_t i = 0; i < shape.dimCount; ++i) {
    if (shape.dims[i].plain()) positions *= shape.dims[i].output;
  }
  const auto addPositions = [&] {
    ConvDim& dim = flat.dims[flat.dimCount++];
    dim.input = dim.output = positions;
  };
  if (extra) addPositions();
  for (std::size_t i = 0; i < shape.dimCount; ++i) {
    if (i == last) {
      addPositions();
    } else if (!shape.dims[i].plain()) {
      flat.dims[flat.dimCount++] = shape.dims[i];
    }
  }
  flat.batch = 1;
  return flat;
}

}  // namespace pipescope::devices::ipu
