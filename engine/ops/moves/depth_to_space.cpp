// DepthToSpace lays blocks of channels out as squares of pixels, and SpaceToDepth does the opposite. Each is
// the gradient of the other, with the attribute `mode` that ONNX gives to the first one only.
#include <fmt/format.h>

#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/shape_tools.h"
#include "engine/ops/moves/element_move.h"

namespace pipescope::ops {
namespace {

using base::badInput;

struct Blocks {
  std::int64_t size = 1;
  bool columnsFirst = false;  ///< CRD: the channel comes before the row and column within the block
  /// The extents of the deep tensor; the flat one has batch × depth × (height·size) × (width·size).
  std::int64_t batch = 1, depth = 1, height = 1, width = 1;
};

Result<Blocks> blocksOf(const OperatorCall& call, bool toSpace) {
  const Shape& x = call.input(0).shape;
  Blocks blocks;
  blocks.size = graph::intAttribute(call.node, "blocksize", 0);
  const std::string mode = graph::stringAttribute(call.node, "mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    return badInput(fmt::format("{}: mode is {}; it must be DCR or CRD", call.title(), mode));
  blocks.columnsFirst = mode == "CRD";
  const std::int64_t size = blocks.size;
  const bool sized = size > 0 && size < (std::int64_t{1} << 20);
  if (x.size() != 4 || !sized ||
      (toSpace ? x[1] % (size * size) != 0 : x[2] % size != 0 || x[3] % size != 0)) {
    return badInput(
        fmt::format("{}: blocksize is {} and the input {}; it needs batch, channels, height and width, "
                    "and {}",
                    call.title(), size, graph::toString(call.input(0)),
                    toSpace ? "a multiple of blocksize² channels"
                            : "a height and width that are multiples of blocksize"));
  }
  blocks.batch = x[0];
  blocks.depth = toSpace ? x[1] / (size * size) : x[1];
  blocks.height = toSpace ? x[2] : x[2] / size;
  blocks.width = toSpace ? x[3] : x[3] / size;
  return blocks;
}

Result<Blocks> toSpace(const OperatorCall& call) {
  return blocksOf(call, true);
}
Result<Blocks> toDepth(const OperatorCall& call) {
  return blocksOf(call, false);
}

/// The permutation of the six axes batch, {block row, block column, depth}, height and width.
ElementMove depthToSpaceSetupOf(const Blocks& b, bool isToSpace, ElementType element) {
  const std::int64_t size = b.size;
  const Shape deep = b.columnsFirst ? Shape{b.batch, b.depth, size, size, b.height, b.width}
                                    : Shape{b.batch, size, size, b.depth, b.height, b.width};
  const std::vector<std::size_t> order = b.columnsFirst ? std::vector<std::size_t>{0, 1, 4, 2, 5, 3}
                                                        : std::vector<std::size_t>{0, 3, 4, 1, 5, 2};
  if (isToSpace) return transposition(deep, order, graph::sizeOf(element));
  Shape flat;
  std::vector<std::size_t> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    flat.push_back(deep[order[i]]);
    back[order[i]] = i;
  }
  return transposition(flat, back, graph::sizeOf(element));
}

ElementMove depthToSpaceMoveOf(const OperatorCall& call) {
  const bool isToSpace = call.node.op == "DepthToSpace";
  return depthToSpaceSetupOf(*blocksOf(call, isToSpace), isToSpace, call.input(0).element);
}

Result<std::vector<TensorType>> inferToSpace(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const Blocks b, toSpace(call));
  return inferredAs(call, call.input(0).element, {b.batch, b.depth, b.height * b.size, b.width * b.size});
}

Result<std::vector<TensorType>> inferToDepth(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const Blocks b, toDepth(call));
  return inferredAs(call, call.input(0).element, {b.batch, b.depth * b.size * b.size, b.height, b.width});
}

Result<Kernel> depthToSpaceKernelOf(const OperatorCall& call) {
  return Kernel{[setup = depthToSpaceMoveOf(call)](const KernelArguments& a) -> Status {
                  setup.run(a, a.inputs[0].data(), a.outputs[0].data());
                  return {};
                },
                0};
}

std::vector<Work> blocksWork(const OperatorCall& call) {
  return {moveWork(depthToSpaceMoveOf(call), call.input(0).element)};
}

Status blocksGradient(GradientBuilder& builder) {
  const Node& node = builder.node();
  return builder.addFor(0, node.op == "DepthToSpace" ? "SpaceToDepth" : "DepthToSpace", "grad_input",
                        {builder.outputGradient(0)}, node.attributes);
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(depth_to_space) {
  const std::vector<AttributeRule> attributes{{"blocksize", AttributeKind::integer},
                                              {"mode", AttributeKind::text}};
  registry.add({.type = "DepthToSpace",
                .attributes = attributes,
                .infer = inferToSpace,
                .kernel = depthToSpaceKernelOf,
                .work = blocksWork,
                .gradient = blocksGradient});
  registry.add({.type = "SpaceToDepth",
                .attributes = attributes,
                .infer = inferToDepth,
                .kernel = depthToSpaceKernelOf,
                .work = blocksWork,
                .gradient = blocksGradient});
}

}  // namespace pipescope::ops
