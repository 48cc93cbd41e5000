#pragma once
// Code that RNN, GRU and LSTM share: attributes, sizes, scratch memory and the loops over time. The files
// rnn.cpp, gru.cpp and lstm.cpp contain the arithmetic of the gates. Inputs, outputs and gates have ONNX's
// names and ONNX's order.
#include <algorithm>
#include <array>
#include <cmath>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/matrix.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {

/// An activation function with its parameters. slope() computes the derivative from the function's result.
struct Activation {
  enum class Kind {
    affine,
    elu,
    hardSigmoid,
    leakyRelu,
    relu,
    scaledTanh,
    sigmoid,
    softplus,
    softsign,
    tanh,
    thresholdedRelu
  };
  Kind kind = Kind::tanh;
  double alpha = 0, beta = 0;

  template <class T>
  T operator()(T x) const;
  template <class T>
  T slope(T y) const;
};

struct RecurrentSetup {
  std::int64_t time = 0, batch = 0, input = 0, hidden = 0;
  std::int64_t directions = 1, gates = 1;
  bool reverse = false;     ///< a single direction runs backwards; of two directions, the second always does
  bool batchFirst = false;  ///< the attribute layout is 1
  double clip = 0;          ///< 0 means no clipping
  std::vector<Activation> activations;  ///< all of the first direction, then all of the second
  bool linearBeforeReset = false;       ///< GRU only
  bool coupled = false;                 ///< LSTM only: the forget gate is 1 − the input gate
  bool hasLengths = false;
  std::string title;

  std::int64_t rows() const { return time * batch; }
  std::int64_t width() const { return gates * hidden; }
  bool backwards(std::int64_t direction) const { return direction == 1 || reverse; }
  /// row() is the row of X for a time and a batch index; inY() is the index of its first element in Y.
  std::int64_t row(std::int64_t t, std::int64_t b) const { return batchFirst ? b * time + t : t * batch + b; }
  std::int64_t inY(std::int64_t t, std::int64_t b, std::int64_t direction) const {
    return (batchFirst ? (b * time + t) * directions + direction : (t * directions + direction) * batch + b) *
           hidden;
  }
  /// The index of a state's first element in initial_h, initial_c, Y_h or Y_c.
  std::int64_t inState(std::int64_t b, std::int64_t direction) const {
    return (batchFirst ? b * directions + direction : direction * batch + b) * hidden;
  }
  std::int64_t activationsEach() const { return static_cast<std::int64_t>(activations.size()) / directions; }
  const Activation& activation(std::int64_t direction, std::int64_t index) const {
    return activations[static_cast<std::size_t>(direction * activationsEach() + index)];
  }
};

/// An activation that first clamps its argument to ±clip. slope() computes the derivative from the result. It
/// is 0 if the result is the activation of a bound, because the argument was then clamped.
template <class T>
class ClippedActivation {
 public:
  ClippedActivation(const RecurrentSetup& setup, std::int64_t direction, std::int64_t index)
      : f_(setup.activation(direction, index)), clips_(setup.clip > 0), limit_(static_cast<T>(setup.clip)) {
    if (!clips_) return;
    atLow_ = f_(-limit_);
    atHigh_ = f_(limit_);
  }
  T operator()(T x) const {
    if (!clips_) return f_(x);
    return f_(x < -limit_ ? -limit_ : (x > limit_ ? limit_ : x));
  }
  T slope(T y) const { return clips_ && (y == atLow_ || y == atHigh_) ? T(0) : f_.slope(y); }

 private:
  const Activation& f_;
  bool clips_;
  T limit_, atLow_ = T(0), atHigh_ = T(0);
};

/// Reads the attributes and checks inputs 0 to 7 (X, W, R, B, sequence_lens, initial_h, initial_c, P).
/// `defaults` names the activations of one direction if the node has none.
Result<RecurrentSetup> recurrentSetup(const OperatorCall& call, std::int64_t gates,
                                      const std::vector<std::string>& defaults);
/// The types of Y, Y_h and, for an LSTM, Y_c.
std::vector<TensorType> recurrentTypes(const OperatorCall& call, const RecurrentSetup& setup);
/// The attributes that all three operators have.
std::vector<AttributeRule> recurrentAttributes();
/// Fails with a message unless every sequence length is between 0 and `time`.
Status checkLengths(const RecurrentSetup& setup, const std::int32_t* lengths);

