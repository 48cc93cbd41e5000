// Half precision, loss scaling, accumulation, clipping and replicas, on models with known gradients: the loss
// is samples · w, so the gradient of w is the sample itself. The figures are the worked ones of the execution
// semantics, §5.1 to §5.9.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <set>

#include "engine/builders/builder.h"
#include "engine/compile/distributed_norm.h"
#include "engine/compile/loss_scaling.h"
#include "engine/compile/precision.h"
#include "engine/numerics/instances.h"
#include "engine/numerics/thread_pool.h"
#include "engine/ops/core/half.h"
#include "engine/ops/standard_operators.h"
#include "graph_testing.h"
#include "mnist_model.h"
#include "small_graphs.h"

namespace pipescope::numerics_test {
namespace {

using graph::ElementType;
using numerics::Keep;
using numerics::MeanStrategy;
using numerics::SessionOptions;

constexpr auto kOnes = graph::Initializer::Kind::ones;
constexpr auto kZeros = graph::Initializer::Kind::zeros;

/// loss = samples · w for n weights.
graph::Graph dotProduct(std::int64_t n, graph::Initializer::Kind start) {
  graph::Graph graph;
  const auto samples = graph.addTensor("samples", {ElementType::float32, {1, n}}, graph::TensorRole::input);
  graph.inputs = {samples};
  const auto w = graph.addParameter("w", {ElementType::float32, {n, 1}}, {start, 0, {}});
  graph.loss = appendStep(graph, "MatMul", "product", {samples, w})[0];
  return graph;
}

/// The training graph in a precision, with a loss scale unless it is 1.
graph::Graph training(const graph::Graph& forward, ElementType type, bool scaled) {
  auto half = compile::withPrecision(forward, type, ops::standardOperators());
  PIPESCOPE_CHECK(half.ok(), half.error().message);
  std::optional<graph::TensorId> root;
  if (scaled) {
    auto made = compile::scaleLoss(*half, 1, ops::standardOperators());
    PIPESCOPE_CHECK(made.ok(), made.error().message);
    *half = made->graph;
    root = made->root;
  }
  auto graph = compile::addGradients(*half, ops::standardOperators(), root);
  PIPESCOPE_CHECK(graph.ok(), graph.error().message);
  return *graph;
}

SessionOptions scaledBy(double scale) {
  SessionOptions options;
  options.lossScale.tensor = compile::kLossScaleTensor;
  options.lossScale.initial = scale;
  return options;
}

/// Values in the element type of the model's samples.
std::vector<std::byte> encoded(const std::vector<float>& values, ElementType type) {
  std::vector<std::byte> bytes(values.size() * static_cast<std::size_t>(graph::sizeOf(type)));
  const auto count = static_cast<std::int64_t>(values.size());
  if (type == ElementType::float32) std::memcpy(bytes.data(), values.data(), bytes.size());
  if (type == ElementType::float16)
    ops::narrow(values.data(), reinterpret_cast<ops::Float16*>(bytes.data()), count);
  if (type == ElementType::bfloat16)
    ops::narrow(values.data(), reinterpret_cast<ops::BFloat16*>(bytes.data()), count);
  return bytes;
}

void step(numerics::Session& session, const std::vector<float>& samples, ElementType type) {
  numerics::Results results;
  const std::vector<std::byte> bytes = encoded(samples, type);
  const base::Status status = session.trainStep({bytes}, Keep::none, results);
  ASSERT_TRUE(status.ok()) << status.error().message;
}

std::vector<double> halfWeights(const numerics::Session& session) {
  std::vector<double> values;
  for (const ops::Float16 each : numerics::valuesOf<ops::Float16>(session.parameters().bytes(0)))
    values.push_back(static_cast<double>(ops::widened(each)));
  return values;
}

TEST(StochasticRounding, MovesWhatRoundingToNearestLeaves) {
  // §5.1: 2⁻¹² added to 1.0 4,096 times, in float16, whose neighbours of 1 are 2⁻¹⁰ apart.
  base::SerialExecutor executor;
  const graph::Graph graph = training(dotProduct(64, kOnes), ElementType::float16, false);
  for (const bool stochastic : {false, true}) {
    SessionOptions options;
    options.stochasticRounding = stochastic;
    const auto trained = session(graph, optimizer("sgd", {{"learning_rate", 0x1p-12}}), executor, options);
    const std::vector<float> gradient(64, -1.0F);
    for (int i = 0; i < 4096; ++i) step(*trained, gradient, ElementType::float16);
    double mean = 0;
    for (const double w : halfWeights(*trained)) mean += w / 64;
    if (stochastic) {
      EXPECT_NEAR(mean, 2.0, 0.02);  // the standard deviation of the mean is 0.0034
    } else {
      EXPECT_EQ(mean, 1.0);
    }
  }
}

TEST(StochasticRounding, IsUnbiasedAndReplayable) {
  // §5.1: x = 1 + 2⁻¹² becomes 1 + 2⁻¹⁰ with a probability of ¼.
  base::SerialExecutor executor;
  const graph::Graph graph = training(dotProduct(8000, kOnes), ElementType::float16, false);
  std::vector<std::uint64_t> hashes;
  for (const std::uint64_t seed : {1U, 1U, 2U}) {
    SessionOptions options;
    options.stochasticRounding = true;
    options.seed = seed;
    const auto trained = session(graph, optimizer("sgd", {{"learning_rate", 0x1p-12}}), executor, options);
    step(*trained, std::vector<float>(8000, -1.0F), ElementType::float16);
    const std::vector<double> weights = halfWeights(*trained);
    const auto up = std::ranges::count(weights, 1 + 0x1p-10);
    EXPECT_EQ(up + std::ranges::count(weights, 1.0), 8000);
    EXPECT_NEAR(static_cast<double>(up), 2000, 160);  // four standard deviations
    hashes.push_back(trained->parameters().hash());
  }
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_NE(hashes[0], hashes[2]);
}

TEST(MasterWeights, KeepWhatHalfWeightsCannot) {
  base::SerialExecutor executor;
  const graph::Graph graph = training(dotProduct(2, kOnes), ElementType::float16, false);
  SessionOptions options;
  options.masterWeights = true;
  const auto trained = session(graph, optimizer("sgd", {{"learning_rate", 0x1p-12}}), executor, options);
  for (int i = 0; i < 8; ++i) step(*trained, {-1, 1}, ElementType::float16);
  EXPECT_EQ(halfWeights(*trained), (std::vector<double>{1 + 0x1p-9, 1 - 0x1p-9}));
  ASSERT_EQ(trained->updater()->state().size(), 1U);
  EXPECT_EQ(trained->updater()->state()[0].name, "w/master");
}

TEST(LossScaling, SavesGradientsThatHalfCannotHold) {
  // §5.2: a gradient of 2·10⁻⁸ is 0 in float16; scaled by 1,024 it comes through as 2.0023·10⁻⁸.
  base::SerialExecutor executor;
  graph::Graph forward;
  const auto samples = forward.addTensor("samples", {ElementType::float16, {1, 1}}, graph::TensorRole::input);
  forward.inputs = {samples};
  const auto w = forward.addParameter("w", {ElementType::float16, {1, 1}}, {kZeros, 0, {}});
  const auto product = appendStep(forward, "MatMul", "product", {samples, w});
  const auto wide = appendStep(forward, "Cast", "wide", product, {{"to", std::int64_t{1}}});
  const auto small =
      forward.addConstant("small", {ElementType::float32, {}}, encoded({2e-8F}, ElementType::float32));
  forward.loss = appendStep(forward, "Mul", "loss", {wide[0], small})[0];
  const auto master = [&](const graph::Graph& graph, SessionOptions options) {
    options.masterWeights = true;
    const auto trained = session(graph, optimizer("sgd", {{"learning_rate", 1}}), executor, options);
    step(*trained, {1}, ElementType::float16);
    return static_cast<double>(numerics::valuesOf<float>(trained->updater()->state()[0].bytes)[0]);
  };
  EXPECT_EQ(master(training(forward, ElementType::float32, false), {}), 0);
  EXPECT_NEAR(master(training(forward, ElementType::float32, true), scaledBy(1024)), -2.0023e-8, 1e-12);
}

TEST(LossScaling, ReportsTheLossAsItIs) {
  base::SerialExecutor executor;
  const auto trained = session(training(dotProduct(2, kOnes), ElementType::float32, true),
                               optimizer("sgd", {{"learning_rate", 0.5}}), executor, scaledBy(3));
  numerics::Results results;
  const std::vector<float> samples{2, 5};
  ASSERT_TRUE(trained->trainStep({numerics::rowsOf(std::span(samples))}, Keep::none, results).ok());
  EXPECT_EQ(results.losses, (std::vector<float>{7}));
  EXPECT_NEAR(trained->parameters().floats(0)[0], 0, 1e-6);
  EXPECT_NEAR(trained->parameters().floats(0)[1], -1.5, 1e-6);
}

TEST(LossScaling, AdaptsToLargeGradients) {
  // §5.3: elements above 8,188 halve the scale, none double it.
  base::SerialExecutor executor;
  SessionOptions options = scaledBy(1);
  options.lossScale.automatic = true;
  const graph::Graph graph = training(dotProduct(4, kZeros), ElementType::float16, true);
  auto trained = session(graph, optimizer("sgd", {{"learning_rate", 0}}), executor, options);
  std::vector<double> scales;
  for (int i = 0; i < 4; ++i) {
    step(*trained, {10000, 1, 1, 1}, ElementType::float16);
    scales.push_back(trained->updater()->lossScale().value());
  }
  EXPECT_EQ(scales, (std::vector<double>{0.5, 1, 0.5, 1}));
  // Only what exceeds an eighth of the largest float16 number is large.
  trained = session(graph, optimizer("sgd", {{"learning_rate", 0}}), executor, options);
  step(*trained, {8188, 1, 1, 1}, ElementType::float16);
  EXPECT_EQ(trained->updater()->lossScale().value(), 2);
  // Counts add up over micro-batches and over the updates of a period. One large element of 400 is a quarter
  // of a percent.
  for (const double threshold : {0.002, 0.003}) {
    options.lossScale.period = 2;
    options.lossScale.threshold = threshold;
    trained = session(training(dotProduct(100, kZeros), ElementType::float16, true),
                      optimizer("sgd", {{"learning_rate", 0}}), executor, options);
    std::vector<float> samples(200, 1.0F);
    samples[150] = 9000;
    step(*trained, samples, ElementType::float16);
    EXPECT_EQ(trained->updater()->lossScale().value(), 1);
    samples[150] = 1;
    step(*trained, samples, ElementType::float16);
    EXPECT_EQ(trained->updater()->lossScale().value(), threshold < 0.0025 ? 0.5 : 2);
  }
}

TEST(Accumulation, RunningMeansDoNotOverflow) {
  // §5.4: 1, 2, 6, 7 has the running means 1, 1.5, 3, 4. In float16 40,000 + 40,000 is infinite, but the
  // running mean is not.
  base::SerialExecutor executor;
  const auto trained = [&](const std::vector<float>& gradients, MeanStrategy strategy,
                           ElementType accumulator) {
    SessionOptions options;
    options.meanStrategy = strategy;
    options.accumulator = accumulator;
    const auto made = session(training(dotProduct(1, kZeros), ElementType::float32, false),
                              optimizer("sgd", {{"learning_rate", 1}}), executor, options);
    step(*made, gradients, ElementType::float32);
    return -static_cast<double>(made->parameters().floats(0)[0]);
  };
  for (const ElementType accumulator : {ElementType::float32, ElementType::float16}) {
    EXPECT_NEAR(trained({1, 2, 6, 7}, MeanStrategy::running, accumulator), 4, 2e-3);
    EXPECT_EQ(trained({1, 2, 6, 7}, MeanStrategy::post, accumulator), 4);
  }
  EXPECT_EQ(trained({40000, 40000}, MeanStrategy::running, ElementType::float16), 40000);
  EXPECT_TRUE(std::isinf(trained({40000, 40000}, MeanStrategy::post, ElementType::float16)));
  EXPECT_EQ(trained({40000, 40000}, MeanStrategy::post, ElementType::float32), 40000);
  // A half-precision accumulator rounds each sum: 2048 + 1 is 2048 there.
  EXPECT_EQ(trained({2048, 1, 1, 1}, MeanStrategy::post, ElementType::float16), 512);
  EXPECT_EQ(trained({2048, 1, 1, 1}, MeanStrategy::post, ElementType::float32), 512.75);
  // There is no accumulator where an update has one gradient, 1 + 2⁻¹².
  EXPECT_EQ(trained({1.000244140625F}, MeanStrategy::post, ElementType::float16), 1.000244140625);
}

TEST(Sgd, UnscalesAndDividesInTheOptimizer) {
  // §5.5: w = 1, v = 0, af = 4, ls = 128, Σ scaled g = 256, lr = .1, mm = .9, wd = .01: w = .949, then
  // .852151.
  base::SerialExecutor executor;
  const auto trained =
      session(training(dotProduct(1, kOnes), ElementType::float32, true),
              optimizer("sgd", {{"learning_rate", 0.1}, {"momentum", 0.9}, {"weight_decay", 0.01}}), executor,
              scaledBy(128));
  step(*trained, {0.25F, 0.75F, 0.5F, 0.5F}, ElementType::float32);
  EXPECT_NEAR(trained->parameters().floats(0)[0], 0.949, 1e-6);
  step(*trained, {0.5F, 0.5F, 0.5F, 0.5F}, ElementType::float32);
  EXPECT_NEAR(trained->parameters().floats(0)[0], 0.852151, 1e-6);
}

TEST(Clipping, BoundsTheNormOfAllGradients) {
  base::SerialExecutor executor;
  SessionOptions options;
  options.clipNorm = 1;
  const auto trained = session(training(dotProduct(2, kZeros), ElementType::float32, false),
                               optimizer("sgd", {{"learning_rate", 1}}), executor, options);
  step(*trained, {6, 8, 0, 0}, ElementType::float32);  // two micro-batches, mean (3, 4)
  EXPECT_NEAR(trained->updater()->gradientNorm(), 5, 1e-6);
  EXPECT_NEAR(trained->parameters().floats(0)[0], -0.6, 1e-6);
  EXPECT_NEAR(trained->parameters().floats(0)[1], -0.8, 1e-6);
  step(*trained, {0.3F, 0.4F}, ElementType::float32);  // below the bound: as it is
  EXPECT_NEAR(trained->parameters().floats(0)[0], -0.9, 1e-6);
}

TEST(Decay, LeavesOutVectors) {
  base::SerialExecutor executor;
  SessionOptions options;
  options.decayVectors = false;
  const auto trained = session(
      mnistTraining(2), optimizer("sgd", {{"learning_rate", 1}, {"weight_decay", 1}}), executor, options);
  const auto all =
      session(mnistTraining(2), optimizer("sgd", {{"learning_rate", 1}, {"weight_decay", 1}}), executor);
  const auto none = session(mnistTraining(2), optimizer("sgd", {{"learning_rate", 1}}), executor);
  Batch batch;
  appendRows(batch, 5, 2);
  numerics::Results results;
  for (const auto& each : {std::cref(trained), std::cref(all), std::cref(none)})
    ASSERT_TRUE(each.get()->trainStep(batch.rows(), Keep::none, results).ok());
  const std::size_t weight = trained->parameters().find("layer1/conv/weight"),
                    bias = trained->parameters().find("layer1/conv/bias");
  const auto values = [](const numerics::Session& session, std::size_t index) {
    const auto floats = session.parameters().floats(index);
    return std::vector<float>(floats.begin(), floats.end());
  };
  EXPECT_EQ(values(*trained, weight), values(*all, weight));
  EXPECT_EQ(values(*trained, bias), values(*none, bias));
  EXPECT_NE(values(*all, bias), values(*none, bias));
}

/// The largest difference between weights.
double distance(const numerics::Session& a, const numerics::Session& b) {
  double most = 0;
  for (std::size_t w = 0; w < a.parameters().count(); ++w) {
    for (std::size_t i = 0; i < a.parameters().floats(w).size(); ++i)
      most = std::max(
          most, static_cast<double>(std::abs(a.parameters().floats(w)[i] - b.parameters().floats(w)[i])));
  }
  return most;
}

TEST(Replicas, EqualAccumulationAndLargeBatches) {
  // §4.1: R replicas with batch b = G·R accumulation of b = batch b·G·R, up to rounding.
  numerics::ThreadPool pool(2);
  Batch batch;
  appendRows(batch, 3, 24);
  numerics::Results results;
  std::vector<std::unique_ptr<numerics::Session>> sessions;
  for (const auto& [microBatch, replicas] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{3, 1}, {3, 2}, {3, 4}, {3, 8}, {24, 1}}) {
    SessionOptions options;
    options.replicas = replicas;
    sessions.push_back(
        session(mnistTraining(microBatch), optimizer("sgd", {{"learning_rate", 0.1}}), pool, options));
    ASSERT_TRUE(sessions.back()->trainStep(batch.rows(), Keep::none, results).ok());
    EXPECT_LT(distance(*sessions.front(), *sessions.back()), 1e-6) << microBatch << " x " << replicas;
  }
  SessionOptions three;
  three.replicas = 3;
  const auto odd = session(mnistTraining(3), optimizer("sgd"), pool, three);
  EXPECT_EQ(odd->trainStep(batch.rows(), Keep::none, results).error().message,
            "8 micro-batches do not divide by 3 replicas");
}

TEST(Replicas, AreTheSameBitsForAnyNumberOfThreadsAndMemory) {
  Batch batch;
  appendRows(batch, 3, 24);
  numerics::Results results;
  std::vector<std::uint64_t> hashes;
  for (const std::size_t threads : {1U, 2U, 3U}) {
    numerics::ThreadPool pool(threads);
    SessionOptions options;
    options.replicas = 4;
    options.gradientBytes = threads == 2 ? 0 : options.gradientBytes;
    const auto trained = session(mnistTraining(3), optimizer("lamb"), pool, options);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(trained->trainStep(batch.rows(), Keep::none, results).ok());
    hashes.push_back(trained->parameters().hash());
  }
  EXPECT_EQ(hashes[1], hashes[0]);
  EXPECT_EQ(hashes[2], hashes[0]);
}

TEST(LossScaling, StaysWithinWhatFloat32Holds) {
  const auto after = [](double initial, std::int64_t above) {
    numerics::LossScale scale({.tensor = "scale", .initial = initial, .automatic = true});
    scale.update(above, 10 - above);
    return scale.value();
  };
  EXPECT_EQ(after(0x1p-23, 10), 0x1p-24);
  EXPECT_EQ(after(0x1p-24, 10), 0x1p-24) << "the least";
  EXPECT_EQ(after(0x1p+59, 0), 0x1p+60);
  EXPECT_EQ(after(0x1p+60, 0), 0x1p+60) << "the most";
}

/// Batch norm of one channel before a layer with two scores.
graph::Graph normModel(std::int64_t batch) {
  graph::Graph graph;
  const auto samples =
      graph.addTensor("samples", {ElementType::float32, {batch, 1}}, graph::TensorRole::input);
  const auto labels = graph.addTensor("labels", {ElementType::int32, {batch}}, graph::TensorRole::input);
  graph.inputs = {samples, labels};
  const auto vector = [&](const char* name, graph::Initializer::Kind kind) {
    return graph.addParameter(name, {ElementType::float32, {1}}, {kind, 0, {}});
  };
  const auto mean = vector("mean", kZeros), variance = vector("variance", kOnes);
  const auto y = appendStep(graph, "BatchNormalization", "norm",
                            {samples, vector("scale", kOnes), vector("bias", kZeros), mean, variance},
                            {{"training_mode", std::int64_t{1}}, {"momentum", 0.75}, {"epsilon", 1e-5}}, 3);
  graph.stateUpdates = {{mean, y[1], 0.75, 1},
                        {variance, y[2], 0.75, static_cast<double>(batch) / static_cast<double>(batch - 1)}};
  const auto weight =
      graph.addParameter("w", {ElementType::float32, {2, 1}}, {graph::Initializer::Kind::uniform, 1, {}});
  graph.outputs = appendStep(graph, "Gemm", "scores", {y[0], weight}, {{"transB", std::int64_t{1}}});
  graph.loss = appendStep(graph, "SoftmaxCrossEntropyLoss", "loss", {graph.outputs[0], labels})[0];
  return graph;
}

TEST(BatchNorm, MovesItsStatisticsInOrder) {
  base::SerialExecutor serial;
  numerics::ThreadPool pool(3);
  Batch batch{{1, 2, 5, 8}, {0, 1, 1, 0}};
  for (base::Executor* executor : std::initializer_list<base::Executor*>{&serial, &pool}) {
    const auto trained =
        session(withGradients(normModel(2)), optimizer("sgd", {{"learning_rate", 0}}), *executor);
    numerics::Results results;
    ASSERT_TRUE(trained->trainStep(batch.rows(), Keep::none, results).ok());
    // (1,2): mean 1.5, unbiased variance .5; then (5,8): 6.5 and 4.5.
    EXPECT_NEAR(trained->parameters().floats(trained->parameters().find("mean"))[0],
                0.75 * 0.375 + 0.25 * 6.5, 1e-6);
    EXPECT_NEAR(trained->parameters().floats(trained->parameters().find("variance"))[0],
                0.75 * (0.75 + 0.125) + 0.25 * 4.5, 1e-6);
  }
}

TEST(BatchNorm, IsDistributedOverReplicas) {
  // §5.9: replicas hold (1,2) and (5,8): mean 4, variance 7.5, unbiased 10; as one batch of four.
  numerics::ThreadPool pool(2);
  Batch batch{{1, 2, 5, 8}, {0, 1, 1, 0}};
  numerics::Results whole, parts;
  const auto one = session(withGradients(normModel(4)), optimizer("sgd", {{"learning_rate", 0.5}}), pool);
  ASSERT_TRUE(one->trainStep(batch.rows(), Keep::all, whole).ok());
  SessionOptions options;
  options.replicas = 2;
  const auto two =
      session(withGradients(compile::distributeBatchNorm(normModel(2), 2, ops::standardOperators())),
              optimizer("sgd", {{"learning_rate", 0.5}}), pool, options);
  ASSERT_TRUE(two->trainStep(batch.rows(), Keep::all, parts).ok());
  EXPECT_LT(distance(*one, *two), 2e-6);
  EXPECT_NEAR(two->parameters().floats(two->parameters().find("mean"))[0], 0.25 * 4, 1e-6);
  EXPECT_NEAR(two->parameters().floats(two->parameters().find("variance"))[0], 0.75 + 0.25 * 10, 1e-5);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(parts.output<float>(0)[i], whole.output<float>(0)[i], 1e-5);
  // Two groups of two among four replicas do not exchange values with each other.
  options.replicas = 4;
  const auto four =
      session(withGradients(compile::distributeBatchNorm(normModel(2), 2, ops::standardOperators())),
              optimizer("sgd", {{"learning_rate", 0.5}}), pool, options);
  Batch more{{1, 2, 5, 8, 30, 40, 50, 70}, {0, 1, 1, 0, 0, 1, 1, 0}};
  ASSERT_TRUE(four->trainStep(more.rows(), Keep::all, parts).ok());
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(parts.output<float>(0)[i], whole.output<float>(0)[i], 1e-5);
}

TEST(BatchNorm, RefusesGroupsThatDoNotDivide) {
  base::SerialExecutor executor;
  const auto graph = withGradients(compile::distributeBatchNorm(normModel(2), 2, ops::standardOperators()));
  SessionOptions options;
  options.replicas = 3;
  const auto made =
      numerics::Session::create(graph, ops::standardOperators(), optimizer("sgd"), executor, options);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message,
            "norm/moments sums over groups of 2 replicas, but there are 3; they must divide into groups");
  EXPECT_EQ(compile::distributeBatchNorm(normModel(2), 0, ops::standardOperators()).error().message,
            "a batch norm over 0 replicas; give at least 1");
  options.replicas = 0;
  EXPECT_EQ(numerics::Session::create(mnistTraining(2), ops::standardOperators(), optimizer("sgd"), executor,
                                      options)
                .error()
                .message,
            "0 replicas in one process; give 1 to 64");
}

