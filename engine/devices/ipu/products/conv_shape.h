#pragma once
// Products and convolutions in one canonical form, so that planner and vertices need not know the three
// passes of a layer. Also the changes of form that PopLibs' planner tries.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/devices/ipu/chip.h"
#include "engine/ops/core/work.h"
#include "profiler/base/result.h"

namespace pipescope::devices::ipu {

inline constexpr std::size_t kMaximumDims = 3;

/// One spatial axis. Neighbouring `output` positions are `stride` apart on the dilated and padded input.
struct ConvDim {
  std::int64_t input = 1, kernel = 1, output = 1;
  std::int64_t stride = 1, inputDilation = 1, kernelDilation = 1, padding = 0;

  /// True if each output comes from one input at the same place, so that the axis can be merged with the
  /// batch.
  bool plain() const {
    return kernel == 1 && stride == 1 && inputDilation == 1 && padding == 0 && input == output;
  }
  /// True if expanding the axis changes nothing.
  bool expanded() const { return plain(); }
  /// The distance of two outputs that one kernel element touches; input dilation leaves zeros between them.
  std::int64_t outputStep() const;
  /// Number of inputs that `outputs` neighbouring outputs and `taps` neighbouring kernel elements read.
  std::int64_t inputsFor(std::int64_t outputs, std::int64_t taps) const;

  friend bool operator==(const ConvDim&, const ConvDim&) = default;
};

enum class ProductPass : std::uint8_t { forward, inputGradient, weightGradient };

struct ConvShape {
  bool matmul = false;  ///< true for a matrix product, for whose operands the planner assumes other layouts
  /// True for a matrix product of a trained layer, whose three passes share the layout of the forward pass.
  bool trained = false;
  /// True for a product that is repeated for the steps of a sequence, whose weights were laid out for it.
  bool sequence = false;
  ProductPass pass = ProductPass::forward;
  std::int64_t groups = 1, batch = 1, inputChannels = 1, outputChannels = 1;  ///< channels per group
  std::size_t dimCount = 0;
  std::array<ConvDim, kMaximumDims> dims{};
  bool half = false;  ///< true: the result and, unless `quarter`, the operands are float16; otherwise float32
  bool quarter = false;       ///< true: the operands are float8; the result and the sums are float16
  bool halfPartials = false;  ///< true: sums are kept in float16

  /// True if neighbouring tiles hold neighbouring output channels. They do not in a layout that was made for
  /// another pass (C: PopLibs planner, order of tiles).
  bool neighboursShareInputs() const { return !trained || pass == ProductPass::forward; }
  std::int64_t operandBytes() const { return quarter ? 1 : half ? 2 : 4; }
  std::int64_t resultBytes() const { return half ? 2 : 4; }
  std::int64_t partialBytes() const { return halfPartials ? 2 : 4; }
  std::int64_t inputElements() const;
  std::int64_t weightElements() const;
  std::int64_t outputElements() const;

  friend bool operator==(const ConvShape&, const ConvShape&) = default;
};

/// The contraction's pass as a shape. Refuses types that an IPU cannot multiply, and extents that are zero,
/// negative, contradictory or too large, with a sentence that begins with `what`.
base::Result<ConvShape> shapeOf(const ops::Contraction& contraction, const std::string& what);

/// The same product with input and kernel exchanged: batch and output channels swap, and so do the extents of
/// input and kernel.
ConvShape swapOperands(ConvShape shape);
/// The same product of matrices written in the other order, [n,k]·[k,m] instead of [m,k]·[k,n]. Its result is
/// the transpose. The gradient of the left operand becomes that of the right one, and the other way round.
ConvShape transposedProduct(ConvShape shape);
/// The product of matrices in the order in which it is planned, so that its plan does not depend on how it is
/// written. The operand with more rows or columns of its own is on the left, where it is the kernel of a
/// convolution. The other one is if it is much shorter, and the operands are not much larger than the result,
/// so that most of the time goes to the field. A vector is on the left. Trained and repeated products keep
/// their order, because their weights are laid out for all uses, and are on the right
/// (compile::StageBuilder). PopLibs plans each product as it is written (C). For [8192,8192]·[8192,16] in
/// float16 its plan takes 0.8 of the cycles that were measured on a Bow (M), and as [16,8192]·[8192,8192] 0.3
/// of them. Nearly all products that were measured are written in the order that this rule takes, and the
/// others take about the same time in both (X: they were looked at for the two bounds; 8.2 and "matrix
/// product" in tests/conformance/ipu).
ConvShape inPlannedOrder(const ConvShape& shape);
/// Moves the kernel elements of an axis into the input channels; the input is copied once for each element.
ConvShape expandDim(ConvShape shape, std::size_t dim);
/// The numbers of groups that may be done as one group with more channels, 1 among them. (C: PopLibs,
/// ConvPlan.cpp, getCombineConvGroupCandidates.)
std::vector<std::int64_t> groupFactors(const ConvShape& shape);
/// Makes so many groups one, whose other weights are zeros.
ConvShape combineGroups(ConvShape shape, std::int64_t factor);
/// Merges the batch and all axes that only match positions into the innermost of these axes. (C: PopLibs,
/// ConvModel.cpp, calculateFlattenedParams; a convolution of one axis gets an outer one there.)
ConvShape flatten(const ConvShape& shape);

}  // namespace pipescope::devices::ipu