/// The present inputs that have a gradient. The outputs of the gradient operator have the same order.
std::vector<std::size_t> differentiableInputs(const OperatorCall& call);
/// Adds the operator `Grad<type>`. Its inputs are all inputs of the operator and then the gradients of Y, Y_h
/// and Y_c. Its outputs are the gradients of differentiableInputs().
Status recurrentGradient(GradientBuilder& builder, const RecurrentSetup& setup);
/// The types of the outputs of `Grad<type>`.
Result<std::vector<TensorType>> recurrentGradientTypes(const OperatorCall& call, const RecurrentSetup& setup);

/// The Work of the matrix products of one pass over time. `cell`, the Work of one step of one direction, is
/// added once for every step and direction.
std::vector<Work> recurrentWork(const OperatorCall& call, const RecurrentSetup& setup,
                                const std::vector<Work>& cell);
std::vector<Work> recurrentGradientWork(const OperatorCall& call, const RecurrentSetup& setup,
                                        const std::vector<Work>& cell);

/// The scratch memory of one direction's pass over time. `rows` is the number of rows of X.
template <class T>
struct RecurrentMemory {
  T* gates = nullptr;        ///< rows × width: input products, then activated gates, then their gradients
  T* before = nullptr;       ///< rows × hidden: state before each step
  T* cells = nullptr;        ///< rows × hidden; LSTM: c after each step; GRU: see GruCell
  T* cellsBefore = nullptr;  ///< rows × hidden; LSTM: c before each step
  T* state = nullptr;        ///< batch × hidden; current state
  T* cell = nullptr;         ///< batch × hidden; LSTM: current c
  T* products = nullptr;     ///< batch × width; state · Rᵀ, or the gradients of the gates' arguments
  T* dState = nullptr;       ///< batch × hidden; gradient of the state
  T* dCell = nullptr;        ///< batch × hidden; LSTM: gradient of c; GRU: buffer for one step
  T* dNext = nullptr;        ///< batch × hidden; gradient of the state before the step
  T* extra = nullptr;        ///< rows × hidden; GRU: gradient of the recurrent half of the h gate

  static std::int64_t elements(const RecurrentSetup& setup) {
    return paddedElements<T>(setup.rows() * setup.width()) +
           4 * paddedElements<T>(setup.rows() * setup.hidden) +
           5 * paddedElements<T>(setup.batch * setup.hidden) + paddedElements<T>(setup.batch * setup.width());
  }
  RecurrentMemory(const RecurrentSetup& setup, T* scratch) {
    const auto take = [&scratch](std::int64_t count) {
      T* part = scratch;
      scratch += paddedElements<T>(count);
      return part;
    };
    gates = take(setup.rows() * setup.width());
    for (T** each : {&before, &cells, &cellsBefore, &extra}) *each = take(setup.rows() * setup.hidden);
    for (T** each : {&state, &cell, &dState, &dCell, &dNext}) *each = take(setup.batch * setup.hidden);
    products = take(setup.batch * setup.width());
  }
};

/// Computes gates = X · Wᵀ + bias. The first `recurrentBias` gates also get the recurrent half of the bias.
template <class T>
void inputProducts(const RecurrentSetup& setup, std::int64_t direction, const KernelArguments& a,
                   std::int64_t recurrentBias, T* gates) {
  const std::int64_t width = setup.width();
  const T* w = a.input<T>(1) + direction * width * setup.input;
  multiply(denseProduct(setup.rows(), width, setup.input, false, true, false), T(1), a.input<T>(0), w, gates);
  const T* b = a.input<T>(3);
  if (!b) return;
  b += direction * 2 * width;
  for (std::int64_t row = 0; row < setup.rows(); ++row) {
    T* to = gates + row * width;
    for (std::int64_t i = 0; i < width; ++i) to[i] += b[i];
    for (std::int64_t i = 0; i < recurrentBias * setup.hidden; ++i) to[i] += b[width + i];
  }
}

