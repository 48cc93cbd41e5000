// The operators GRU and GradGRU (backpropagation through time). The gates have ONNX's order z, r, h:
//   z = f(X·Wzᵀ + H·Rzᵀ + biases)    r likewise    H' = (1 − z)∘h + z∘H
//   h = g(X·Whᵀ + (r∘H)·Rhᵀ + biases)                  linear_before_reset 0
//   h = g(X·Whᵀ + bias + r∘(H·Rhᵀ + recurrent bias))   linear_before_reset 1
#include <algorithm>

#include "engine/ops/recurrent/recurrent_operator.h"

namespace pipescope::ops {
namespace {

/// m.cells holds H·Rhᵀ + recurrent bias if linear_before_reset is 1, and r∘H otherwise. m.dCell is a buffer
/// for one step.
template <class T>
struct GruCell {
  const RecurrentSetup& setup;
  std::int64_t direction;
  const T* r;
  const T* recurrentBias;  ///< recurrent bias of h if linear_before_reset is 1, otherwise null
  const RecurrentMemory<T>& m;
  const ClippedActivation<T> f, g;

  GruCell(const RecurrentSetup& p, std::int64_t d, const KernelArguments& a, const RecurrentMemory<T>& memory)
      : setup(p),
        direction(d),
        r(a.input<T>(2) + d * p.width() * p.hidden),
        recurrentBias(p.linearBeforeReset && a.input<T>(3) ? a.input<T>(3) + d * 6 * p.hidden + 5 * p.hidden
                                                           : nullptr),
        m(memory),
        f(p, d, 0),
        g(p, d, 1) {}

  /// Sets `count` gates of m.products from gate `first` on to from · (their rows of R)ᵀ.
  void multiplyGates(const T* from, std::int64_t first, std::int64_t count) const {
    Product product = denseProduct(setup.batch, count * setup.hidden, setup.hidden, false, true, false);
    product.ldc = setup.width();
    multiply(product, T(1), from, r + first * setup.hidden * setup.hidden, m.products + first * setup.hidden);
  }

  void products(std::int64_t step, const std::int32_t* lengths) {
    if (setup.linearBeforeReset) return multiplyGates(m.state, 0, 3);
    multiplyGates(m.state, 0, 2);
    const std::int64_t n = setup.hidden;
    std::fill_n(m.dCell, setup.batch * n, T(0));
    forSequences(setup, direction, step, lengths, [&](std::int64_t b, std::int64_t t) {
      if (t < 0) return;
      T* gates = m.gates + setup.row(t, b) * 3 * n;
      for (std::int64_t i = 0; i < n; ++i) {
        gates[n + i] = f(gates[n + i] + m.products[b * 3 * n + n + i]);
        m.dCell[b * n + i] = gates[n + i] * m.state[b * n + i];
      }
    });
    multiplyGates(m.dCell, 2, 1);
  }
  void step(std::int64_t b, std::int64_t row) {
    const std::int64_t n = setup.hidden;
    T* gates = m.gates + row * 3 * n;
    const T* products = m.products + b * 3 * n;
    for (std::int64_t i = 0; i < n; ++i) {
      T &update = gates[i], &reset = gates[n + i], &candidate = gates[2 * n + i], &state = m.state[b * n + i];
      T& kept = m.cells[row * n + i];
      update = f(update + products[i]);
      if (setup.linearBeforeReset) {
        reset = f(reset + products[n + i]);
        kept = products[2 * n + i] + (recurrentBias ? recurrentBias[i] : T(0));
        candidate = g(candidate + reset * kept);
      } else {
        kept = m.dCell[b * n + i];
        candidate = g(candidate + products[2 * n + i]);
      }
      state = (T(1) - update) * candidate + update * state;
    }
  }
  /// If linear_before_reset is 0, backProducts() computes the gradient of the reset gate's argument instead.
  void back(std::int64_t b, std::int64_t row) {
    const std::int64_t n = setup.hidden;
    T* gates = m.gates + row * 3 * n;
    T* products = m.products + b * 3 * n;
    for (std::int64_t i = 0; i < n; ++i) {
      T &update = gates[i], &reset = gates[n + i], &candidate = gates[2 * n + i];
      const T dState = m.dState[b * n + i], before = m.before[row * n + i];
      const T dCandidate = dState * (T(1) - update) * g.slope(candidate);
      m.dNext[b * n + i] = dState * update;
      update = dState * (before - candidate) * f.slope(update);
      candidate = dCandidate;
      products[i] = update;
      if (setup.linearBeforeReset) {
        const T dKept = dCandidate * reset;
        reset = dCandidate * m.cells[row * n + i] * f.slope(reset);
        products[n + i] = reset;
        products[2 * n + i] = dKept;
        m.extra[row * n + i] = dKept;
      } else {
        products[2 * n + i] = dCandidate;
      }
    }
  }
  /// Multiplies `count` gates of m.products from gate `first` on with their rows of R, into `to`.
  void multiplyBack(std::int64_t first, std::int64_t count, bool accumulate, T* to) const {
    Product product = denseProduct(setup.batch, setup.hidden, count * setup.hidden, false, false, accumulate);
    product.lda = setup.width();
    multiply(product, T(1), m.products + first * setup.hidden, r + first * setup.hidden * setup.hidden, to);
  }
  void backProducts(std::int64_t step, const std::int32_t* lengths) {
    if (setup.linearBeforeReset) return multiplyBack(0, 3, true, m.dNext);
    const std::int64_t n = setup.hidden;
    multiplyBack(2, 1, false, m.dCell);  // gradient of r∘H
    forSequences(setup, direction, step, lengths, [&](std::int64_t b, std::int64_t t) {
      if (t < 0) return;
      const std::int64_t row = setup.row(t, b);
      for (std::int64_t i = 0; i < n; ++i) {
        T& reset = m.gates[row * 3 * n + n + i];
        const T dKept = m.dCell[b * n + i];
        m.dNext[b * n + i] += dKept * reset;
        reset = dKept * m.before[row * n + i] * f.slope(reset);
        m.products[b * 3 * n + n + i] = reset;
      }
    });
    multiplyBack(0, 2, true, m.dNext);
  }
};

/// Computes dR of a direction. The rows of z and r come from the state before each step. The rows of h come
/// from the same state if linear_before_reset is 1, and from r∘H otherwise.
template <class T>
void recurrentWeightGradient(const RecurrentSetup& setup, const RecurrentMemory<T>& m, T* dr) {
  const std::int64_t n = setup.hidden;
  Product product = denseProduct(2 * n, n, setup.rows(), true, false, false);
  product.lda = 3 * n;
  multiply(product, T(1), m.gates, m.before, dr);
  product.m = n;
  T* dh = dr + 2 * n * n;
  if (setup.linearBeforeReset) {
    product.lda = n;
    multiply(product, T(1), m.extra, m.before, dh);
  } else {
    multiply(product, T(1), m.gates + 2 * n, m.cells, dh);
  }
}

template <class T>
void biasGradient(const RecurrentSetup& setup, const RecurrentMemory<T>& m, T* db) {
  const std::int64_t n = setup.hidden;
  columnSums(m.gates, setup.rows(), 3 * n, 3 * n, db);
  std::copy_n(db, 3 * n, db + 3 * n);
  if (setup.linearBeforeReset) columnSums(m.extra, setup.rows(), n, n, db + 5 * n);
}

struct Gru {
  template <class T>
  using Cell = GruCell<T>;

