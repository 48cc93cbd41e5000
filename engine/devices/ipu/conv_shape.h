#pragma once
// A product or convolution in one canonical form, whichever of its three passes it is: the planner and the
// vertices know no passes, only this. Also the changes of form that PopLibs' planner tries.
#include <array>
#include <cstdint>
#include <string>

#include "engine/devices/ipu/chip.h"
#include "engine/ops/core/work.h"
#include "profiler/base/result.h"

namespace pipescope::devices::ipu {

inline constexpr std::size_t kMaximumDims = 3;

/// One spatial axis. `output` positions are `stride` apart on the (dilated, padded) input.
struct ConvDim {
  std::int64_t input = 1, kernel = 1, output = 1;
  std::int64_t stride = 1, inputDilation = 1, kernelDilation = 1, padding = 0;

  /// Each output comes from one input at the same place: the axis can be merged with the batch.
  bool plain() const {
    return kernel == 1 && stride == 1 && inputDilation == 1 && padding == 0 && input == output;
  }
  /// Expanding changes nothing.
  bool expanded() const { return plain(); }
  /// Outputs between two that one kernel element touches: input dilation leaves zeros out.
  std::int64_t outputStep() const;
  /// Inputs that `outputs` neighbouring outputs and `taps` neighbouring kernel elements read.
  std::int64_t inputsFor(std::int64_t outputs, std::int64_t taps) const;

  friend bool operator==(const ConvDim&, const ConvDim&) = default;
};

enum class ProductPass : std::uint8_t { forward, inputGradient, weightGradient };

struct ConvShape {
  bool matmul = false;  ///< a matrix product: the planner treats its operands' layouts otherwise
  /// A matrix product of a layer that is trained: its three passes share the forward pass' layout.
  bool trained = false;
  ProductPass pass = ProductPass::forward;
  std::int64_t groups = 1, batch = 1, inputChannels = 1, outputChannels = 1;  ///< channels per group
  std::size_t dimCount = 0;
  std::array<ConvDim, kMaximumDims> dims{};
  bool half = false;          ///< operands float16, else float32
  bool halfPartials = false;  ///< sums kept in float16

  /// Neighbouring tiles hold neighbouring output channels. In a layout that was made for another pass they do
  /// not (C: PopLibs planner, order of tiles).
  bool neighboursShareInputs() const { return !trained || pass == ProductPass::forward; }
  std::int64_t operandBytes() const { return half ? 2 : 4; }
  std::int64_t partialBytes() const { return halfPartials ? 2 : 4; }
  std::int64_t inputElements() const;
  std::int64_t weightElements() const;
  std::int64_t outputElements() const;

  friend bool operator==(const ConvShape&, const ConvShape&) = default;
};

/// The contraction's pass as a shape. `what` starts the sentence of a refusal: a type that an IPU cannot
/// multiply, extents that are zero, negative, contradictory or too large.
base::Result<ConvShape> shapeOf(const ops::Contraction& contraction, const std::string& what);

/// The same product with the roles of input and kernel changed: batch and output channels swap, as do input
/// and kernel extents.
ConvShape swapOperands(ConvShape shape);
/// Moves an axis' kernel elements into the input channels; the input is copied once per element.
ConvShape expandDim(ConvShape shape, std::size_t dim);
/// Merges the batch and all plain axes into one axis.
ConvShape flatten(const ConvShape& shape);

}  // namespace pipescope::devices::ipu
