#pragma once
// What RNN, GRU and LSTM share: attributes, sizes, memory, and the walk over time. The arithmetic of the
// gates is in rnn.cpp, gru.cpp and lstm.cpp. The names and the order of inputs, outputs and gates are ONNX's.
#include <algorithm>
#include <array>
#include <cmath>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/matrix.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {

/// An activation function with its parameters, and its slope as a function of its result.
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

struct RecurrentPlan {
  std::int64_t time = 0, batch = 0, input = 0, hidden = 0;
  std::int64_t directions = 1, gates = 1;
  bool reverse = false;                 ///< direction of the only one; of two, the second runs backwards
  bool batchFirst = false;              ///< layout 1
  double clip = 0;                      ///< 0: not clipped
  std::vector<Activation> activations;  ///< activations of each direction in turn
  bool linearBeforeReset = false;       ///< GRU
  bool coupled = false;                 ///< LSTM: the forget gate is 1 − the input gate
  bool hasLengths = false;
  std::string title;

  std::int64_t rows() const { return time * batch; }
  std::int64_t width() const { return gates * hidden; }
  bool backwards(std::int64_t direction) const { return direction == 1 || reverse; }
  /// The row of a (time, batch) pair within X, and the place of its first element within Y.
  std::int64_t row(std::int64_t t, std::int64_t b) const { return batchFirst ? b * time + t : t * batch + b; }
  std::int64_t inY(std::int64_t t, std::int64_t b, std::int64_t direction) const {
    return (batchFirst ? (b * time + t) * directions + direction : (t * directions + direction) * batch + b) *
           hidden;
  }
  /// The place of a state's first element within initial_h, Y_h and the like.
  std::int64_t inState(std::int64_t b, std::int64_t direction) const {
    return (batchFirst ? b * directions + direction : direction * batch + b) * hidden;
  }
  std::int64_t activationsEach() const { return static_cast<std::int64_t>(activations.size()) / directions; }
  const Activation& activation(std::int64_t direction, std::int64_t index) const {
    return activations[static_cast<std::size_t>(direction * activationsEach() + index)];
  }
};

