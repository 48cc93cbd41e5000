// The operators LSTM and GradLSTM (backpropagation through time). The gates have ONNX's order i, o, f, c:
//   i = f(X·Wiᵀ + H·Riᵀ + Pi∘C + bias)      f likewise
//   C' = f∘C + i∘g(X·Wcᵀ + H·Rcᵀ + bias)    o = f(… + Po∘C')      H' = o∘h(C')
// The attribute clip bounds the argument of every activation.
#include <algorithm>

#include "engine/ops/recurrent/recurrent_operator.h"

namespace pipescope::ops {
namespace {

template <class T>
struct LstmCell {
  const RecurrentSetup& setup;
  std::int64_t direction;
  const T* r;
  const T* peephole;  ///< Pi, Po, Pf; null if the input P is absent
  const RecurrentMemory<T>& m;
  const ClippedActivation<T> f, g, h;

  LstmCell(const RecurrentSetup& p, std::int64_t d, const KernelArguments& a,
           const RecurrentMemory<T>& memory)
      : setup(p),
        direction(d),
        r(a.input<T>(2) + d * p.width() * p.hidden),
        peephole(a.input<T>(7) ? a.input<T>(7) + d * 3 * p.hidden : nullptr),
        m(memory),
        f(p, d, 0),
        g(p, d, 1),
        h(p, d, 2) {}

  T peep(std::int64_t gate, std::int64_t i) const {
    return peephole ? peephole[gate * setup.hidden + i] : T(0);
  }

  void products(std::int64_t, const std::int32_t*) {
    multiply(denseProduct(setup.batch, setup.width(), setup.hidden, false, true, false), T(1), m.state, r,
             m.products);
  }
  void step(std::int64_t b, std::int64_t row) {
    const std::int64_t n = setup.hidden;
    T* gates = m.gates + row * 4 * n;
    T* cell = m.cell + b * n;
    const T* products = m.products + b * 4 * n;
    for (std::int64_t i = 0; i < 4 * n; ++i) gates[i] += products[i];
    for (std::int64_t i = 0; i < n; ++i) {
      T &in = gates[i], &out = gates[n + i], &forget = gates[2 * n + i], &candidate = gates[3 * n + i];
      in = f(in + peep(0, i) * cell[i]);
      forget = setup.coupled ? T(1) - in : f(forget + peep(2, i) * cell[i]);
      candidate = g(candidate);
      cell[i] = forget * cell[i] + in * candidate;
      out = f(out + peep(1, i) * cell[i]);
      m.cells[row * n + i] = cell[i];
      m.state[b * n + i] = out * h(cell[i]);
    }
  }
  void back(std::int64_t b, std::int64_t row) {
    const std::int64_t n = setup.hidden;
    T* gates = m.gates + row * 4 * n;
    T* products = m.products + b * 4 * n;
    for (std::int64_t i = 0; i < n; ++i) {
      T &in = gates[i], &out = gates[n + i], &forget = gates[2 * n + i], &candidate = gates[3 * n + i];
      T& dCell = m.dCell[b * n + i];
      const T dState = m.dState[b * n + i], before = m.cellsBefore[row * n + i];
      const T squashed = h(m.cells[row * n + i]);
      const T dOut = dState * squashed * f.slope(out);
      dCell += dState * out * h.slope(squashed) + dOut * peep(1, i);
      // A coupled forget gate is 1 − in and has no argument of its own.
      const T dIn = dCell * (setup.coupled ? candidate - before : candidate) * f.slope(in);
      const T dForget = setup.coupled ? T(0) : dCell * before * f.slope(forget);
      const T dCandidate = dCell * in * g.slope(candidate);
      dCell = dCell * forget + dIn * peep(0, i) + dForget * peep(2, i);
      in = dIn;
      out = dOut;
      forget = dForget;
      candidate = dCandidate;
      m.dNext[b * n + i] = T(0);
    }
    std::copy_n(gates, 4 * n, products);
  }
  void backProducts(std::int64_t, const std::int32_t*) {
    multiply(denseProduct(setup.batch, setup.hidden, setup.width(), false, false, true), T(1), m.products, r,
             m.dNext);
  }
};

/// Rows of sequences that have ended add nothing, because their gate gradients are zero.
template <class T>
void peepholeGradient(const RecurrentSetup& setup, const RecurrentMemory<T>& m, T* dp) {
  const std::int64_t n = setup.hidden;
  std::fill_n(dp, 3 * n, T(0));
  for (std::int64_t row = 0; row < setup.rows(); ++row) {
    const T* gates = m.gates + row * 4 * n;
    for (std::int64_t i = 0; i < n; ++i) {
      dp[i] += gates[i] * m.cellsBefore[row * n + i];
      dp[n + i] += gates[n + i] * m.cells[row * n + i];
      dp[2 * n + i] += gates[2 * n + i] * m.cellsBefore[row * n + i];
    }
  }
}

struct Lstm {
  template <class T>
  using Cell = LstmCell<T>;