TEST(Precision, TrainsInEveryType) {
  numerics::ThreadPool pool(2);
  std::vector<double> losses;
  for (const ElementType type : {ElementType::float32, ElementType::float16, ElementType::bfloat16}) {
    const graph::Graph graph = training(mnistForward(10, true), type, true);
    EXPECT_EQ(graph.tensor(*graph.loss).type.element, ElementType::float32);
    EXPECT_EQ(graph.tensor(graph.inputs[0]).type.element, type);
    for (const auto& [parameter, gradient] : graph.parameterGradients)
      EXPECT_EQ(graph.tensor(gradient).type.element, type);
    SessionOptions options = scaledBy(16);
    options.stochasticRounding = true;
    const auto trained = session(graph, optimizer("adamw"), pool, options);
    Batch batch;
    appendRows(batch, 5, 20);
    const std::vector<std::byte> samples = encoded(batch.samples, type);
    numerics::Results results;
    for (int i = 0; i < 60; ++i)
      ASSERT_TRUE(trained->trainStep({samples, batch.rows()[1]}, Keep::none, results).ok());
    losses.push_back(static_cast<double>(results.losses[0] + results.losses[1]) / 2);
    EXPECT_LT(losses.back(), 0.7) << graph::toString(type);
  }
  EXPECT_NEAR(losses[1], losses[0], 0.3);
}

