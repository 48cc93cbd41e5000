// ExpertDispatch lays the rows of tokens out by the experts that they chose: x (tokens × width), choices
// (tokens × choices) → rows (slots × width), counts (experts), slots (tokens × choices), chosen (experts).
// The first choices of all tokens come first, as in GShard (arXiv 2006.16668). With a capacity, an expert
// that is full drops what comes later; its slot is −1. `counts` are the rows that are kept, `chosen` those
// that there were. Slots behind the last expert's rows are zeros. The attributes `groups` and `group_choices`
// say among which experts tokens choose (ExpertChoices); the values stay the same.
//
// ExpertCombine is the way back: rows, slots and optionally weights (tokens × choices) → y (tokens × width),
// y[t] = Σ weights[t,k] · rows[slots[t,k]]; without weights the plain sum, which is the gradient of
// ExpertDispatch by x.
#include <fmt/format.h>

#include <algorithm>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/index_reader.h"
#include "engine/ops/experts/routing.h"

namespace pipescope::ops {
namespace {

using base::badInput;

// --- ExpertDispatch ------------------------------------------------------------------------------

Result<Routing> dispatchRouting(const OperatorCall& call) {
  PIPESCOPE_TRY(checkChoices(call, 1));
  const Shape &x = call.input(0).shape, &choices = call.input(1).shape;
  if (x.size() != 2 || x[0] != choices[0])
    return badInput(fmt::format("{}: its rows are {} and its choices {}; both need one row for each token",
                                call.title(), graph::toString(call.input(0)),
                                graph::toString(call.input(1))));
  Routing routing{x[0], choices[1], graph::intAttribute(call.node, "experts", 0),
                  graph::intAttribute(call.node, "capacity", 0), 0};
  constexpr std::int64_t kMostExperts = 1 << 20;
  if (routing.experts < 1 || routing.experts > kMostExperts || routing.capacity < 0)
    return badInput(
        fmt::format("{}: {} experts with room for {} rows; give 1 to 2²⁰ experts, and 0 for no "
                    "limit",
                    call.title(), routing.experts, routing.capacity));
  routing.slots = slotsOf(routing);
  return routing;
}

Result<std::vector<TensorType>> inferDispatch(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const Routing routing, dispatchRouting(call));
  return std::vector<TensorType>{{call.input(0).element, {routing.slots, call.input(0).shape[1]}},
                                 {ElementType::int64, {routing.experts}},
                                 {ElementType::int64, {routing.tokens, routing.choices}},
                                 {ElementType::int64, {routing.experts}}};
}

struct DispatchSetup {
  Routing routing;
  std::int64_t width = 0;
  std::string title;
};

template <class T>
Status dispatchRows(const KernelArguments& a, const DispatchSetup& setup) {
  const Routing& r = setup.routing;
  const T* x = a.input<T>(0);
  const auto* choices = a.input<std::int64_t>(1);
  auto *next = a.scratchAs<std::int64_t>(), *end = next + r.experts, *chosen = end + r.experts;
  std::fill_n(chosen, r.experts, std::int64_t{0});
  for (std::int64_t i = 0; i < r.tokens * r.choices; ++i) {
    if (choices[i] < 0 || choices[i] >= r.experts) return indexOutside(setup.title, choices[i], r.experts);
    ++chosen[choices[i]];
  }
  const std::int64_t most = r.capacity == 0 ? r.tokens * r.choices : r.capacity;
  std::int64_t used = 0;
  for (std::int64_t e = 0; e < r.experts; ++e) {
    next[e] = used;
    used += std::min(chosen[e], most);
    end[e] = used;
  }
  // Outputs that nobody asks for are left out.
  T* rows = a.output<T>(0);
  auto *counts = a.output<std::int64_t>(1), *slots = a.output<std::int64_t>(2),
       *asked = a.output<std::int64_t>(3);
  for (std::int64_t e = 0; e < r.experts; ++e) {
    if (counts != nullptr) counts[e] = end[e] - next[e];
    if (asked != nullptr) asked[e] = chosen[e];
  }
  for (std::int64_t k = 0; k < r.choices; ++k) {
    for (std::int64_t t = 0; t < r.tokens; ++t) {
      const std::int64_t at = t * r.choices + k, expert = choices[at];
      const std::int64_t slot = next[expert] < end[expert] ? next[expert]++ : -1;
      if (slots != nullptr) slots[at] = slot;
      if (rows != nullptr && slot >= 0)
        std::copy_n(x + t * setup.width, setup.width, rows + slot * setup.width);
    }
  }
  if (rows != nullptr) std::fill(rows + used * setup.width, rows + r.slots * setup.width, T(0));
  return {};
}

Result<Kernel> dispatchKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const Routing routing, dispatchRouting(call));
  const DispatchSetup setup{routing, call.input(0).shape[1], call.title()};
  const std::int64_t scratch = 3 * routing.experts * static_cast<std::int64_t>(sizeof(std::int64_t));
  return kernelForFloats(call, call.input(0).element,
                         [&]<class T>(T) { return kernelOf(setup, dispatchRows<T>, scratch); });
}