/// Copies the initial state of a direction (input 5 or 6) to `state` (batch × hidden). An absent input gives
/// zeros.
template <class T>
void loadState(const RecurrentSetup& setup, std::int64_t direction, const T* from, T* state) {
  for (std::int64_t b = 0; b < setup.batch; ++b) {
    for (std::int64_t i = 0; i < setup.hidden; ++i)
      state[b * setup.hidden + i] = from ? from[setup.inState(b, direction) + i] : T(0);
  }
}
template <class T>
void storeState(const RecurrentSetup& setup, std::int64_t direction, const T* state, T* to) {
  if (!to) return;
  for (std::int64_t b = 0; b < setup.batch; ++b) {
    for (std::int64_t i = 0; i < setup.hidden; ++i)
      to[setup.inState(b, direction) + i] = state[b * setup.hidden + i];
  }
}

/// Calls visit(b, t) for every sequence b. t is the time index that the sequence processes in this step, or
/// −1 − step if the sequence has ended.
template <class Visit>
void forSequences(const RecurrentSetup& setup, std::int64_t direction, std::int64_t step,
                  const std::int32_t* lengths, const Visit& visit) {
  for (std::int64_t b = 0; b < setup.batch; ++b) {
    const std::int64_t length = lengths ? lengths[b] : setup.time;
    if (step >= length) {
      visit(b, -1 - step);
    } else {
      visit(b, setup.backwards(direction) ? length - 1 - step : step);
    }
  }
}

/// Runs one direction forward. The class Cell is constructed from (setup, direction, arguments, memory) and
/// has two functions. products() multiplies the state with R. step(b, row) replaces row `row` of the gates by
/// the activated gates, and row b of the state by the next state.
template <class T, class Cell>
void runForward(const RecurrentSetup& setup, std::int64_t direction, const KernelArguments& a,
                const RecurrentMemory<T>& m, Cell& cell, T* y) {
  const std::int32_t* lengths = setup.hasLengths ? a.input<std::int32_t>(4) : nullptr;
  const std::int64_t hidden = setup.hidden;
  loadState(setup, direction, a.input<T>(5), m.state);
  loadState(setup, direction, a.input<T>(6), m.cell);
  for (std::int64_t step = 0; step < setup.time; ++step) {
    forSequences(setup, direction, step, lengths, [&](std::int64_t b, std::int64_t t) {
      if (t < 0) return;
      std::copy_n(m.state + b * hidden, hidden, m.before + setup.row(t, b) * hidden);
      std::copy_n(m.cell + b * hidden, hidden, m.cellsBefore + setup.row(t, b) * hidden);
    });
    cell.products(step, lengths);
    forSequences(setup, direction, step, lengths, [&](std::int64_t b, std::int64_t t) {
      if (t >= 0) cell.step(b, setup.row(t, b));
      if (!y) return;
      T* to = y + setup.inY(t < 0 ? -1 - t : t, b, direction);
      if (t < 0) {
        std::fill_n(to, hidden, T(0));
      } else {
        std::copy_n(m.state + b * hidden, hidden, to);
      }
    });
  }
}

/// Sums each column of a rows × columns part of a matrix. The order of the rows is fixed, so that the
/// rounding is too.
template <class T>
void columnSums(const T* from, std::int64_t rows, std::int64_t stride, std::int64_t columns, T* to) {
  std::fill_n(to, columns, T(0));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < columns; ++i) to[i] += from[row * stride + i];
  }
}

