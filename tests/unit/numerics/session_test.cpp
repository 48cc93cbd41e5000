#include "engine/numerics/session.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "engine/numerics/thread_pool.h"
#include "engine/ops/standard_operators.h"
#include "mnist_model.h"

namespace pipescope::numerics_test {
namespace {

using numerics::Keep;
using numerics::Results;

/// Runs indices from the last to the first, which no pool does.
class BackwardsExecutor : public base::Executor {
 public:
  std::size_t threads() const override { return 1; }
  void parallelFor(std::size_t count, const std::function<void(std::size_t)>& body) override {
    while (count-- > 0) body(count);
  }
};

TEST(Session, EqualsPyTorch) {
  std::ifstream file(std::string(PIPESCOPE_TEST_DATA) + "/mnist_adamw.golden");
  ASSERT_TRUE(file);
  base::SerialExecutor executor;
  const auto trained = session(mnistTraining(4), optimizer("adamw"), executor);
  numerics::Parameters& weights = trained->parameters();
  for (std::size_t i = 0; i < weights.count(); ++i) {
    const std::vector<double> values = lcg(static_cast<std::uint32_t>(1000 + i), weights.floats(i).size());
    std::ranges::transform(values, weights.floats(i).begin(),
                           [](double v) { return static_cast<float>(v * 0.25 - 0.125); });
  }
  Results results;
  std::string line;
  int step = 0, checked = 0;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "losses") {
      Batch batch;
      for (int k = 0; k < 3; ++k) appendRows(batch, static_cast<std::uint32_t>(7 + step * 3 + k), 4);
      ASSERT_TRUE(trained->trainStep(batch.rows(), Keep::last, results).ok());
      for (const float loss : results.losses) {
        double expected = 0;
        words >> expected;
        EXPECT_NEAR(static_cast<double>(loss), expected, 2e-5) << "step " << step;
      }
      ++step;
    } else if (kind == "weight") {
      std::string name;
      double sum = 0, magnitude = 0, first = 0, ownSum = 0, ownMagnitude = 0;
      words >> name >> sum >> magnitude >> first;
      const std::span<const float> values = weights.floats(weights.find(name));
      for (const float v : values) {
        ownSum += static_cast<double>(v);
        ownMagnitude += static_cast<double>(std::abs(v));
      }
      EXPECT_NEAR(ownSum, sum, 2e-6 * magnitude) << name;
      EXPECT_NEAR(ownMagnitude, magnitude, 2e-6 * magnitude) << name;
      EXPECT_NEAR(static_cast<double>(values[0]), first, 1e-5) << name;
      ++checked;
    } else {
      for (const float score : results.output<float>(0)) {
        double expected = 0;
        words >> expected;
        EXPECT_NEAR(static_cast<double>(score), expected, 5e-5);
      }
      ++checked;
    }
  }
  EXPECT_EQ(step, 5);
  EXPECT_EQ(checked, 9);
}

struct Outcome {
  std::vector<float> losses, scores;
  std::uint64_t hash = 0;
  bool operator==(const Outcome&) const = default;
};

Outcome trainFew(base::Executor& executor, numerics::SessionOptions options = {}, std::size_t shift = 0) {
  const auto trained = session(mnistTraining(6), optimizer("adamw"), executor, options);
  Outcome outcome;
  Results results;
  for (std::uint32_t step = 0; step < 3; ++step) {
    Batch batch;
    batch.samples.assign(shift, 0.0F);
    for (std::uint32_t k = 0; k < 7; ++k) appendRows(batch, 100 * step + k, 6);
    numerics::Rows rows = batch.rows();
    rows[0] = rows[0].subspan(shift * sizeof(float));
    const base::Status status = trained->trainStep(rows, Keep::all, results);
    PIPESCOPE_CHECK(status.ok(), status.error().message);
    outcome.losses.insert(outcome.losses.end(), results.losses.begin(), results.losses.end());
    outcome.scores.insert(outcome.scores.end(), results.output<float>(0).begin(),
                          results.output<float>(0).end());
  }
  outcome.hash = trained->parameters().hash();
  return outcome;
}

