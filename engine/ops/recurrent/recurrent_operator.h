#pragma once
// Defines the operators RNN, GRU and LSTM and their gradient operators from their cells.
#include <string>
#include <vector>

#include "engine/ops/recurrent/recurrent.h"

namespace pipescope::ops {

/// `Kind` has the class Cell<T>, which runForward and runBackward in recurrent.h describe, and these static
/// functions:
///   - planOf(call) reads the attributes and sizes.
///   - recurrentBiases(plan) is the number of gates whose two biases are added together.
///   - cellWork(call, plan) is the Work of one step of one direction, without products and biases.
///   - cellGradientWork(call, plan) is that of its gradients.
///   - parameterGradients<T>(plan, direction, arguments, outputs, memory) runs after runBackward and
///     computes the gradients of R, B and P.
template <class Kind>
struct RecurrentOperator {
  template <class T>
  static void forward(const RecurrentPlan& plan, const KernelArguments& a) {
    const RecurrentMemory<T> m(plan, a.scratchAs<T>());
    for (std::int64_t d = 0; d < plan.directions; ++d) {
      inputProducts(plan, d, a, Kind::recurrentBiases(plan), m.gates);
      typename Kind::template Cell<T> cell(plan, d, a, m);
      runForward(plan, d, a, m, cell, a.output<T>(0));
      storeState(plan, d, m.state, a.output<T>(1));
      storeState(plan, d, m.cell, a.output<T>(2));
    }
  }

  /// Computes the gates again, because the forward operator does not keep them.
  template <class T>
  static void backward(const RecurrentPlan& plan, const KernelArguments& a, const GradientOutputs& to) {
    const RecurrentMemory<T> m(plan, a.scratchAs<T>());
    // runForward does not write the rows of sequences that have ended.
    if (plan.hasLengths) std::fill_n(m.cellsBefore, plan.rows() * plan.hidden, T(0));
    for (std::int64_t d = 0; d < plan.directions; ++d) {
      inputProducts(plan, d, a, Kind::recurrentBiases(plan), m.gates);
      typename Kind::template Cell<T> cell(plan, d, a, m);
      runForward<T>(plan, d, a, m, cell, nullptr);
      runBackward(plan, d, a, m, cell);
      inputGradients(plan, d, a, to, m.gates);
      Kind::template parameterGradients<T>(plan, d, a, to, m);
      storeState(plan, d, m.dState, to.of<T>(a, 5));
      storeState(plan, d, m.dCell, to.of<T>(a, 6));
    }
  }

  static Result<std::vector<TensorType>> infer(const OperatorCall& call) {
    PIPESCOPE_ASSIGN(const RecurrentPlan plan, Kind::planOf(call));
    return recurrentTypes(call, plan);
  }
  static Result<Kernel> kernel(const OperatorCall& call) {
    PIPESCOPE_ASSIGN(const RecurrentPlan plan, Kind::planOf(call));
    return kernelForFloats(call, call.input(0).element, [&plan]<class T>(T) {
      return Kernel{[plan](const KernelArguments& a) -> Status {
                      if (plan.hasLengths) PIPESCOPE_TRY(checkLengths(plan, a.input<std::int32_t>(4)));
                      forward<T>(plan, a);
                      return {};
                    },
                    RecurrentMemory<T>::elements(plan) * static_cast<std::int64_t>(sizeof(T))};
    });
  }
  static std::vector<Work> work(const OperatorCall& call) {
    const RecurrentPlan plan = *Kind::planOf(call);
    return recurrentWork(call, plan, Kind::cellWork(call, plan));
  }
  static Status gradient(GradientBuilder& builder) {
    PIPESCOPE_ASSIGN(const RecurrentPlan plan, Kind::planOf(builder.call()));
    return recurrentGradient(builder, plan);
  }

  static Result<std::vector<TensorType>> inferGradient(const OperatorCall& call) {
    PIPESCOPE_ASSIGN(const RecurrentPlan plan, Kind::planOf(call));
    return recurrentGradientTypes(call, plan);
  }
  static Result<Kernel> gradientKernel(const OperatorCall& call) {
    PIPESCOPE_ASSIGN(const RecurrentPlan plan, Kind::planOf(call));
    return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
      return Kernel{[plan, to = GradientOutputs(call)](const KernelArguments& a) -> Status {
                      backward<T>(plan, a, to);
                      return {};
                    },
                    RecurrentMemory<T>::elements(plan) * static_cast<std::int64_t>(sizeof(T))};
    });
  }
  static std::vector<Work> gradientWork(const OperatorCall& call) {
    const RecurrentPlan plan = *Kind::planOf(call);
    return recurrentGradientWork(call, plan, Kind::cellGradientWork(call, plan));
  }
};

/// Registers the operator and Grad<type>. All three operators take X, W, R, B, sequence_lens and initial_h (6
/// inputs). An LSTM also takes initial_c and P (8 inputs).
template <class Kind>
void addRecurrent(OperatorRegistry& registry, const std::string& type, const std::string& ownAttribute,
                  std::size_t maxInputs) {
  using Operator = RecurrentOperator<Kind>;
  std::vector<AttributeRule> attributes = recurrentAttributes();
  if (!ownAttribute.empty()) attributes.push_back({ownAttribute, AttributeKind::integer});
  const bool hasCell = maxInputs > 6;
  registry.add({.type = type,
                .attributes = attributes,
                .minInputs = 3,
                .maxInputs = maxInputs,
                .maxOutputs = hasCell ? std::size_t{3} : std::size_t{2},
                .infer = Operator::infer,
                .kernel = Operator::kernel,
                .work = Operator::work,
                .gradient = Operator::gradient});
  registry.add({.type = "Grad" + type,
                .attributes = attributes,
                .minInputs = 3,
                .maxInputs = 11,
                .maxOutputs = maxInputs - 1,
                .infer = Operator::inferGradient,
                .kernel = Operator::gradientKernel,
                .work = Operator::gradientWork});
}

}  // namespace pipescope::ops
