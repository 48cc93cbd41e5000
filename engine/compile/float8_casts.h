#pragma once
// Float8 and float4 for products, after precision.h made the graph 16-bit and gradients.h added its backward
// pass.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

struct Float8Request {
  graph::ElementType forward = graph::ElementType::float8_143fn;  ///< type of weights and activations
  graph::ElementType gradient = graph::ElementType::float8_152;   ///< type of gradients that are factors
  graph::ElementType sums = graph::ElementType::float32;          ///< float16 or float32
  /// Each tensor gets the scale that fits its largest number when it is cast. Otherwise scales are fixed.
  bool currentScales = true;
  /// Blocks of elements have scales of their own (BlockCast). The types may then be float4.
  bool blocks = false;
  /// The exponents of the fixed scales.
  std::int64_t activationScale = 0, weightScale = 0, gradientScale = 0;
  /// Products of two activations too, as in attention. Otherwise only products with a weight.
  bool allProducts = false;
  /// Devices cast a weight once an update, and keep the result for all micro-batches and passes.
  bool keepsWeights = false;
  /// Patterns (block_pattern.h) of operators that stay 16-bit.
  std::vector<std::string> except;
};

/// Returns the graph with the factors of MatMul, Gemm, Conv and the products of experts cast to float8
/// (Float8Cast), and the products replaced by their float8 forms, whose results are 16-bit again. The
/// gradients of a replaced product are replaced too. A tensor is cast once for each block, and the backward
/// pass uses the activations that the forward pass cast; weights are cast again there, unless devices keep
/// them. What tensor ranks gather is cast before, so that float8 crosses the links. Everything else stays as
/// it is, and so do the weights themselves. `weightsReady`: weights never change, so they are cast when they
/// are loaded. Memory that stays on the device between calls, as a cache of keys and values, is held in
/// float8 if a replaced product reads it. With blocks, a tensor is cast along each axis over which products
/// sum, at once; convolutions stay 16-bit, as transformers' software casts none. Refused: a pattern of
/// `except` that names no product.
base::Result<graph::Graph> withFloat8(const graph::Graph& graph, const Float8Request& request,
                                      bool weightsReady, const ops::OperatorRegistry& registry);

}  // namespace pipescope::compile