TEST(Session, IsTheSameBitsForAnyNumberOfThreads) {
  base::SerialExecutor serial;
  const Outcome reference = trainFew(serial);
  EXPECT_EQ(reference.losses.size(), 21U);
  EXPECT_EQ(reference.scores.size(), 3U * 7 * 6 * 10);
  for (const std::size_t threads : {1U, 2U, 3U}) {
    numerics::ThreadPool pool(threads);
    EXPECT_EQ(trainFew(pool), reference) << threads;
  }
  BackwardsExecutor backwards;
  EXPECT_EQ(trainFew(backwards), reference);
}

TEST(Session, IsTheSameBitsForAnyMemoryAndAddress) {
  base::SerialExecutor serial;
  const Outcome reference = trainFew(serial);
  numerics::ThreadPool pool(3);
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{2} << 20}) {
    numerics::SessionOptions options;
    options.gradientBytes = bytes;
    EXPECT_EQ(trainFew(serial, options), reference) << bytes;
    EXPECT_EQ(trainFew(pool, options), reference) << bytes;
  }
  EXPECT_EQ(trainFew(serial, {}, 1), reference);
  EXPECT_EQ(trainFew(serial, {}, 7), reference);
}

TEST(Session, SeedsDecideTheWeights) {
  base::SerialExecutor executor;
  const auto hash = [&](std::uint64_t seed, std::int64_t microBatch) {
    numerics::SessionOptions options;
    options.seed = seed;
    return session(mnistTraining(microBatch), optimizer("sgd"), executor, options)->parameters().hash();
  };
  EXPECT_EQ(hash(1, 4), hash(1, 4));
  EXPECT_EQ(hash(1, 4), hash(1, 8)) << "the micro-batch size must not matter";
  EXPECT_NE(hash(1, 4), hash(2, 4));
}

TEST(Session, AccumulationEqualsOneLargeBatch) {
  base::SerialExecutor executor;
  Batch batch;
  appendRows(batch, 3, 12);
  Results results;
  std::vector<std::unique_ptr<numerics::Session>> sessions;
  for (const std::int64_t microBatch : {3, 4, 12}) {
    sessions.push_back(
        session(mnistTraining(microBatch), optimizer("sgd", {{"learning_rate", 0.1}}), executor));
    ASSERT_TRUE(sessions.back()->trainStep(batch.rows(), Keep::none, results).ok());
    EXPECT_EQ(results.losses.size(), static_cast<std::size_t>(12 / microBatch));
  }
  for (std::size_t w = 0; w < sessions[0]->parameters().count(); ++w) {
    for (std::size_t i = 0; i < sessions[0]->parameters().floats(w).size(); ++i) {
      ASSERT_NEAR(sessions[0]->parameters().floats(w)[i], sessions[2]->parameters().floats(w)[i], 1e-6);
      ASSERT_NEAR(sessions[1]->parameters().floats(w)[i], sessions[2]->parameters().floats(w)[i], 1e-6);
    }
  }
}

TEST(Session, SumOfGradientsIsMeanTimesMicroBatches) {
  base::SerialExecutor executor;
  Batch batch;
  appendRows(batch, 3, 8);
  numerics::SessionOptions sum;
  sum.meanGradient = false;
  const auto summed = session(mnistTraining(2), optimizer("sgd", {{"learning_rate", 0.01}}), executor, sum);
  const auto mean = session(mnistTraining(2), optimizer("sgd", {{"learning_rate", 0.04}}), executor);
  Results results;
  ASSERT_TRUE(summed->trainStep(batch.rows(), Keep::none, results).ok());
  ASSERT_TRUE(mean->trainStep(batch.rows(), Keep::none, results).ok());
  for (std::size_t i = 0; i < 250; ++i)
    ASSERT_NEAR(summed->parameters().floats(0)[i], mean->parameters().floats(0)[i], 1e-6);
}

TEST(Session, LearnsWhatItSees) {
  numerics::ThreadPool pool(2);
  const auto trained = session(mnistTraining(10), optimizer("adamw"), pool);
  Batch batch;
  appendRows(batch, 5, 40);
  Results results;
  ASSERT_TRUE(trained->trainStep(batch.rows(), Keep::none, results).ok());
  EXPECT_NEAR(results.losses[0], std::log(10.0), 0.2);
  for (int i = 0; i < 120; ++i) ASSERT_TRUE(trained->trainStep(batch.rows(), Keep::none, results).ok());
  for (const float loss : results.losses) EXPECT_LT(loss, 0.05F);
  EXPECT_EQ(trained->steps(), 121);
}