/// Tokens are counted by expert, and their rows copied.
std::vector<Work> dispatchWork(const OperatorCall& call) {
  const Routing r = *dispatchRouting(call);
  const TensorType& x = call.input(0);
  return {
      {Map{MapFunction::equal, r.tokens * r.choices * r.experts, 2, ElementType::int32, false}, 1, "Choices"},
      {Reduce{ReduceFunction::sum, r.experts, r.tokens * r.choices, false, ElementType::int32, 0, 0}, 1,
       "Counts"},
      {Gather{r.slots, x.shape[1], r.tokens, x.element}, 1, "Rows"}};
}

Status dispatchGradient(GradientBuilder& builder) {
  if (!builder.wants(0) || !builder.outputGradient(0).valid()) return {};
  return builder.addFor(0, "ExpertCombine", "grad_input",
                        {builder.outputGradient(0), builder.node().outputs[2]}, {});
}

// --- ExpertCombine -------------------------------------------------------------------------------

struct CombineSetup {
  std::int64_t tokens = 0, choices = 0, slots = 0, width = 0;
  std::string title;
};

/// The setup from the inputs with these numbers; `slots` is that of the rows.
Result<CombineSetup> combineSetup(const OperatorCall& call, std::size_t choices, std::size_t weights,
                                  std::int64_t slots, std::int64_t width) {
  PIPESCOPE_TRY(checkChoices(call, choices));
  const Shape& shape = call.input(choices).shape;
  if (call.has(weights) && call.input(weights).shape != shape)
    return badInput(fmt::format("{}: its weights are {}; they must have the axes of the slots, {}",
                                call.title(), graph::toString(call.input(weights)),
                                graph::toString(call.input(choices))));
  return CombineSetup{shape[0], shape[1], slots, width, call.title()};
}

Status checkRows(const OperatorCall& call, std::size_t input) {
  if (call.input(input).shape.size() == 2) return {};
  return badInput(fmt::format("{}: input {} is {}; it must have two axes", call.title(), input,
                              graph::toString(call.input(input))));
}

Result<CombineSetup> forwardCombine(const OperatorCall& call) {
  PIPESCOPE_TRY(checkRows(call, 0));
  return combineSetup(call, 1, 2, call.input(0).shape[0], call.input(0).shape[1]);
}

Result<std::vector<TensorType>> inferCombine(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const CombineSetup setup, forwardCombine(call));
  if (call.has(2)) PIPESCOPE_TRY(requireSameElementTypes(call, {0, 2}));
  return std::vector<TensorType>{{call.input(0).element, {setup.tokens, setup.width}}};
}

Status checkSlot(const CombineSetup& setup, std::int64_t slot) {
  return slot < setup.slots ? Status() : indexOutside(setup.title, slot, setup.slots);
}

