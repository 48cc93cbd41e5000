// ExpertProduct multiplies the rows of each expert with the weights of this expert: rows (slots × inputs),
// weights (experts × outputs × inputs), counts (experts) → y (slots × outputs). The rows of expert e are the
// counts[e] rows behind those of expert e − 1. Rows behind the last expert's give zeros. Its gradients are
// GradExpertProductRows (dy, weights, counts) and GradExpertProductWeights (dy, rows, counts).
//
// Values decide how many rows an expert has. Work takes them as even, because their total decides the time;
// engine/compile/sharding makes it the total of the most loaded rank.
#include <fmt/format.h>

#include "engine/ops/core/common_work.h"
#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/matrix.h"
#include "engine/ops/experts/routing.h"

namespace pipescope::ops {
namespace {

struct ExpertProductSetup {
  std::int64_t slots = 0, experts = 0, outputs = 0, inputs = 0;
  std::string title;
};

enum class Part : std::uint8_t { result, rows, weights };

/// The setup of the product or of one of its gradients from its first two inputs; input 2 has the counts.
Result<ExpertProductSetup> expertSetup(const OperatorCall& call, Part part) {
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 1}));
  PIPESCOPE_ASSIGN(const std::int64_t experts, expertsOf(call, 2));
  const Shape &a = call.input(0).shape, &b = call.input(1).shape;
  const std::size_t axes = part == Part::weights ? 2 : 3;
  const auto refuse = [&] {
    return base::badInput(fmt::format("{}: its factors {} and {} do not fit {} experts", call.title(),
                                      graph::toString(call.input(0)), graph::toString(call.input(1)),
                                      experts));
  };
  if (a.size() != 2 || b.size() != axes) return refuse();
  ExpertProductSetup setup{a[0], experts, 0, 0, call.title()};
  if (part == Part::weights) {
    if (b[0] != a[0]) return refuse();
    setup.outputs = a[1];
    setup.inputs = b[1];
    return setup;
  }
  setup.outputs = b[1];
  setup.inputs = b[2];
  if (b[0] != experts || a[1] != (part == Part::result ? setup.inputs : setup.outputs)) return refuse();
  return setup;
}

template <Part kPart>
Result<std::vector<TensorType>> inferExpertProduct(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ExpertProductSetup setup, expertSetup(call, kPart));
  Shape shape{setup.slots, kPart == Part::result ? setup.outputs : setup.inputs};
  if (kPart == Part::weights) shape = {setup.experts, setup.outputs, setup.inputs};
  return std::vector<TensorType>{{call.input(0).element, shape}};
}

/// Computes the part for each expert. Experts run side by side.
template <Part kPart, class T>
Status multiplyByExpert(const KernelArguments& arguments, const ExpertProductSetup& setup) {
  const T *a = arguments.input<T>(0), *b = arguments.input<T>(1);
  const auto* counts = arguments.input<std::int64_t>(2);
  T* y = arguments.output<T>(0);
  auto* first = arguments.scratchAs<std::int64_t>();
  std::int64_t used = 0;
  for (std::int64_t e = 0; e < setup.experts; ++e) {
    first[e] = used;
    if (counts[e] < 0 || counts[e] > setup.slots - used)
      return base::badInput(
          fmt::format("{}: its experts have more rows than the {} that there are", setup.title, setup.slots));
    used += counts[e];
  }
  const std::int64_t n = setup.outputs, k = setup.inputs, own = kPart == Part::result ? n : k;
  if (kPart != Part::weights) std::fill(y + used * own, y + setup.slots * own, T(0));
  arguments.parallel(setup.experts, [&](std::int64_t e) {
    const std::int64_t rows = counts[e];
    if (kPart == Part::weights) {
      T* gradient = y + e * n * k;
      if (rows == 0) {
        std::fill_n(gradient, n * k, T(0));
      } else {
        multiply(denseProduct(n, k, rows, true, false, false), T(1), a + first[e] * n, b + first[e] * k,
                 gradient);
      }
    } else if (rows > 0) {
      const bool forward = kPart == Part::result;
      const Product shape = forward ? denseProduct(rows, n, k, false, true, false)
                                    : denseProduct(rows, k, n, false, false, false);
      multiply(shape, T(1), a + first[e] * (forward ? k : n), b + e * n * k, y + first[e] * own);
    }
  });
  return {};
}

template <Part kPart>
Result<Kernel> expertKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ExpertProductSetup setup, expertSetup(call, kPart));
  const std::int64_t scratch = setup.experts * static_cast<std::int64_t>(sizeof(std::int64_t));
  return kernelForFloats(call, call.input(0).element,
                         [&]<class T>(T) { return kernelOf(setup, multiplyByExpert<kPart, T>, scratch); });
}

template <Part kPart>
std::vector<Work> expertWork(const OperatorCall& call) {
  const ExpertProductSetup setup = *expertSetup(call, kPart);
  const EvenGroups even = evenGroups(setup.slots, setup.experts);
  using Phase = Contraction::Phase;
  const Phase phase = kPart == Part::result ? Phase::forward
                      : kPart == Part::rows ? Phase::inputGradient
                                            : Phase::weightGradient;
  return {
      {productsOf(even.groups, even.rows, setup.inputs, setup.outputs, phase, call.input(0).element), 1, ""}};
}

Status expertGradient(GradientBuilder& builder) {
  const Node& node = builder.node();
  const graph::TensorId dy = builder.outputGradient(0);
  if (builder.wants(0))
    PIPESCOPE_TRY(
        builder.addFor(0, "GradExpertProductRows", "grad_input", {dy, node.inputs[1], node.inputs[2]}, {}));
  if (builder.wants(1))
    PIPESCOPE_TRY(builder.addFor(1, "GradExpertProductWeights", "grad_weight",
                                 {dy, node.inputs[0], node.inputs[2]}, {}));
  return {};
}

template <Part kPart>
OperatorDefinition expertProduct(const char* type) {
  return {.type = type,
          .minInputs = 3,
          .maxInputs = 3,
          .infer = inferExpertProduct<kPart>,
          .kernel = expertKernel<kPart>,
          .work = expertWork<kPart>};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(expert_product) {
  OperatorDefinition product = expertProduct<Part::result>("ExpertProduct");
  product.gradient = expertGradient;
  registry.add(std::move(product));
  registry.add(expertProduct<Part::rows>("GradExpertProductRows"));
  registry.add(expertProduct<Part::weights>("GradExpertProductWeights"));
}

}  // namespace pipescope::ops
