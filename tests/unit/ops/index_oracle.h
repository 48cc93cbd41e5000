#pragma once
// Expected tensors from a rule for each position: slow, and independent of the kernels.
#include "op_runner.h"

namespace pipescope::ops_test {

inline std::size_t flatOf(const Shape& shape, const Ints& at) {
  std::int64_t flat = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) flat = flat * shape[axis] + at[axis];
  return static_cast<std::size_t>(flat);
}

inline double at(const Value& value, const Ints& position) {
  return value.data.at(flatOf(value.shape, position));
}

/// Evaluates rule(position) for every position of the shape in row-major order.
template <class Rule>
std::vector<double> byPosition(const Shape& shape, Rule rule) {
  std::vector<double> values;
  const std::int64_t count = graph::elementCount(shape);
  for (std::int64_t flat = 0; flat < count; ++flat) {
    Ints position(shape.size());
    std::int64_t rest = flat;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      position[axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    values.push_back(rule(position));
  }
  return values;
}

/// Expects that the operator's first output has this shape and exactly these values, in both float types and
/// in int64.
inline void expectMoves(const std::string& op, std::vector<Value> inputs, const Attributes& attributes,
                        const Shape& shape, const std::vector<double>& expected) {
  for (const ElementType real : {ElementType::float64, ElementType::float32}) {
    const auto y = compute(op, inputs, attributes, 1, real);
    ASSERT_TRUE(y.ok()) << y.error().message;
    EXPECT_EQ((*y)[0].shape, shape);
    ASSERT_EQ((*y)[0].data.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double wanted =
          real == ElementType::float32 ? static_cast<double>(static_cast<float>(expected[i])) : expected[i];
      ASSERT_EQ((*y)[0].data[i], wanted) << op << " element " << i;
    }
  }
}

}  // namespace pipescope::ops_test