  static Result<RecurrentSetup> planOf(const OperatorCall& call) {
    return recurrentSetup(call, 4, {"Sigmoid", "Tanh", "Tanh"});
  }
  static std::int64_t recurrentBiases(const RecurrentSetup&) { return 4; }
  static std::vector<Work> cellWork(const OperatorCall& call, const RecurrentSetup& setup) {
    const ElementType type = call.input(0).element;
    const std::int64_t units = setup.batch * setup.hidden;
    return {{Map{MapFunction::sigmoid, 3 * units, 2, type, true}, 1, "Gates"},
            {Map{MapFunction::tanh, 2 * units, 2, type, true}, 1, "Cell"},
            {Map{MapFunction::multiply, 3 * units, 2, type, true}, 1, "State"},
            {Map{MapFunction::add, units, 2, type, true}, 1, "Sum"}};
  }
  /// (C: popnn, Lstm.cpp, backwardStepImpl.)
  static std::vector<Work> cellGradientWork(const OperatorCall& call, const RecurrentSetup& setup) {
    const ElementType type = call.input(0).element;
    const std::int64_t units = setup.batch * setup.hidden;
    return {{Map{MapFunction::add, units, 2, type, true}, 1, "Output"},
            {Map{MapFunction::multiply, 2 * units, 2, type}, 1, "OutputGate"},
            {Map{MapFunction::sigmoidGradient, 2 * units, 2, type}, 1, "OutputGateSlope"},
            {Map{MapFunction::add, units, 2, type, true}, 1, "Cell"},
            {Map{MapFunction::multiply, 4 * units, 2, type}, 1, "Gates"},
            {Map{MapFunction::sigmoidGradient, 3 * units, 2, type}, 1, "GateSlopes"}};
  }
  template <class T>
  static void parameterGradients(const RecurrentSetup& setup, std::int64_t d, const KernelArguments& a,
                                 const GradientOutputs& to, const RecurrentMemory<T>& m) {
    const std::int64_t hidden = setup.hidden, width = setup.width();
    if (T* dr = to.of<T>(a, 2)) {
      multiply(denseProduct(width, hidden, setup.rows(), true, false, false), T(1), m.gates, m.before,
               dr + d * width * hidden);
    }
    if (T* db = to.of<T>(a, 3)) {
      columnSums(m.gates, setup.rows(), width, width, db + d * 2 * width);
      std::copy_n(db + d * 2 * width, width, db + d * 2 * width + width);
    }
    if (T* dp = to.of<T>(a, 7)) peepholeGradient(setup, m, dp + d * 3 * hidden);
  }
};

}  // namespace

// LSTM: X, W, R, [B, sequence_lens, initial_h, initial_c, P] → [Y, Y_h, Y_c]
PIPESCOPE_REGISTER_OPERATOR(lstm) {
  addRecurrent<Lstm>(registry, "LSTM", "input_forget", 8);
}

}  // namespace pipescope::ops