/// Losses of two steps of a small BERT with dropout.
std::vector<float> dropoutLosses(base::Executor& executor, std::uint64_t seed, std::int64_t replicas = 1) {
  SessionOptions options;
  options.seed = seed;
  options.replicas = replicas;
  const auto trained =
      session(withGradients(bertWithDropout(1)), optimizer("sgd", {{"learning_rate", 0}}), executor, options);
  // The four micro-batches are equal, so only the masks differ.
  const std::vector<std::int32_t> tokens{1, 5, 2, 8, 1, 5, 2, 8, 1, 5, 2, 8, 1, 5, 2, 8},
      labels{0, 3, 0, 3, 0, 3, 0, 3};
  std::vector<float> losses;
  numerics::Results results;
  for (int i = 0; i < 2; ++i) {
    const base::Status status = trained->trainStep(
        {numerics::rowsOf(std::span(tokens)), numerics::rowsOf(std::span(labels))}, Keep::none, results);
    PIPESCOPE_CHECK(status.ok(), status.error().message);
    losses.insert(losses.end(), results.losses.begin(), results.losses.end());
  }
  return losses;
}

TEST(Dropout, ReplaysItsMasks) {
  base::SerialExecutor serial;
  numerics::ThreadPool pool(3);
  const std::vector<float> losses = dropoutLosses(serial, 1);
  EXPECT_EQ(dropoutLosses(pool, 1), losses);
  EXPECT_NE(dropoutLosses(serial, 2), losses);
  // Masks differ between micro-batches, updates and replicas.
  EXPECT_EQ(std::set<float>(losses.begin(), losses.end()).size(), 8U);
  const std::vector<float> replicas = dropoutLosses(serial, 1, 4);
  EXPECT_EQ(std::set<float>(replicas.begin(), replicas.end()).size(), 8U);
  EXPECT_EQ(replicas[0], losses[0]) << "the first replica's first micro-batch is the only one's";
}

