// The operators RNN, H' = f(X·Wᵀ + H·Rᵀ + biases), and GradRNN (backpropagation through time).
#include <algorithm>

#include "engine/ops/recurrent/recurrent_operator.h"

namespace pipescope::ops {
namespace {

template <class T>
struct RnnCell {
  const RecurrentSetup& setup;
  std::int64_t direction;
  const T* r;
  const RecurrentMemory<T>& m;
  const ClippedActivation<T> f;

  RnnCell(const RecurrentSetup& p, std::int64_t d, const KernelArguments& a, const RecurrentMemory<T>& memory)
      : setup(p), direction(d), r(a.input<T>(2) + d * p.hidden * p.hidden), m(memory), f(p, d, 0) {}

  void products(std::int64_t, const std::int32_t*) {
    multiply(denseProduct(setup.batch, setup.hidden, setup.hidden, false, true, false), T(1), m.state, r,
             m.products);
  }
  void step(std::int64_t b, std::int64_t row) {
    T* gates = m.gates + row * setup.hidden;
    const T* products = m.products + b * setup.hidden;
    for (std::int64_t i = 0; i < setup.hidden; ++i) {
      gates[i] = f(gates[i] + products[i]);
      m.state[b * setup.hidden + i] = gates[i];
    }
  }
  void back(std::int64_t b, std::int64_t row) {
    T* gates = m.gates + row * setup.hidden;
    for (std::int64_t i = 0; i < setup.hidden; ++i) {
      const std::int64_t at = b * setup.hidden + i;
      gates[i] = m.dState[at] * f.slope(gates[i]);
      m.products[at] = gates[i];
      m.dNext[at] = T(0);
    }
  }
  void backProducts(std::int64_t, const std::int32_t*) {
    multiply(denseProduct(setup.batch, setup.hidden, setup.hidden, false, false, true), T(1), m.products, r,
             m.dNext);
  }
};

struct Rnn {
  template <class T>
  using Cell = RnnCell<T>;

  static Result<RecurrentSetup> planOf(const OperatorCall& call) { return recurrentSetup(call, 1, {"Tanh"}); }
  static std::int64_t recurrentBiases(const RecurrentSetup&) { return 1; }
  static std::vector<Work> cellWork(const OperatorCall& call, const RecurrentSetup& setup) {
    return {{Map{MapFunction::tanh, setup.batch * setup.hidden, 2, call.input(0).element, true}, 1, "Cell"}};
  }
  static std::vector<Work> cellGradientWork(const OperatorCall& call, const RecurrentSetup& setup) {
    const ElementType type = call.input(0).element;
    const std::int64_t units = setup.batch * setup.hidden;
    return {{Map{MapFunction::add, units, 2, type, true}, 1, "Output"},
            {Map{MapFunction::tanhGradient, units, 2, type}, 1, "Cell"}};
  }
  template <class T>
  static void parameterGradients(const RecurrentSetup& setup, std::int64_t d, const KernelArguments& a,
                                 const GradientOutputs& to, const RecurrentMemory<T>& m) {
    const std::int64_t hidden = setup.hidden;
    if (T* dr = to.of<T>(a, 2)) {
      multiply(denseProduct(hidden, hidden, setup.rows(), true, false, false), T(1), m.gates, m.before,
               dr + d * hidden * hidden);
    }
    if (T* db = to.of<T>(a, 3)) {
      columnSums(m.gates, setup.rows(), hidden, hidden, db + d * 2 * hidden);
      std::copy_n(db + d * 2 * hidden, hidden, db + d * 2 * hidden + hidden);
    }
  }
};

}  // namespace

// RNN: X, W, R, [B, sequence_lens, initial_h] → [Y, Y_h]
PIPESCOPE_REGISTER_OPERATOR(rnn) {
  addRecurrent<Rnn>(registry, "RNN", "", 6);
}

}  // namespace pipescope::ops
