// Einsum sums products over all labels of an equation that are not in the result. GradEinsum: dy, operands …
// → the gradient by operand `index`.
#include "engine/ops/dense/einsum_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

using base::badInput;

constexpr std::size_t kMostOperands = 8, kMostLabels = 64;

/// Calls visit(place in the result, places in the operands) for every combination of indices; the labels of
/// the result move slowest.
template <class Visit>
void forIndices(const EinsumSetup& setup, Visit visit) {
  std::array<std::int64_t, kMostLabels> at{};
  std::array<std::int64_t, kMostOperands> place{};
  std::int64_t result = 0;
  const std::int64_t all = graph::elementCount(setup.extents);
  for (std::int64_t i = 0; i < all; ++i) {
    visit(result, place);
    for (std::size_t label = setup.extents.size(); label-- > 0;) {
      const std::int64_t back = at[label] + 1 < setup.extents[label] ? 0 : setup.extents[label];
      result += setup.resultStrides[label] * (1 - back);
      for (std::size_t each = 0; each < setup.strides.size(); ++each)
        place[each] += setup.strides[each][label] * (1 - back);
      at[label] = back ? 0 : at[label] + 1;
      if (!back) break;
    }
  }
}

Result<EinsumSetup> planOf(const OperatorCall& call, std::size_t first) {
  std::vector<const Shape*> operands;
  for (std::size_t i = first; i < call.inputs.size(); ++i) {
    if (!call.has(i))
      return badInput(fmt::format("{}: input {} is left out, but is needed", call.title(), i));
    PIPESCOPE_TRY(requireSameElementTypes(call, {first, i}));
    operands.push_back(&call.input(i).shape);
  }
  if (operands.size() > kMostOperands)
    return badInput(
        fmt::format("{}: it has {} inputs; it may have {}", call.title(), operands.size(), kMostOperands));
  // The equation has a term for each operand.
  const OperatorCall own{
      call.node, {call.inputs.begin() + static_cast<std::ptrdiff_t>(first), call.inputs.end()}, {}, {}, 1};
  PIPESCOPE_ASSIGN(EinsumSetup setup,
                   einsumSetupOf(own, graph::stringAttribute(call.node, "equation", ""), operands));
  if (setup.extents.size() > kMostLabels)
    return badInput(fmt::format("{}: its equation has {} labels; it may have {}", call.title(),
                                setup.extents.size(), kMostLabels));
  return setup;
}

Result<std::vector<TensorType>> inferEinsum(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const EinsumSetup setup, planOf(call, 0));
  return std::vector<TensorType>{{call.input(0).element, setup.result}};
}

/// Products of whole numbers wrap around.
template <class T>
T times(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a * b;
  return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
template <class T>
T plus(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a + b;
  return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

Result<Kernel> einsumKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const EinsumSetup setup, planOf(call, 0));
  return kernelForNumbers(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    T* y = a.output<T>(0);
                    std::fill_n(y, graph::elementCount(setup.result), T(0));
                    std::array<const T*, kMostOperands> x{};
                    const std::size_t operands = setup.strides.size();
                    for (std::size_t i = 0; i < operands; ++i) x[i] = a.input<T>(i);
                    forIndices(setup, [&](std::int64_t to, const auto& place) {
                      T product = x[0][place[0]];
                      for (std::size_t i = 1; i < operands; ++i) product = times(product, x[i][place[i]]);
                      y[to] = plus(y[to], product);
                    });
                    return {};
                  },
                  0};
  });
}

/// Two operands form a stack of matrix products: labels of both operands and the result are the stack, labels
/// of one operand and the result are rows or columns, and labels of both operands only are the depth.
Contraction contractionOf(const EinsumSetup& setup, ElementType type) {
  Contraction c;
  std::int64_t rows = 1;
  for (std::size_t label = 0; label < setup.extents.size(); ++label) {
    const bool kept = label < setup.kept, left = setup.strides[0][label] != 0,
               right = setup.strides[1][label] != 0;
    std::int64_t& size = !kept ? c.inputChannels : left && right ? c.groups : left ? rows : c.outputChannels;
    size *= setup.extents[label];
  }
  c.field = c.output = {rows};
  c.kernel = c.stride = c.dilation = {1};
  c.padding = {0, 0};
  c.type = type;
  return c;
}