TEST(Session, InfersWithTrainedWeights) {
  base::SerialExecutor serial;
  numerics::ThreadPool pool(2);
  const auto trained = session(mnistTraining(4), optimizer("adamw"), serial);
  Batch batch;
  appendRows(batch, 9, 24);
  Results training, results;
  ASSERT_TRUE(trained->trainStep(batch.rows(), Keep::none, training).ok());
  numerics::SessionOptions other;
  other.seed = 77;
  const auto inference = session(mnistForward(8, false), nullptr, pool, other);
  EXPECT_NE(inference->parameters().hash(), trained->parameters().hash());
  ASSERT_TRUE(inference->parameters().assignFrom(trained->parameters()).ok());
  EXPECT_EQ(inference->parameters().hash(), trained->parameters().hash());
  const numerics::Rows samples{batch.rows()[0]};
  ASSERT_TRUE(inference->infer(samples, Keep::all, results).ok());
  EXPECT_TRUE(results.losses.empty());
  const std::vector<float> all(results.output<float>(0).begin(), results.output<float>(0).end());
  ASSERT_EQ(all.size(), 240U);
  ASSERT_TRUE(inference->infer(samples, Keep::last, results).ok());
  EXPECT_EQ(std::vector<float>(results.output<float>(0).begin(), results.output<float>(0).end()),
            std::vector<float>(all.end() - 80, all.end()));
  ASSERT_TRUE(inference->infer(samples, Keep::none, results).ok());
  EXPECT_TRUE(results.outputs[0].empty());
  // The forward pass of the next step has the same weights and therefore the same scores, whatever the
  // micro-batch size.
  ASSERT_TRUE(trained->trainStep(batch.rows(), Keep::all, training).ok());
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_NEAR(training.output<float>(0)[i], all[i], 1e-5);
}

TEST(Session, SavedWeightsBringTheSameStepsBack) {
  base::SerialExecutor executor;
  const auto trained = session(mnistTraining(4), optimizer("sgd"), executor);
  Batch batch;
  appendRows(batch, 9, 8);
  Results results;
  const numerics::Parameters saved = trained->parameters();
  ASSERT_TRUE(trained->trainStep(batch.rows(), Keep::none, results).ok());
  const std::vector<float> losses = results.losses;
  const std::uint64_t hash = trained->parameters().hash();
  EXPECT_NE(saved.hash(), hash);
  ASSERT_TRUE(trained->parameters().assignFrom(saved).ok());
  ASSERT_TRUE(trained->trainStep(batch.rows(), Keep::none, results).ok());
  EXPECT_EQ(results.losses, losses);
  EXPECT_EQ(trained->parameters().hash(), hash);
}

TEST(Session, HandsNanAndInfinityOn) {
  base::SerialExecutor executor;
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const auto trained = session(mnistTraining(2), optimizer("adamw"), executor);
    Batch batch;
    appendRows(batch, 9, 6);
    Results results;
    ASSERT_TRUE(trained->trainStep(batch.rows(), Keep::none, results).ok());
    EXPECT_TRUE(results.lossesFinite());
    batch.samples[2 * 784 + 300] = bad;
    ASSERT_TRUE(trained->trainStep(batch.rows(), Keep::none, results).ok());
    EXPECT_FALSE(results.lossesFinite());
    EXPECT_TRUE(std::isfinite(results.losses[0]));
    EXPECT_FALSE(std::isfinite(results.losses[1]));
    EXPECT_TRUE(std::isfinite(results.losses[2]));
  }
}

TEST(Session, RefusesBadLabelsAndKeepsItsWeights) {
  numerics::ThreadPool pool(2);
  const auto trained = session(mnistTraining(2), optimizer("adamw"), pool);
  Batch batch;
  appendRows(batch, 9, 8);
  batch.labels[5] = 10;
  batch.labels[6] = 11;
  Results results;
  const std::uint64_t hash = trained->parameters().hash();
  const base::Status status = trained->trainStep(batch.rows(), Keep::none, results);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message,
            "SoftmaxCrossEntropyLoss loss: label 10 in row 1 is not one of the 10 classes (0 to 9); check "
            "the labels or the last layer");
  EXPECT_EQ(trained->parameters().hash(), hash);
  EXPECT_EQ(trained->steps(), 0);
}

