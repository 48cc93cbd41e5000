// RNN: H = f(X·Wᵀ + H·Rᵀ + biases), and GradRNN, backward through time.
#include <algorithm>

#include "engine/ops/recurrent.h"

namespace pipescope::ops {
namespace {

Result<RecurrentPlan> planOf(const OperatorCall& call) {
  return recurrentPlan(call, 1, {"Tanh"});
}

template <class T>
struct RnnCell {
  const RecurrentPlan& plan;
  std::int64_t direction;
  const T* r;
  const RecurrentMemory<T>& m;
  const Activation& f;

  RnnCell(const RecurrentPlan& p, std::int64_t d, const KernelArguments& a, const RecurrentMemory<T>& memory)
      : plan(p), direction(d), r(a.input<T>(2) + d * p.hidden * p.hidden), m(memory), f(p.activation(d, 0)) {}

  void products(std::int64_t, const std::int32_t*) {
    multiply(denseProduct(plan.batch, plan.hidden, plan.hidden, false, true, false), T(1), m.state, r,
             m.products);
  }
  void step(std::int64_t b, std::int64_t row) {
    T* gates = m.gates + row * plan.hidden;
    const T* products = m.products + b * plan.hidden;
    for (std::int64_t i = 0; i < plan.hidden; ++i) {
      gates[i] = f(plan.clipped(gates[i] + products[i]));
      m.state[b * plan.hidden + i] = gates[i];
    }
  }
  void back(std::int64_t b, std::int64_t row) {
    T* gates = m.gates + row * plan.hidden;
    for (std::int64_t i = 0; i < plan.hidden; ++i) {
      const std::int64_t at = b * plan.hidden + i;
      gates[i] = m.dState[at] * f.slope(gates[i]);
      m.products[at] = gates[i];
      m.dNext[at] = T(0);
    }
  }
  void backProducts(std::int64_t, const std::int32_t*) {
    multiply(denseProduct(plan.batch, plan.hidden, plan.hidden, false, false, true), T(1), m.products, r,
             m.dNext);
  }
};

// --- RNN: X, W, R, [B, sequence_lens, initial_h] → [Y, Y_h] ----------------------------

Result<std::vector<TensorType>> inferRnn(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const RecurrentPlan plan, planOf(call));
  return recurrentTypes(call, plan);
}

Result<Kernel> rnnKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const RecurrentPlan plan, planOf(call));
  return kernelForFloats(call, call.input(0).element, [&plan]<class T>(T) {
    return Kernel{[plan](const KernelArguments& a) -> Status {
                    if (plan.hasLengths) PIPESCOPE_TRY(checkLengths(plan, a.input<std::int32_t>(4)));
                    const RecurrentMemory<T> m(plan, a.scratchAs<T>());
                    for (std::int64_t d = 0; d < plan.directions; ++d) {
                      inputProducts(plan, d, a, 1, m.gates);
                      RnnCell<T> cell(plan, d, a, m);
                      runForward(plan, d, a, m, cell, a.output<T>(0));
                      storeState(plan, d, m.state, a.output<T>(1));
                    }
                    return {};
                  },
                  RecurrentMemory<T>::elements(plan) * static_cast<std::int64_t>(sizeof(T))};
  });
}

std::vector<Work> cellWork(const OperatorCall& call, const RecurrentPlan& plan) {
  return {{Map{"tanh", plan.batch * plan.hidden, 2, call.input(0).element, true}, 1, "Cell"}};
}

std::vector<Work> rnnWork(const OperatorCall& call) {
  const RecurrentPlan plan = *planOf(call);
  return recurrentWork(call, plan, cellWork(call, plan));
}

Status rnnGradient(GradientBuilder& builder) {
  PIPESCOPE_ASSIGN(const RecurrentPlan plan, planOf(builder.call()));
  return recurrentGradient(builder, plan);
}

// --- GradRNN ---------------------------------------------------------------------------

Result<std::vector<TensorType>> inferGradient(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const RecurrentPlan plan, planOf(call));
  return recurrentGradientTypes(call, plan);
}

template <class T>
void gradient(const RecurrentPlan& plan, const KernelArguments& a, const GradientOutputs& to) {
  const RecurrentMemory<T> m(plan, a.scratchAs<T>());
  const std::int64_t hidden = plan.hidden;
  for (std::int64_t d = 0; d < plan.directions; ++d) {
    inputProducts(plan, d, a, 1, m.gates);
    RnnCell<T> cell(plan, d, a, m);
    runForward<T>(plan, d, a, m, cell, nullptr);
    runBackward(plan, d, a, m, cell);
    inputGradients(plan, d, a, to, m.gates);
    if (T* dr = to.of<T>(a, 2)) {
      multiply(denseProduct(hidden, hidden, plan.rows(), true, false, false), T(1), m.gates, m.before,
               dr + d * hidden * hidden);
    }
    if (T* db = to.of<T>(a, 3)) {
      columnSums(m.gates, plan.rows(), hidden, hidden, db + d * 2 * hidden);
      std::copy_n(db + d * 2 * hidden, hidden, db + d * 2 * hidden + hidden);
    }
    storeState(plan, d, m.dState, to.of<T>(a, 5));
  }
}

Result<Kernel> gradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const RecurrentPlan plan, planOf(call));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[plan, to = GradientOutputs(call)](const KernelArguments& a) -> Status {
                    gradient<T>(plan, a, to);
                    return {};
                  },
                  RecurrentMemory<T>::elements(plan) * static_cast<std::int64_t>(sizeof(T))};
  });
}

std::vector<Work> gradientWork(const OperatorCall& call) {
  const RecurrentPlan plan = *planOf(call);
  return recurrentGradientWork(call, plan, cellWork(call, plan));
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(rnn) {
  registry.add({.type = "RNN",
                .attributes = recurrentAttributes(),
                .minInputs = 3,
                .maxInputs = 6,
                .maxOutputs = 2,
                .infer = inferRnn,
                .kernel = rnnKernel,
                .work = rnnWork,
                .gradient = rnnGradient});
  registry.add({.type = "GradRNN",
                .attributes = recurrentAttributes(),
                .minInputs = 3,
                .maxInputs = 11,
                .maxOutputs = 5,
                .infer = inferGradient,
                .kernel = gradientKernel,
                .work = gradientWork});
}

}  // namespace pipescope::ops