/// An activation whose argument is kept within ±clip, and the slope of both as a function of the result. If
/// the argument was cut, the result is that of a bound, and the slope is 0.
template <class T>
class ClippedActivation {
 public:
  ClippedActivation(const RecurrentPlan& plan, std::int64_t direction, std::int64_t index)
      : f_(plan.activation(direction, index)), clips_(plan.clip > 0), limit_(static_cast<T>(plan.clip)) {
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
/// `defaults` are the activations of one direction.
Result<RecurrentPlan> recurrentPlan(const OperatorCall& call, std::int64_t gates,
                                    const std::vector<std::string>& defaults);
/// The types of Y, Y_h and, for an LSTM, Y_c.
std::vector<TensorType> recurrentTypes(const OperatorCall& call, const RecurrentPlan& plan);
/// The attributes that all three operators have.
std::vector<AttributeRule> recurrentAttributes();
/// Fails with a sentence unless every sequence is 0 to `time` long.
Status checkLengths(const RecurrentPlan& plan, const std::int32_t* lengths);

/// The present inputs whose gradient the gradient operators compute, in the order of their outputs.
std::vector<std::size_t> differentiableInputs(const OperatorCall& call);
/// Adds the operator `Grad<type>`. It takes all inputs, then the gradients by Y, Y_h and Y_c; its outputs are
/// the gradients by differentiableInputs.
Status recurrentGradient(GradientBuilder& builder, const RecurrentPlan& plan);
/// The types of those outputs.
Result<std::vector<TensorType>> recurrentGradientTypes(const OperatorCall& call, const RecurrentPlan& plan);

/// The Work of the products of one pass over time, and of `cell` for every step of every direction.
std::vector<Work> recurrentWork(const OperatorCall& call, const RecurrentPlan& plan,
                                const std::vector<Work>& cell);
std::vector<Work> recurrentGradientWork(const OperatorCall& call, const RecurrentPlan& plan,
                                        const std::vector<Work>& cell);

/// The memory of one direction's pass over time. Rows are those of X.
template <class T>
struct RecurrentMemory {
  T* gates = nullptr;        ///< rows × width: input products, then activated gates, then their gradients
  T* before = nullptr;       ///< rows × hidden: the state before each step
  T* cells = nullptr;        ///< rows × hidden; LSTM: c after each step; GRU: what is multiplied by r or R_h
  T* cellsBefore = nullptr;  ///< rows × hidden; LSTM: c before each step
  T* state = nullptr;        ///< batch × hidden
  T* cell = nullptr;         ///< batch × hidden
  T* products = nullptr;     ///< batch × width
  T* dState = nullptr;       ///< batch × hidden; this and the next for gradients only
  T* dCell = nullptr;        ///< batch × hidden
  T* dNext = nullptr;        ///< batch × hidden
  T* extra = nullptr;        ///< rows × hidden; GRU: gradient of the recurrent half of the h gate

  static std::int64_t elements(const RecurrentPlan& plan) {
    return paddedElements<T>(plan.rows() * plan.width()) + 4 * paddedElements<T>(plan.rows() * plan.hidden) +
           5 * paddedElements<T>(plan.batch * plan.hidden) + paddedElements<T>(plan.batch * plan.width());
  }
  RecurrentMemory(const RecurrentPlan& plan, T* scratch) {
    const auto take = [&scratch](std::int64_t count) {
      T* part = scratch;
      scratch += paddedElements<T>(count);
      return part;
    };
    gates = take(plan.rows() * plan.width());
    for (T** each : {&before, &cells, &cellsBefore, &extra}) *each = take(plan.rows() * plan.hidden);
    for (T** each : {&state, &cell, &dState, &dCell, &dNext}) *each = take(plan.batch * plan.hidden);
    products = take(plan.batch * plan.width());
  }
};

/// gates = X · Wᵀ + bias. `recurrentBias` is the number of gates to which the recurrent half of the bias is
/// added.
template <class T>
void inputProducts(const RecurrentPlan& plan, std::int64_t direction, const KernelArguments& a,
                   std::int64_t recurrentBias, T* gates) {
  const std::int64_t width = plan.width();
  const T* w = a.input<T>(1) + direction * width * plan.input;
  multiply(denseProduct(plan.rows(), width, plan.input, false, true, false), T(1), a.input<T>(0), w, gates);
  const T* b = a.input<T>(3);
  if (!b) return;
  b += direction * 2 * width;
  for (std::int64_t row = 0; row < plan.rows(); ++row) {
    T* to = gates + row * width;
    for (std::int64_t i = 0; i < width; ++i) to[i] += b[i];
    for (std::int64_t i = 0; i < recurrentBias * plan.hidden; ++i) to[i] += b[width + i];
  }
}

/// The initial state of a direction (input 5 or 6) as batch × hidden.
template <class T>
void loadState(const RecurrentPlan& plan, std::int64_t direction, const T* from, T* state) {
  for (std::int64_t b = 0; b < plan.batch; ++b) {
    for (std::int64_t i = 0; i < plan.hidden; ++i)
      state[b * plan.hidden + i] = from ? from[plan.inState(b, direction) + i] : T(0);
  }
}
template <class T>
void storeState(const RecurrentPlan& plan, std::int64_t direction, const T* state, T* to) {
  if (!to) return;
  for (std::int64_t b = 0; b < plan.batch; ++b) {
    for (std::int64_t i = 0; i < plan.hidden; ++i)
      to[plan.inState(b, direction) + i] = state[b * plan.hidden + i];
  }
}

/// Calls visit(b, time) for every sequence of a step, where time is the time that this step does, or −1 −
/// time if the sequence has ended.
template <class Visit>
void forSequences(const RecurrentPlan& plan, std::int64_t direction, std::int64_t step,
                  const std::int32_t* lengths, const Visit& visit) {
  for (std::int64_t b = 0; b < plan.batch; ++b) {
    const std::int64_t length = lengths ? lengths[b] : plan.time;
    if (step >= length) {
      visit(b, -1 - step);
    } else {
      visit(b, plan.backwards(direction) ? length - 1 - step : step);
    }
  }
}

/// Runs one direction forward. Cell{plan, direction, arguments, memory} offers products(), which multiplies
/// the state with R, and step(b, row), which turns gates row `row` into activated gates and state row b into
/// the next state.
template <class T, class Cell>
void runForward(const RecurrentPlan& plan, std::int64_t direction, const KernelArguments& a,
                const RecurrentMemory<T>& m, Cell& cell, T* y) {
  const std::int32_t* lengths = plan.hasLengths ? a.input<std::int32_t>(4) : nullptr;
  const std::int64_t hidden = plan.hidden;
  loadState(plan, direction, a.input<T>(5), m.state);
  loadState(plan, direction, a.input<T>(6), m.cell);
  for (std::int64_t step = 0; step < plan.time; ++step) {
    forSequences(plan, direction, step, lengths, [&](std::int64_t b, std::int64_t t) {
      if (t < 0) return;
      std::copy_n(m.state + b * hidden, hidden, m.before + plan.row(t, b) * hidden);
      std::copy_n(m.cell + b * hidden, hidden, m.cellsBefore + plan.row(t, b) * hidden);
    });
    cell.products(step, lengths);
    forSequences(plan, direction, step, lengths, [&](std::int64_t b, std::int64_t t) {
      if (t >= 0) cell.step(b, plan.row(t, b));
      if (!y) return;
      T* to = y + plan.inY(t < 0 ? -1 - t : t, b, direction);
      if (t < 0) {
        std::fill_n(to, hidden, T(0));
      } else {
        std::copy_n(m.state + b * hidden, hidden, to);
      }
    });
  }
}

/// Sums the columns of a rows × columns part of a matrix in the order of its rows.
template <class T>
void columnSums(const T* from, std::int64_t rows, std::int64_t stride, std::int64_t columns, T* to) {
  std::fill_n(to, columns, T(0));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < columns; ++i) to[i] += from[row * stride + i];
  }
}

