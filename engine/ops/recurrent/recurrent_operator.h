#pragma once
// Defines the operators RNN, GRU and LSTM and their gradient operators from their cells.
#include <string>
#include <vector>

#include "engine/ops/recurrent/recurrent.h"

namespace pipescope::ops {

/// `Kind` has the class Cell<T>, which runForward and runBackward in recurrent.h describe, and these static
/// functions:
///   - planOf(call) reads the attributes and sizes.
///   - recurrentBiases(setup) is the number of gates whose two biases are added together.
///   - cellWork(call, setup) is the Work of one step of one direction, without products and biases.
///   - cellGradientWork(call, setup) is that of its gradients.
///   - parameterGradients<T>(setup, direction, arguments, outputs, memory) runs after runBackward and
///     computes the gradients of R, B and P.
template <class Kind>
struct RecurrentOperator {
  template <class T>
  static void forward(const RecurrentSetup& setup, const KernelArguments& a) {
    const RecurrentMemory<T> m(setup, a.scratchAs<T>());
    for (std::int64_t d = 0; d < setup.directions; ++d) {
      inputProducts(setup, d, a, Kind::recurrentBiases(setup), m.gates);
      typename Kind::template Cell<T> cell(setup, d, a, m);
      runForward(setup, d, a, m, cell, a.output<T>(0));
      storeState(setup, d, m.state, a.output<T>(1));
      storeState(setup, d, m.cell, a.output<T>(2));
    }
  }

  /// Computes the gates again, because the forward operator does not keep them.
  template <class T>
  static void backward(const RecurrentSetup& setup, const KernelArguments& a, const GradientOutputs& to) {
    const RecurrentMemory<T> m(setup, a.scratchAs<T>());
    // runForward does not write the rows of sequences that have ended.
    if (setup.hasLengths) std::fill_n(m.cellsBefore, setup.rows() * setup.hidden, T(0));
    for (std::int64_t d = 0; d < setup.directions; ++d) {
      inputProducts(setup, d, a, Kind::recurrentBiases(setup), m.gates);
      typename Kind::template Cell<T> cell(setup, d, a, m);
      runForward<T>(setup, d, a, m, cell, nullptr);
      runBackward(setup, d, a, m, cell);
      inputGradients(setup, d, a, to, m.gates);
      Kind::template parameterGradients<T>(setup, d, a, to, m);
      storeState(setup, d, m.dState, to.of<T>(a, 5));
      storeState(setup, d, m.dCell, to.of<T>(a, 6));
    }
  }

  static Result<std::vector<TensorType>> infer(const OperatorCall& call) {
    PIPESCOPE_ASSIGN(const RecurrentSetup setup, Kind::planOf(call));
    return recurrentTypes(call, setup);
  }
  static Result<Kernel> kernel(const OperatorCall& call) {
    PIPESCOPE_ASSIGN(const RecurrentSetup setup, Kind::planOf(call));
    return kernelForFloats(call, call.input(0).element, [&setup]<class T>(T) {
      return Kernel{[setup](const KernelArguments& a) -> Status {
                      if (setup.hasLengths) PIPESCOPE_TRY(checkLengths(setup, a.input<std::int32_t>(4)));
                      forward<T>(setup, a);
                      return {};
                    },
                    RecurrentMemory<T>::elements(setup) * static_cast<std::int64_t>(sizeof(T))};
    });
  }
  static std::vector<Work> work(const OperatorCall& call) {
    const RecurrentSetup setup = *Kind::planOf(call);
    return recurrentWork(call, setup, Kind::cellWork(call, setup));
  }
  static Status gradient(GradientBuilder& builder) {
    PIPESCOPE_ASSIGN(const RecurrentSetup setup, Kind::planOf(builder.call()));
    return recurrentGradient(builder, setup);
  }

  static Result<std::vector<TensorType>> inferGradient(const OperatorCall& call) {
    PIPESCOPE_ASSIGN(const RecurrentSetup setup, Kind::planOf(call));
    return recurrentGradientTypes(call, setup);
  }
  static Result<Kernel> gradientKernel(const OperatorCall& call) {
    PIPESCOPE_ASSIGN(const RecurrentSetup setup, Kind::planOf(call));
    return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
      return Kernel{[setup, to = GradientOutputs(call)](const KernelArguments& a) -> Status {
                      backward<T>(setup, a, to);
                      return {};
                    },
                    RecurrentMemory<T>::elements(setup) * static_cast<std::int64_t>(sizeof(T))};
    });
  }
  static std::vector<Work> gradientWork(const OperatorCall& call) {
    const RecurrentSetup setup = *Kind::planOf(call);
    return recurrentGradientWork(call, setup, Kind::cellGradientWork(call, setup));
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