  static Result<RecurrentSetup> planOf(const OperatorCall& call) {
    return recurrentSetup(call, 3, {"Sigmoid", "Tanh"});
  }
  /// Number of recurrent biases that are added before the activations. The recurrent bias of h is added
  /// later, to the product with the state, if linear_before_reset is set.
  static std::int64_t recurrentBiases(const RecurrentSetup& setup) { return setup.linearBeforeReset ? 2 : 3; }
  static std::vector<Work> cellWork(const OperatorCall& call, const RecurrentSetup& setup) {
    const ElementType type = call.input(0).element;
    const std::int64_t units = setup.batch * setup.hidden;
    return {{Map{MapFunction::sigmoid, 2 * units, 2, type, true}, 1, "Gates"},
            {Map{MapFunction::multiply, units, 2, type, true}, 1, "Reset"},
            {Map{MapFunction::tanh, units, 2, type, true}, 1, "Cell"},
            {Map{MapFunction::multiply, units, 2, type, true}, 1, "State"},
            {Map{MapFunction::add, 2 * units, 2, type, true}, 1, "Sum"}};
  }
  /// (C: popnn, Gru.cpp, backwardStepImpl and basicGruParamUpdate.)
  static std::vector<Work> cellGradientWork(const OperatorCall& call, const RecurrentSetup& setup) {
    const ElementType type = call.input(0).element;
    const std::int64_t units = setup.batch * setup.hidden;
    return {{Map{MapFunction::add, units, 2, type, true}, 1, "Output"},
            {Map{MapFunction::subtract, units, 2, type}, 1, "Kept"},
            {Map{MapFunction::subtract, units, 2, type}, 1, "Change"},
            {Map{MapFunction::multiply, 2 * units, 2, type}, 1, "Gates"},
            {Map{MapFunction::sigmoidGradient, 2 * units, 2, type}, 1, "GateSlopes"},
            {Map{MapFunction::multiply, units, 2, type}, 1, "Reset"},
            {Map{MapFunction::sigmoidGradient, units, 2, type}, 1, "ResetSlope"},
            {Map{MapFunction::add, setup.batch * setup.input, 2, type, true}, 1, "Input"},
            {Map{MapFunction::multiply, 2 * units, 2, type, true}, 1, "State"},
            {Map{MapFunction::add, 2 * units, 2, type, true}, 1, "Sum"},
            {Map{MapFunction::multiply, units, 2, type}, 1, "ResetState"}};
  }
  template <class T>
  static void parameterGradients(const RecurrentSetup& setup, std::int64_t d, const KernelArguments& a,
                                 const GradientOutputs& to, const RecurrentMemory<T>& m) {
    const std::int64_t n = setup.hidden;
    if (T* dr = to.of<T>(a, 2)) recurrentWeightGradient(setup, m, dr + d * 3 * n * n);
    if (T* db = to.of<T>(a, 3)) biasGradient(setup, m, db + d * 6 * n);
  }
};

}  // namespace

// GRU: X, W, R, [B, sequence_lens, initial_h] → [Y, Y_h]
PIPESCOPE_REGISTER_OPERATOR(gru) {
  addRecurrent<Gru>(registry, "GRU", "linear_before_reset", 6);
}

}  // namespace pipescope::ops
