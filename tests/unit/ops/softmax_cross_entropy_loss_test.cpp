#include "engine/ops/standard_operators.h"
#include "op_runner.h"

namespace pipescope::ops_test {
namespace {

struct LossCase {
  std::string name;
  Shape scores;  ///< N, C, d…
  std::string reduction;
  bool weighted = false, ignoring = false;
  ElementType labelType = ElementType::int64;

  std::int64_t labelCount() const { return graph::elementCount(scores) / scores[1]; }
  Value labelValues() const {
    Shape shape = scores;
    shape.erase(shape.begin() + 1);
    Value value = labels(shape, {}, labelType);
    for (std::int64_t i = 0; i < labelCount(); ++i)
      value.data.push_back(static_cast<double>(ignoring && i % 3 == 1 ? -7 : (i * 5 + 2) % scores[1]));
    return value;
  }
  Value weights() const {
    Value value{{scores[1]}, {}};
    for (std::int64_t c = 0; c < scores[1]; ++c) value.data.push_back(0.5 + 0.25 * static_cast<double>(c));
    return value;
  }
  std::vector<Value> inputs() const {
    std::vector<Value> all{noise(scores, 3), labelValues()};
    for (double& score : all[0].data) score *= 4;
    if (weighted) all.push_back(weights());
    return all;
  }
  Attributes attributes() const {
    Attributes all{{"reduction", reduction}};
    if (ignoring) all["ignore_index"] = std::int64_t{-7};
    return all;
  }