/// The outputs of a gradient operator, by the input that they belong to.
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

/// Runs one direction backward, after runForward. Cell offers back(b, row), which turns activated gates into
/// gradients by their arguments (gates row and products row b) and dState row b into the part that bypasses R
/// (in dNext), and backProducts(), which adds what passes through R. Leaves the gradient by the initial state
/// in dState.
template <class T, class Cell>
void runBackward(const RecurrentPlan& plan, std::int64_t direction, const KernelArguments& a,
                 const RecurrentMemory<T>& m, Cell& cell) {
  const std::int32_t* lengths = plan.hasLengths ? a.input<std::int32_t>(4) : nullptr;
  const std::int64_t hidden = plan.hidden, width = plan.width();
  const T* dy = a.input<T>(8);
  loadState(plan, direction, a.input<T>(9), m.dState);
  loadState(plan, direction, a.input<T>(10), m.dCell);
  for (std::int64_t step = plan.time; step-- > 0;) {
    forSequences(plan, direction, step, lengths, [&](std::int64_t b, std::int64_t t) {
      T* dState = m.dState + b * hidden;
      if (t < 0) {
        const std::int64_t row = plan.row(-1 - t, b);
        std::copy_n(dState, hidden, m.dNext + b * hidden);
        std::fill_n(m.products + b * width, width, T(0));
        std::fill_n(m.gates + row * width, width, T(0));
        for (T* rows : {m.before, m.cells, m.extra}) std::fill_n(rows + row * hidden, hidden, T(0));
        return;
      }
      if (dy) {
        const T* from = dy + plan.inY(t, b, direction);
        for (std::int64_t i = 0; i < hidden; ++i) dState[i] += from[i];
      }
      cell.back(b, plan.row(t, b));
    });
    cell.backProducts(step, lengths);
    std::copy_n(m.dNext, plan.batch * hidden, m.dState);
  }
}

/// Computes the gradients by X (added up over the directions) and W from the gradients by the gates'
/// arguments.
template <class T>
void inputGradients(const RecurrentPlan& plan, std::int64_t direction, const KernelArguments& a,
                    const GradientOutputs& to, const T* gates) {
  const std::int64_t width = plan.width(), part = direction * width * plan.input;
  if (T* dx = to.of<T>(a, 0)) {
    multiply(denseProduct(plan.rows(), plan.input, width, false, false, direction > 0), T(1), gates,
             a.input<T>(1) + part, dx);
  }
  if (T* dw = to.of<T>(a, 1)) {
    multiply(denseProduct(width, plan.input, plan.rows(), true, false, false), T(1), gates, a.input<T>(0),
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