/// The second of two processes that share a training. Its sums stay its own.
class SecondInstance : public numerics::Instances {
 public:
  int count() const override { return 2; }
  int index() const override { return 1; }
  std::string host(int) const override { return "here"; }
  double waitedSeconds() const override { return 0; }
  void sumInOrder(std::span<const std::span<float>>) const override {}
  std::int64_t sum(std::int64_t value) const override { return value; }
  void broadcast(std::span<std::byte>) const override {}
  std::vector<std::byte> gather(std::span<const std::byte> bytes) const override {
    return {bytes.begin(), bytes.end()};
  }
};

/// Two processes of two replicas draw what one process of four replicas draws.
TEST(Dropout, CountsTheReplicasOfEarlierInstances) {
  base::SerialExecutor serial;
  const std::vector<float> all = dropoutLosses(serial, 1, 4);
  SessionOptions options;
  options.seed = 1;
  options.replicas = 2;
  options.instances = std::make_shared<SecondInstance>();
  const auto second =
      session(withGradients(bertWithDropout(1)), optimizer("sgd", {{"learning_rate", 0}}), serial, options);
  const std::vector<std::int32_t> tokens{1, 5, 2, 8, 1, 5, 2, 8}, labels{0, 3, 0, 3};
  numerics::Results results;
  ASSERT_TRUE(second
                  ->trainStep({numerics::rowsOf(std::span(tokens)), numerics::rowsOf(std::span(labels))},
                              Keep::none, results)
                  .ok());
  EXPECT_EQ(results.losses, (std::vector<float>{all[2], all[3]}));
}