template <class T>
Status combineRows(const KernelArguments& a, const CombineSetup& setup) {
  const T *rows = a.input<T>(0), *weights = a.input<T>(2);
  const auto* slots = a.input<std::int64_t>(1);
  T* y = a.output<T>(0);
  for (std::int64_t i = 0; i < setup.tokens * setup.choices; ++i) PIPESCOPE_TRY(checkSlot(setup, slots[i]));
  a.parallel(setup.tokens, [&](std::int64_t t) {
    T* own = y + t * setup.width;
    std::fill_n(own, setup.width, T(0));
    for (std::int64_t at = t * setup.choices; at < (t + 1) * setup.choices; ++at) {
      if (slots[at] < 0) continue;
      const T *row = rows + slots[at] * setup.width, weight = weights == nullptr ? T(1) : weights[at];
      for (std::int64_t i = 0; i < setup.width; ++i) own[i] += weight * row[i];
    }
  });
  return {};
}

Result<Kernel> combineKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const CombineSetup setup, forwardCombine(call));
  return kernelForFloats(call, call.input(0).element,
                         [&]<class T>(T) { return kernelOf(setup, combineRows<T>); });
}

std::vector<Work> combineWork(const OperatorCall& call) {
  const CombineSetup setup = *forwardCombine(call);
  const ElementType type = call.input(0).element;
  const std::int64_t picked = setup.tokens * setup.choices;
  std::vector<Work> work{{Gather{picked, setup.width, setup.slots, type}, 1, "Rows"}};
  if (call.has(2))
    work.push_back({Map{MapFunction::multiply, picked * setup.width, 2, type, true}, 1, "Weights"});
  if (setup.choices > 1)
    work.push_back({Reduce{ReduceFunction::sum, setup.tokens * setup.width, setup.choices, false, type, 0, 0},
                    1, "Sum"});
  return work;
}

Status combineGradient(GradientBuilder& builder) {
  const OperatorCall& call = builder.call();
  const Node& node = builder.node();
  const graph::TensorId dy = builder.outputGradient(0);
  const bool weighted = call.has(2);
  if (builder.wants(0)) {
    std::vector<graph::TensorId> inputs{dy, node.inputs[1]};
    if (weighted) inputs.push_back(node.inputs[2]);
    PIPESCOPE_TRY(builder.addFor(0, "GradExpertCombineRows", "grad_rows", std::move(inputs),
                                 {{"slots", call.input(0).shape[0]}}));
  }
  if (weighted && builder.wants(2))
    PIPESCOPE_TRY(builder.addFor(2, "GradExpertCombineWeights", "grad_weights",
                                 {dy, node.inputs[0], node.inputs[1]}, {}));
  return {};
}

// --- GradExpertCombineRows: dy, slots, weights → rows ---------------------------------------------

Result<CombineSetup> rowsSetup(const OperatorCall& call) {
  PIPESCOPE_TRY(checkRows(call, 0));
  return combineSetup(call, 1, 2, graph::intAttribute(call.node, "slots", 0), call.input(0).shape[1]);
}

Result<std::vector<TensorType>> inferRows(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const CombineSetup setup, rowsSetup(call));
  return std::vector<TensorType>{{call.input(0).element, {setup.slots, setup.width}}};
}

template <class T>
Status gradientOfRows(const KernelArguments& a, const CombineSetup& setup) {
  const T *dy = a.input<T>(0), *weights = a.input<T>(2);
  const auto* slots = a.input<std::int64_t>(1);
  T* rows = a.output<T>(0);
  std::fill_n(rows, setup.slots * setup.width, T(0));
  for (std::int64_t at = 0; at < setup.tokens * setup.choices; ++at) {
    PIPESCOPE_TRY(checkSlot(setup, slots[at]));
    if (slots[at] < 0) continue;
    const T *from = dy + at / setup.choices * setup.width, weight = weights == nullptr ? T(1) : weights[at];
    T* to = rows + slots[at] * setup.width;
    for (std::int64_t i = 0; i < setup.width; ++i) to[i] += weight * from[i];
  }
  return {};
}

Result<Kernel> rowsKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const CombineSetup setup, rowsSetup(call));
  return kernelForFloats(call, call.input(0).element,
                         [&]<class T>(T) { return kernelOf(setup, gradientOfRows<T>); });
}