std::vector<Work> workOfSetup(const EinsumSetup& setup, ElementType type, Contraction::Phase phase) {
  const std::int64_t all = graph::elementCount(setup.extents), outputs = graph::elementCount(setup.result);
  const auto operands = static_cast<std::int64_t>(setup.strides.size());
  if (operands == 2) {
    Contraction c = contractionOf(setup, type);
    c.phase = phase;
    return {{c, 1, ""}};
  }
  std::vector<Work> work;
  if (operands > 2) work.push_back({Map{MapFunction::multiply, all, 2, type, true}, operands - 1, "Product"});
  if (all > outputs) {
    work.push_back(
        {Reduce{ReduceFunction::sum, outputs, all / std::max<std::int64_t>(1, outputs), true, type}, 1,
         "Sum"});
  } else if (operands == 1) {
    work.push_back({Rearrange{all, 1, type}, 1, ""});
  }
  return work;
}

std::vector<Work> einsumWork(const OperatorCall& call) {
  return workOfSetup(*planOf(call, 0), call.input(0).element, Contraction::Phase::forward);
}

Status einsumGradient(GradientBuilder& builder) {
  const Node& node = builder.node();
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!builder.wants(i)) continue;
    graph::Attributes attributes = node.attributes;
    attributes["index"] = static_cast<std::int64_t>(i);
    std::vector<graph::TensorId> inputs{builder.outputGradient(0)};
    inputs.insert(inputs.end(), node.inputs.begin(), node.inputs.end());
    PIPESCOPE_TRY(
        builder.addFor(i, "GradEinsum", fmt::format("grad_{}", i), std::move(inputs), std::move(attributes)));
  }
  return {};
}

Result<std::vector<TensorType>> inferEinsumGradient(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const EinsumSetup setup, planOf(call, 1));
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 1}));
  const auto index = static_cast<std::size_t>(graph::intAttribute(call.node, "index", 0));
  if (index >= setup.strides.size() || call.input(0).shape != setup.result) {
    return badInput(
        fmt::format("{}: the gradient by its output is {}, but the output is {}; or index {} is no input",
                    call.title(), graph::toString(call.input(0)), extentsText(setup.result), index));
  }
  return std::vector<TensorType>{call.input(index + 1)};
}

Result<Kernel> einsumGradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const EinsumSetup setup, planOf(call, 1));
  const auto index = static_cast<std::size_t>(graph::intAttribute(call.node, "index", 0));
  const std::int64_t count = call.input(index + 1).elements();
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup, index, count](const KernelArguments& a) -> Status {
                    T* dx = a.output<T>(0);
                    std::fill_n(dx, count, T(0));
                    std::array<const T*, kMostOperands> x{};
                    const std::size_t operands = setup.strides.size();
                    for (std::size_t i = 0; i < operands; ++i) x[i] = a.input<T>(i + 1);
                    const T* dy = a.input<T>(0);
                    forIndices(setup, [&](std::int64_t from, const auto& place) {
                      T product = dy[from];
                      for (std::size_t i = 0; i < operands; ++i) {
                        if (i != index) product *= x[i][place[i]];
                      }
                      dx[place[index]] += product;
                    });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> einsumGradientWork(const OperatorCall& call) {
  const bool left = graph::intAttribute(call.node, "index", 0) == 0;
  return workOfSetup(*planOf(call, 1), call.input(0).element,
                     left ? Contraction::Phase::inputGradient : Contraction::Phase::weightGradient);
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(einsum) {
  registry.add({.type = "Einsum",
                .attributes = {{"equation", AttributeKind::text}},
                .maxInputs = kMostOperands,
                .infer = inferEinsum,
                .kernel = einsumKernel,
                .work = einsumWork,
                .gradient = einsumGradient});
  registry.add({.type = "GradEinsum",
                .attributes = {{"equation", AttributeKind::text}, {"index", AttributeKind::integer}},
                .minInputs = 2,
                .maxInputs = kMostOperands + 1,
                .infer = inferEinsumGradient,
                .kernel = einsumGradientKernel,
                .work = einsumGradientWork});
}

}  // namespace pipescope::ops