std::vector<std::byte> bytesOf(const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

TEST(Precision, ScalesThatOnnxDefinesAsFloatStayWide) {
  for (const ElementType type : {ElementType::float16, ElementType::bfloat16}) {
    graph::Graph forward;
    const auto samples =
        forward.addTensor("samples", {ElementType::float32, {1, 1, 1, 10}}, graph::TensorRole::input);
    forward.inputs = {samples};
    // 1.1 in either type is less, so that 10 elements would become 10, not 11.
    const auto scales = forward.addConstant("scales", {ElementType::float32, {4}}, bytesOf({1, 1, 1, 1.1F}));
    const auto step = forward.addConstant("step", {ElementType::float32, {}}, bytesOf({0.1F}));
    const auto resized = appendStep(forward, "Resize", "resize", {samples, {}, scales})[0];
    const auto bytes = appendStep(forward, "QuantizeLinear", "quantize", {resized, step})[0];
    const auto back = appendStep(forward, "DequantizeLinear", "dequantize", {bytes, step})[0];
    forward.outputs = {appendStep(forward, "Relu", "relu", {back})[0]};
    const auto half = compile::withPrecision(forward, type, ops::standardOperators());
    ASSERT_TRUE(half.ok()) << half.error().message;
    const graph::TensorType& result = half->tensor(half->outputs[0]).type;
    EXPECT_EQ(result.element, type);
    EXPECT_EQ(result.shape, (graph::Shape{1, 1, 1, 11}));
    for (const graph::Node& node : half->nodes()) {
      if (node.op == "Resize") {
        EXPECT_EQ(half->tensor(node.outputs[0]).type.element, type);
      }
    }
  }
}

TEST(Precision, RefusesGraphsWithinNodes) {
  graph::Graph forward = dotProduct(1, kOnes);
  graph::Node node = forward.nodes()[0];
  graph::Graph outer;
  node.attributes["body"] = std::make_shared<const graph::Graph>(forward);
  node.inputs.clear();
  node.outputs.clear();
  outer.addNode(node);
  EXPECT_EQ(
      compile::withPrecision(outer, ElementType::float16, ops::standardOperators()).error().message,
      "Node product holds a graph of its own (MatMul), which cannot be computed in float16: use float32.");
  EXPECT_EQ(compile::scaleLoss({}, 2, ops::standardOperators()).error().message,
            "the model has no loss to scale; add one such as cross_entropy");
}

}  // namespace
}  // namespace pipescope::numerics_test