  friend void PrintTo(const LossCase& one, std::ostream* out) { *out << one.name; }
};

/// −log of the label's softmax by definition, and the logarithms of all probabilities.
struct Expected {
  std::vector<double> loss, logProbabilities;
};

Expected softmaxCrossEntropyLossNaive(const LossCase& c) {
  const std::vector<Value> in = c.inputs();
  const auto classes = static_cast<std::size_t>(c.scores[1]);
  const auto inner = static_cast<std::size_t>(c.labelCount() / c.scores[0]);
  Expected expected;
  expected.logProbabilities.resize(in[0].data.size());
  double total = 0, weights = 0;
  for (std::size_t i = 0; i < in[1].data.size(); ++i) {
    const std::size_t first = i / inner * classes * inner + i % inner;
    double sum = 0;
    for (std::size_t k = 0; k < classes; ++k) sum += std::exp(in[0].data[first + k * inner]);
    for (std::size_t k = 0; k < classes; ++k)
      expected.logProbabilities[first + k * inner] = std::log(std::exp(in[0].data[first + k * inner]) / sum);
    const bool ignored = in[1].data[i] < 0;
    const auto label = ignored ? 0 : static_cast<std::size_t>(in[1].data[i]);
    const double weight = ignored ? 0 : c.weighted ? in[2].data[label] : 1;
    const double own = ignored ? 0 : -weight * expected.logProbabilities[first + label * inner];
    total += own;
    weights += weight;
    if (c.reduction == "none") expected.loss.push_back(own);
  }
  if (c.reduction == "sum") expected.loss = {total};
  if (c.reduction == "mean") expected.loss = {total / weights};
  return expected;
}

class Loss : public ::testing::TestWithParam<LossCase> {};

TEST_P(Loss, EqualsItsDefinition) {
  const Expected expected = softmaxCrossEntropyLossNaive(GetParam());
  for (const ElementType real : {ElementType::float64, ElementType::float32}) {
    const double tolerance = real == ElementType::float64 ? 1e-12 : 2e-6;
    const auto y = compute("SoftmaxCrossEntropyLoss", GetParam().inputs(), GetParam().attributes(), 2, real);
    ASSERT_TRUE(y.ok()) << y.error().message;
    expectNear((*y)[0], expected.loss, tolerance);
    expectNear((*y)[1], expected.logProbabilities, tolerance);
  }
}

TEST_P(Loss, HasTheGradientsOfItsDifferences) {
  std::vector<Value> inputs = GetParam().inputs();
  if (GetParam().weighted) inputs[2].role = Value::Role::constant;
  GradientCheck("SoftmaxCrossEntropyLoss", inputs, GetParam().attributes()).run();
}

INSTANTIATE_TEST_SUITE_P(
    Attributes, Loss,
    testing::Values(
        LossCase{"mean", {4, 5}, "mean"}, LossCase{"sum", {4, 5}, "sum"}, LossCase{"none", {4, 5}, "none"},
        LossCase{"narrow_labels", {4, 5}, "mean", false, false, ElementType::int32},
        LossCase{"weighted_mean", {5, 4}, "mean", true}, LossCase{"weighted_none", {5, 4}, "none", true},
        LossCase{"ignoring", {7, 4}, "mean", false, true},
        LossCase{"all_of_it", {6, 4, 2}, "mean", true, true}, LossCase{"pixels", {2, 3, 2, 3}, "mean"},
        LossCase{"pixels_none", {2, 3, 2, 3}, "none", true, true}, LossCase{"one_class", {3, 1}, "mean"}),
    [](const auto& each) { return each.param.name; });

TEST(LossOp, StandsHugeScores) {
  const auto y = compute("SoftmaxCrossEntropyLoss", {Value{{1, 2}, {3e38, -3e38}}, labels({1}, {0})}, {}, 1,
                         ElementType::float32);
  EXPECT_EQ((*y)[0].data[0], 0);
}

TEST(LossOp, NanScoresGiveNan) {
  for (std::size_t place = 0; place < 3; ++place) {
    Value scores = noise({1, 3}, 1);
    scores.data[place] = std::nan("");
    EXPECT_TRUE(std::isnan((*compute("SoftmaxCrossEntropyLoss", {scores, labels({1}, {1})}))[0].data[0]));
  }
}

TEST(LossOp, RefusesWithNodeAndFigures) {
  const std::string op = "SoftmaxCrossEntropyLoss";
  const Value scores = noise({2, 3}, 1), good = labels({2}, {0, 2});
  EXPECT_EQ(refusal(op, {scores, labels({2}, {0, 3})}),
            "SoftmaxCrossEntropyLoss node: label 3 in row 1 is not one of the 3 classes (0 to 2); check the "
            "labels or the last layer");
  EXPECT_EQ(refusal(op, {scores, labels({2}, {-1, 0})}),
            "SoftmaxCrossEntropyLoss node: label -1 in row 0 is not one of the 3 classes (0 to 2); check the "
            "labels or the last layer");
  EXPECT_EQ(refusal(op, {scores, labels({3}, {0, 1, 2})}),
            "SoftmaxCrossEntropyLoss node: its labels are 3 int64; they must be 2 of int64 or int32");
  EXPECT_EQ(refusal(op, {scores, noise({2}, 1)}),
            "SoftmaxCrossEntropyLoss node: its labels are 2 float64; they must be 2 of int64 or int32");
  EXPECT_EQ(refusal(op, {noise({2}, 1), good}),
            "SoftmaxCrossEntropyLoss node: its scores are 2 float64; they need a batch and classes");
  EXPECT_EQ(refusal(op, {Value{{0, 3}, {}}, labels({0}, {})}),
            "SoftmaxCrossEntropyLoss node: its scores are 0x3 float64; there is nothing to take a loss of");
  EXPECT_EQ(refusal(op, {scores, good, noise({2}, 1)}),
            "SoftmaxCrossEntropyLoss node: its weights are 2 float64; there must be one float64 for each of "
            "the 3 classes");
  EXPECT_EQ(refusal(op, {scores, good}, {{"reduction", "most"}}),
            "SoftmaxCrossEntropyLoss node: reduction is most; it must be none, sum or mean");
  EXPECT_EQ(
      refusal(op, {scores, good}, {}, 1, ElementType::int64),
      "SoftmaxCrossEntropyLoss node: cannot compute in int64; there are kernels for floating-point types");
  EXPECT_EQ(refusal("GradSoftmaxCrossEntropyLoss", {absent()}),
            "GradSoftmaxCrossEntropyLoss node: it needs scores and labels");
  EXPECT_EQ(refusal("GradSoftmaxCrossEntropyLoss", {noise({2}, 1), scores, good}),
            "GradSoftmaxCrossEntropyLoss node: the gradient by the loss is 2 float64; it must be float64");
}

TEST(LossOp, RefusesToTrainItsWeights) {
  const auto one = oneNode("SoftmaxCrossEntropyLoss", {noise({2, 3}, 1), labels({2}, {0, 2}), noise({3}, 1)},
                           {}, 1, ElementType::float64, graph::TensorRole::parameter);
  graph::Graph graph = one->graph;
  graph.loss = graph.outputs[0];
  EXPECT_EQ(compile::addGradients(graph, ops::standardOperators()).error().message,
            "SoftmaxCrossEntropyLoss node: cannot train its class weights; make them constants");
}

TEST(LossOp, TrainsThroughTheLogarithmsOfTheProbabilities) {
  const Value target = labels({3, 2}, {0, 2, 1, 1, 3, 0});
  GradientCheck("SoftmaxCrossEntropyLoss", {noise({3, 4, 2}, 1), target}, {}, 2).run();
  GradientCheck("SoftmaxCrossEntropyLoss", {noise({3, 4, 2}, 1), target},
                {{"reduction", std::string("none")}}, 2)
      .run();
}

}  // namespace
}  // namespace pipescope::ops_test