/// Finds the output of a gradient operator that holds the gradient of a given input.
class GradientOutputs {
 public:
  explicit GradientOutputs(const OperatorCall& call) {
    std::size_t next = 0;
    for (const std::size_t input : differentiableInputs(call)) places_[input] = next++;
  }
  template <class T>
  T* of(const KernelArguments& a, std::size_t input) const {
    return places_[input] == kNone ? nullptr : a.output<T>(places_[input]);
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::array<std::size_t, 8> places_{kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone};
};

/// Runs one direction backward, after runForward. The class Cell has two functions:
///   - back(b, row) computes the gradients of the gates' arguments. It writes them to row `row` of the gates
///     and to row b of the products. The part of the state's gradient that bypasses R goes to dNext.
///   - backProducts() adds the part that passes through R.
/// At the end dState holds the gradient of the initial state.
template <class T, class Cell>
void runBackward(const RecurrentSetup& setup, std::int64_t direction, const KernelArguments& a,
                 const RecurrentMemory<T>& m, Cell& cell) {
  const std::int32_t* lengths = setup.hasLengths ? a.input<std::int32_t>(4) : nullptr;
  const std::int64_t hidden = setup.hidden, width = setup.width();
  const T* dy = a.input<T>(8);
  loadState(setup, direction, a.input<T>(9), m.dState);
  loadState(setup, direction, a.input<T>(10), m.dCell);
  for (std::int64_t step = setup.time; step-- > 0;) {
    forSequences(setup, direction, step, lengths, [&](std::int64_t b, std::int64_t t) {
      T* dState = m.dState + b * hidden;
      if (t < 0) {
        const std::int64_t row = setup.row(-1 - t, b);
        std::copy_n(dState, hidden, m.dNext + b * hidden);
        std::fill_n(m.products + b * width, width, T(0));
        std::fill_n(m.gates + row * width, width, T(0));
        for (T* rows : {m.before, m.cells, m.extra}) std::fill_n(rows + row * hidden, hidden, T(0));
        return;
      }
      if (dy) {
        const T* from = dy + setup.inY(t, b, direction);
        for (std::int64_t i = 0; i < hidden; ++i) dState[i] += from[i];
      }
      cell.back(b, setup.row(t, b));
    });
    cell.backProducts(step, lengths);
    std::copy_n(m.dNext, setup.batch * hidden, m.dState);
  }
}

/// Computes the gradients of X and W from the gradients of the gates' arguments. The gradient of X is the sum
/// over the directions.
template <class T>
void inputGradients(const RecurrentSetup& setup, std::int64_t direction, const KernelArguments& a,
                    const GradientOutputs& to, const T* gates) {
  const std::int64_t width = setup.width(), part = direction * width * setup.input;
  if (T* dx = to.of<T>(a, 0)) {
    multiply(denseProduct(setup.rows(), setup.input, width, false, false, direction > 0), T(1), gates,
             a.input<T>(1) + part, dx);
  }
  if (T* dw = to.of<T>(a, 1)) {
    multiply(denseProduct(width, setup.input, setup.rows(), true, false, false), T(1), gates, a.input<T>(0),
             dw + part);
  }
}

template <class T>
T Activation::operator()(T x) const {
  const T p = static_cast<T>(alpha), q = static_cast<T>(beta);
  switch (kind) {
    case Kind::affine:
      return p * x + q;
    case Kind::elu:
      return x < T(0) ? p * std::expm1(x) : x;
    case Kind::hardSigmoid: {
      const T y = p * x + q;
      return y < T(0) ? T(0) : (y > T(1) ? T(1) : y);
    }
    case Kind::leakyRelu:
      return x < T(0) ? p * x : x;
    case Kind::relu:
      return x < T(0) ? T(0) : x;
    case Kind::scaledTanh:
      return p * std::tanh(q * x);
    case Kind::sigmoid:
      return T(1) / (T(1) + std::exp(-x));
    case Kind::softplus:
      return std::log1p(std::exp(-std::abs(x))) + (x > T(0) ? x : T(0));
    case Kind::softsign:
      return x / (T(1) + std::abs(x));
    case Kind::tanh:
      return std::tanh(x);
    case Kind::thresholdedRelu:
      return x > p ? x : (x != x ? x : T(0));
  }
  return x;
}

template <class T>
T Activation::slope(T y) const {
  const T p = static_cast<T>(alpha), q = static_cast<T>(beta);
  switch (kind) {
    case Kind::affine:
      return p;
    case Kind::elu:
      return y < T(0) ? y + p : T(1);
    case Kind::hardSigmoid:
      return y > T(0) && y < T(1) ? p : T(0);
    case Kind::leakyRelu:
      return y < T(0) ? p : T(1);
    case Kind::relu:
    case Kind::thresholdedRelu:
      return y > T(0) ? T(1) : T(0);
    case Kind::scaledTanh:
      return q * (p - y * y / p);
    case Kind::sigmoid:
      return y * (T(1) - y);
    case Kind::softplus:
      return -std::expm1(-y);
    case Kind::softsign:
      return (T(1) - std::abs(y)) * (T(1) - std::abs(y));
    case Kind::tanh:
      return T(1) - y * y;
  }
  return T(0);
}

}  // namespace pipescope::ops