std::vector<Work> rowsWork(const OperatorCall& call) {
  const CombineSetup setup = *rowsSetup(call);
  const ElementType type = call.input(0).element;
  std::vector<Work> work{{Gather{setup.slots, setup.width, setup.tokens, type}, 1, "Rows"}};
  if (call.has(2))
    work.push_back({Map{MapFunction::multiply, setup.slots * setup.width, 2, type, true}, 1, "Weights"});
  return work;
}

// --- GradExpertCombineWeights: dy, rows, slots → weights ------------------------------------------

Result<CombineSetup> weightsSetup(const OperatorCall& call) {
  PIPESCOPE_TRY(checkRows(call, 0));
  PIPESCOPE_TRY(checkRows(call, 1));
  return combineSetup(call, 2, 3, call.input(1).shape[0], call.input(1).shape[1]);
}

Result<std::vector<TensorType>> inferWeights(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const CombineSetup setup, weightsSetup(call));
  return std::vector<TensorType>{{call.input(0).element, {setup.tokens, setup.choices}}};
}

template <class T>
Status gradientOfWeights(const KernelArguments& a, const CombineSetup& setup) {
  const T *dy = a.input<T>(0), *rows = a.input<T>(1);
  const auto* slots = a.input<std::int64_t>(2);
  T* weights = a.output<T>(0);
  for (std::int64_t i = 0; i < setup.tokens * setup.choices; ++i) PIPESCOPE_TRY(checkSlot(setup, slots[i]));
  a.parallel(setup.tokens, [&](std::int64_t t) {
    for (std::int64_t at = t * setup.choices; at < (t + 1) * setup.choices; ++at) {
      weights[at] = T(0);
      if (slots[at] < 0) continue;
      const T *from = dy + t * setup.width, *row = rows + slots[at] * setup.width;
      for (std::int64_t i = 0; i < setup.width; ++i) weights[at] += from[i] * row[i];
    }
  });
  return {};
}

Result<Kernel> weightsKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const CombineSetup setup, weightsSetup(call));
  return kernelForFloats(call, call.input(0).element,
                         [&]<class T>(T) { return kernelOf(setup, gradientOfWeights<T>); });
}

std::vector<Work> weightsWork(const OperatorCall& call) {
  const CombineSetup setup = *weightsSetup(call);
  const ElementType type = call.input(0).element;
  const std::int64_t picked = setup.tokens * setup.choices;
  return {{Gather{picked, setup.width, setup.slots, type}, 1, "Rows"},
          {Map{MapFunction::multiply, picked * setup.width, 2, type, true}, 1, "Product"},
          {Reduce{ReduceFunction::sum, picked, setup.width, true, type, 0, 0}, 1, "Sum"}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(expert_dispatch) {
  registry.add({.type = "ExpertDispatch",
                .attributes = {{"experts", AttributeKind::integer},
                               {"capacity", AttributeKind::integer},
                               {"groups", AttributeKind::integer},
                               {"group_choices", AttributeKind::integer}},
                .minInputs = 2,
                .maxInputs = 2,
                .maxOutputs = 4,
                .infer = inferDispatch,
                .kernel = dispatchKernel,
                .work = dispatchWork,
                .gradient = dispatchGradient});
  registry.add({.type = "ExpertCombine",
                .minInputs = 2,
                .maxInputs = 3,
                .infer = inferCombine,
                .kernel = combineKernel,
                .work = combineWork,
                .gradient = combineGradient});
  registry.add({.type = "GradExpertCombineRows",
                .attributes = {{"slots", AttributeKind::integer}},
                .minInputs = 2,
                .maxInputs = 3,
                .infer = inferRows,
                .kernel = rowsKernel,
                .work = rowsWork});
  registry.add({.type = "GradExpertCombineWeights",
                .minInputs = 3,
                .maxInputs = 3,
                .infer = inferWeights,
                .kernel = weightsKernel,
                .work = weightsWork});
}

}  // namespace pipescope::ops