TEST(Session, RefusesRowsThatDoNotDivide) {
  base::SerialExecutor executor;
  const auto trained = session(mnistTraining(4), optimizer("adamw"), executor);
  Results results;
  Batch batch;
  appendRows(batch, 9, 8);
  const auto refusal = [&](const numerics::Rows& rows) {
    return trained->trainStep(rows, Keep::none, results).error().message;
  };
  const numerics::Rows good = batch.rows();
  EXPECT_EQ(refusal({good[0]}), "the model takes 2 inputs, but 1 were given");
  EXPECT_EQ(refusal({good[0].first(7 * 784 * 4), good[1]}),
            "input samples: 21952 bytes are not a whole number of micro-batches of 4x1x28x28 float32 (12544 "
            "bytes)");
  EXPECT_EQ(
      refusal({good[0].first(0), good[1]}),
      "input samples: 0 bytes are not a whole number of micro-batches of 4x1x28x28 float32 (12544 bytes)");
  EXPECT_EQ(refusal({good[0], good[1].first(16)}),
            "input labels holds 1 micro-batches, but input samples holds 2");
}

TEST(Session, RefusesTheWrongUse) {
  base::SerialExecutor executor;
  Results results;
  Batch batch;
  appendRows(batch, 9, 4);
  EXPECT_EQ(session(mnistTraining(4), optimizer("sgd"), executor)
                ->infer(batch.rows(), Keep::none, results)
                .error()
                .message,
            "this model was made for training; infer with one without gradients that takes over its weights");
  EXPECT_EQ(session(mnistForward(4, true), nullptr, executor)
                ->trainStep(batch.rows(), Keep::none, results)
                .error()
                .message,
            "this model was made for inference; training needs an optimizer and gradients");
  const auto create = [&](const graph::Graph& graph, std::unique_ptr<optimizers::Optimizer> rule) {
    return numerics::Session::create(graph, ops::standardOperators(), std::move(rule), executor)
        .error()
        .message;
  };
  EXPECT_EQ(create(mnistForward(4, true), optimizer("sgd")),
            "the model cannot be trained: it has no loss that depends on weights");
  EXPECT_EQ(create(mnistTraining(4), nullptr),
            "the model computes gradients, but there is no optimizer to use them");
  EXPECT_EQ(create({}, nullptr), "the model has no inputs");
  graph::Graph scalar;
  scalar.inputs = {scalar.addTensor("x", {graph::ElementType::float32, {}}, graph::TensorRole::input)};
  EXPECT_EQ(create(scalar, nullptr), "input x has no axes; its first axis must be the micro-batch");
  graph::Graph whole;
  whole.addParameter("w", {graph::ElementType::int32, {2}}, {});
  EXPECT_EQ(create(whole, nullptr), "weight w is 2 int32; weights can be float32, float16 or bfloat16");
}

TEST(Program, RefusesWhatItCannotPlace) {
  const auto refusal = [](const graph::Graph& graph) {
    return numerics::GraphProgram::create(graph, ops::standardOperators()).error().message;
  };
  graph::Graph empty;
  empty.inputs = {empty.addTensor("x", {graph::ElementType::float32, {0, 3}}, graph::TensorRole::input)};
  EXPECT_EQ(refusal(empty), "tensor x (0x3 float32) has no elements to compute");
  graph::Graph unlisted;
  unlisted.addTensor("x", {graph::ElementType::float32, {3}}, graph::TensorRole::input);
  EXPECT_EQ(refusal(unlisted), "input x is not among the graph's inputs");
  graph::Graph constant;
  constant.addTensor("c", {graph::ElementType::float32, {3}}, graph::TensorRole::constant);
  EXPECT_EQ(refusal(constant), "constant c has no value; without one the model cannot be computed");
}

TEST(Program, SaysWhichOperatorHasNoKernel) {
  ops::OperatorRegistry registry;
  ops::OperatorDefinition definition = *ops::standardOperators().find("Relu");
  definition.kernel = nullptr;
  registry.add(definition);
  graph::Graph graph;
  graph::Node node;
  node.op = "Relu";
  node.name = "relu";
  node.inputs = {graph.addTensor("x", {graph::ElementType::float32, {3}}, graph::TensorRole::input)};
  graph.inputs = node.inputs;
  ASSERT_TRUE(ops::appendNode(graph, node, {"y"}, graph::TensorRole::activation, registry).ok());
  EXPECT_EQ(numerics::GraphProgram::create(graph, registry).error().message,
            "node relu: operator Relu can be emulated, but not computed; run without numerics");
}

}  // namespace
}  // namespace pipescope::numerics_test
