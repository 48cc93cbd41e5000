// Split cuts an axis of the input into pieces of given or equal lengths. GradSplit joins the gradients of the
// pieces, with zeros for a piece that has none.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/shape_tools.h"
#include "engine/ops/moves/element_move.h"

namespace pipescope::ops {
namespace {

constexpr std::size_t kMostPieces = 1U << 16;

struct SplitSetup {
  std::size_t axis = 0;
  Ints lengths;
};

Result<SplitSetup> splitSetupOf(const OperatorCall& call, std::size_t outputs) {
  const Shape& x = call.input(0).shape;
  SplitSetup setup;
  PIPESCOPE_ASSIGN(setup.axis, axisAttribute(call, 0, x.size()));
  PIPESCOPE_ASSIGN(const std::optional<Ints> given, intsFrom(call, 1, "split"));
  const std::int64_t extent = x[setup.axis];
  const auto count = static_cast<std::int64_t>(outputs);
  if (!given) {
    if (count == 0 || extent % count != 0) {
      return base::badInput(
          fmt::format("{}: axis {} has {} elements, which {} outputs cannot share alike; "
                      "give the lengths as split",
                      call.title(), setup.axis, extent, count));
    }
    setup.lengths.assign(outputs, extent / count);
    return setup;
  }
  setup.lengths = *given;
  const bool negative = std::ranges::any_of(setup.lengths, [](std::int64_t n) { return n < 0; });
  const bool tooLarge = std::ranges::any_of(setup.lengths, [&](std::int64_t n) { return n > extent; });
  if (negative || tooLarge || std::accumulate(given->begin(), given->end(), std::int64_t{0}) != extent ||
      given->size() != outputs) {
    return base::badInput(
        fmt::format("{}: split is {}; it must give {} lengths that add up to the {} of axis {}", call.title(),
                    fmt::join(*given, ", "), count, extent, setup.axis));
  }
  return setup;
}

Shape pieceShape(const Shape& x, const SplitSetup& setup, std::size_t piece) {
  Shape shape = x;
  shape[setup.axis] = setup.lengths[piece];
  return shape;
}

// --- Split: x, [split] → pieces --------------------------------------------------------

Result<std::vector<TensorType>> inferSplit(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const SplitSetup setup, splitSetupOf(call, call.requestedOutputs));
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < setup.lengths.size(); ++i)
    types.push_back({call.input(0).element, pieceShape(call.input(0).shape, setup, i)});
  return types;
}

Result<Kernel> splitKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const SplitSetup setup, splitSetupOf(call, call.node.outputs.size()));
  const TensorType& x = call.input(0);
  const std::int64_t inner =
      extentsWithin(x.shape, setup.axis + 1, x.shape.size()) * graph::sizeOf(x.element);
  std::vector<std::size_t> runs;
  for (const std::int64_t length : setup.lengths) runs.push_back(static_cast<std::size_t>(length * inner));
  const auto row = static_cast<std::size_t>(x.shape[setup.axis] * inner);
  const auto outer = static_cast<std::size_t>(extentsWithin(x.shape, 0, setup.axis));
  return Kernel{[runs = std::move(runs), outer, row](const KernelArguments& a) -> Status {
                  const std::byte* from = a.inputs[0].data();
                  for (std::size_t i = 0; i < runs.size(); from += runs[i], ++i) {
                    if (a.outputs[i].empty()) continue;
                    for (std::size_t o = 0; o < outer; ++o)
                      std::memcpy(a.outputs[i].data() + o * runs[i], from + o * row, runs[i]);
                  }
                  return {};
                },
                0};
}

std::vector<Work> pieceWork(const Shape& x, const SplitSetup& setup, ElementType element) {
  const std::int64_t inner = extentsWithin(x, setup.axis + 1, x.size());
  std::vector<Work> work;
  for (std::size_t i = 0; i < setup.lengths.size(); ++i) {
    work.push_back(
        {Rearrange{graph::elementCount(pieceShape(x, setup, i)), setup.lengths[i] * inner, element}, 1,
         "Copy"});
  }
  return work;
}

std::vector<Work> splitWork(const OperatorCall& call) {
  return pieceWork(call.input(0).shape, *splitSetupOf(call, call.node.outputs.size()), call.input(0).element);
}

Status splitGradient(GradientBuilder& builder) {
  const std::size_t count = builder.node().outputs.size();
  PIPESCOPE_ASSIGN(const SplitSetup setup, splitSetupOf(builder.call(), count));
  std::vector<graph::TensorId> pieces;
  for (std::size_t i = 0; i < count; ++i) {
    pieces.push_back(builder.node().outputs[i].valid() ? builder.outputGradient(i) : graph::TensorId());
  }
  return builder.addFor(0, "GradSplit", "grad_input", std::move(pieces),
                        {{"axis", static_cast<std::int64_t>(setup.axis)},
                         {"split", setup.lengths},
                         {"input_shape", builder.call().input(0).shape}});
}

// --- GradSplit: gradients of the pieces → dx; attributes axis, split, input_shape ------

std::size_t firstGiven(const OperatorCall& call) {
  std::size_t first = 0;
  while (first < call.inputs.size() && !call.has(first)) ++first;
  return first;
}

Result<std::vector<TensorType>> inferGradSplit(const OperatorCall& call) {
  const Shape shape = graph::intsAttribute(call.node, "input_shape", {});
  PIPESCOPE_ASSIGN(const std::size_t axis, axisAttribute(call, 0, shape.size()));
  const SplitSetup setup{axis, graph::intsAttribute(call.node, "split", {})};
  const std::size_t first = firstGiven(call);
  if (first == call.inputs.size() || setup.lengths.size() != call.inputs.size()) {
    return base::badInput(fmt::format("{}: it needs {} pieces, and the gradient of one at least",
                                      call.title(), setup.lengths.size()));
  }
  for (std::size_t i = first; i < call.inputs.size(); ++i) {
    if (!call.has(i)) continue;
    const TensorType expected{call.input(first).element, pieceShape(shape, setup, i)};
    if (call.input(i) == expected) continue;
    return base::badInput(fmt::format("{}: input {} is {}, but its piece is {}", call.title(), i,
                                      graph::toString(call.input(i)), graph::toString(expected)));
  }
  return inferredAs(call, call.input(first).element, shape);
}

Result<Kernel> gradSplitKernel(const OperatorCall& call) {
  const Shape shape = graph::intsAttribute(call.node, "input_shape", {});
  PIPESCOPE_ASSIGN(const std::size_t axis, axisAttribute(call, 0, shape.size()));
  const std::int64_t inner =
      extentsWithin(shape, axis + 1, shape.size()) * graph::sizeOf(call.input(firstGiven(call)).element);
  std::vector<std::size_t> runs;
  for (const std::int64_t length : graph::intsAttribute(call.node, "split", {}))
    runs.push_back(static_cast<std::size_t>(length * inner));
  const auto row = static_cast<std::size_t>(shape[axis] * inner);
  const auto outer = static_cast<std::size_t>(extentsWithin(shape, 0, axis));
  return Kernel{[runs = std::move(runs), outer, row](const KernelArguments& a) -> Status {
                  std::byte* to = a.outputs[0].data();
                  for (std::size_t i = 0; i < runs.size(); to += runs[i], ++i) {
                    for (std::size_t o = 0; o < outer && runs[i] > 0; ++o) {
                      if (a.inputs[i].empty()) {
                        std::memset(to + o * row, 0, runs[i]);
                      } else {
                        std::memcpy(to + o * row, a.inputs[i].data() + o * runs[i], runs[i]);
                      }
                    }
                  }
                  return {};
                },
                0};
}

std::vector<Work> gradSplitWork(const OperatorCall& call) {
  const Shape shape = graph::intsAttribute(call.node, "input_shape", {});
  const SplitSetup setup{*axisAttribute(call, 0, shape.size()), graph::intsAttribute(call.node, "split", {})};
  return pieceWork(shape, setup, call.input(firstGiven(call)).element);
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(split) {
  registry.add({.type = "Split",
                .attributes = {{"axis", AttributeKind::integer}, {"split", AttributeKind::integers}},
                .maxInputs = 2,
                .maxOutputs = kMostPieces,
                .infer = inferSplit,
                .kernel = splitKernel,
                .work = splitWork,
                .gradient = splitGradient});
  registry.add({.type = "GradSplit",
                .attributes = {{"axis", AttributeKind::integer},
                               {"input_shape", AttributeKind::integers},
                               {"split", AttributeKind::integers}},
                .minInputs = 0,
                .maxInputs = kMostPieces,
                .infer = inferGradSplit,
                .kernel = gradSplitKernel,
                .work = gradSplitWork});
}

}  // namespace pipescope::ops
