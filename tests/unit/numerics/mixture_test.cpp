// A mixture-of-experts layer gives each token the weighted sum of its best experts, computed here token by
// token.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/builders/builder.h"
#include "engine/compile/gradients.h"
#include "engine/numerics/graph_program.h"
#include "engine/ops/standard_operators.h"
#include "mnist_model.h"

namespace pipescope::numerics_test {
namespace {

using Settings = std::map<std::string, builders::Setting>;
using Matrix = std::vector<float>;

constexpr std::size_t kTokens = 12, kWidth = 8, kInner = 6, kExperts = 4;

graph::Graph mixtureModel(const Settings& more, bool training) {
  Settings settings{{"layers", std::int64_t{1}},
                    {"hidden", static_cast<std::int64_t>(kWidth)},
                    {"heads", std::int64_t{2}},
                    {"feed_forward", static_cast<std::int64_t>(kInner)},
                    {"experts", static_cast<std::int64_t>(kExperts)},
                    {"sequence", static_cast<std::int64_t>(kTokens) / 2},
                    {"vocabulary", std::int64_t{11}},
                    {"activation", std::string("relu")},
                    {"norm", std::string("rms")}};
  for (const auto& [key, value] : more) settings[key] = value;
  auto built = builders::buildModel({"decoder", settings, 2, training}, ops::standardOperators());
  PIPESCOPE_CHECK(built.ok(), built.error().message);
  return *built;
}

/// Runs the graph with noise as weights and returns the wanted tensors by name.
std::map<std::string, Matrix> evaluate(graph::Graph graph, const std::vector<std::string>& wanted,
                                       std::map<std::string, Matrix>& weights) {
  graph.outputs.clear();
  for (const std::string& name : wanted)
    for (const graph::Tensor& tensor : graph.tensors())
      if (tensor.name == name) graph.outputs.push_back(tensor.id);
  PIPESCOPE_CHECK(graph.outputs.size() == wanted.size(), "a wanted tensor is missing");
  auto program = numerics::GraphProgram::create(graph, ops::standardOperators());
  PIPESCOPE_CHECK(program.ok(), program.error().message);
  std::uint32_t state = 7;
  const auto next = [&state] {
    state = state * 1664525U + 1013904223U;
    return static_cast<float>(state >> 8) / 8388608.0F - 1.0F;
  };
  for (const graph::TensorId id : program->weights()) {
    Matrix& values = weights[graph.tensor(id).name];
    values.resize(static_cast<std::size_t>(graph.tensor(id).type.elements()));
    for (float& value : values) value = next();
  }
  std::vector<std::int32_t> samples(kTokens), labels(kTokens);
  for (std::size_t i = 0; i < kTokens; ++i) {
    samples[i] = static_cast<std::int32_t>(i * 5 % 11);
    labels[i] = static_cast<std::int32_t>(i * 3 % 11);
  }
  std::vector<std::span<const std::byte>> inputs{std::as_bytes(std::span(samples))}, bound;
  if (graph.inputs.size() > 1) inputs.push_back(std::as_bytes(std::span(labels)));
  for (const graph::TensorId id : program->weights())
    bound.push_back(std::as_bytes(std::span(weights[graph.tensor(id).name])));
  numerics::Workspace workspace = program->makeWorkspace();
  const numerics::Bindings bindings{inputs, bound, {}, {}};
  const base::Status ran = program->run(bindings, workspace);
  PIPESCOPE_CHECK(ran.ok(), ran.error().message);
  std::map<std::string, Matrix> results;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto bytes = program->output(workspace, bindings, i);
    Matrix& values = results[wanted[i]];
    values.resize(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  return results;
}

/// y = W x for a weight of outputs × inputs.
std::vector<double> times(const float* weight, std::size_t outputs, const std::vector<double>& x) {
  std::vector<double> y(outputs, 0.0);
  for (std::size_t o = 0; o < outputs; ++o)
    for (std::size_t i = 0; i < x.size(); ++i) y[o] += static_cast<double>(weight[o * x.size() + i]) * x[i];
  return y;
}

struct Routed {
  std::vector<std::vector<double>> y;
  std::vector<double> share, probability;  // of each expert
};

/// The layer by its definition.
Routed byDefinition(const Matrix& x, const std::map<std::string, Matrix>& weights, std::size_t perToken,
                    bool sigmoid, bool normalised, double scale, std::size_t capacity) {
  const std::string path = "decoder/layer0/mixture/";
  Routed result;
  result.y.assign(kTokens, std::vector<double>(kWidth, 0.0));
  result.share.assign(kExperts, 0.0);
  result.probability.assign(kExperts, 0.0);
  std::vector<std::vector<std::size_t>> best(kTokens);
  std::vector<std::vector<double>> scores(kTokens);
  for (std::size_t t = 0; t < kTokens; ++t) {
    const std::vector<double> row(x.begin() + static_cast<std::ptrdiff_t>(t * kWidth),
                                  x.begin() + static_cast<std::ptrdiff_t>((t + 1) * kWidth));
    scores[t] = times(weights.at(path + "router/scores/weight").data(), kExperts, row);
    double sum = 0;
    for (double& score : scores[t]) {
      score = sigmoid ? 1 / (1 + std::exp(-score)) : std::exp(score);
      sum += score;
    }
    for (std::size_t e = 0; e < kExperts; ++e) {
      if (!sigmoid) scores[t][e] /= sum;
      result.probability[e] += scores[t][e] / kTokens;
    }
    best[t].resize(kExperts);
    std::iota(best[t].begin(), best[t].end(), std::size_t{0});
    std::ranges::stable_sort(best[t],
                             [&](std::size_t a, std::size_t b) { return scores[t][a] > scores[t][b]; });
    best[t].resize(perToken);
  }
  std::vector<std::size_t> taken(kExperts, 0);
  for (std::size_t k = 0; k < perToken; ++k) {
    for (std::size_t t = 0; t < kTokens; ++t) {
      const std::size_t expert = best[t][k];
      result.share[expert] += 1.0 / static_cast<double>(kTokens * perToken);
      if (++taken[expert] > capacity) continue;
      double sum = 0;
      for (const std::size_t each : best[t]) sum += scores[t][each];
      const double weight = scale * (normalised ? scores[t][expert] / sum : scores[t][expert]);
      const std::vector<double> row(x.begin() + static_cast<std::ptrdiff_t>(t * kWidth),
                                    x.begin() + static_cast<std::ptrdiff_t>((t + 1) * kWidth));
      const auto of = [&](const char* name) {
        return weights.at(path + "experts/" + name + "/weight").data() + expert * kInner * kWidth;
      };
      std::vector<double> inner = times(of("up"), kInner, row);
      for (double& value : inner) value = std::max(value, 0.0);
      const std::vector<double> out = times(of("down"), kWidth, inner);
      for (std::size_t i = 0; i < kWidth; ++i) result.y[t][i] += weight * out[i];
    }
  }
  return result;
}

TEST(MixtureOfExperts, GivesEachTokenItsBestExperts) {
  struct Case {
    Settings settings;
    std::size_t perToken = 2;
    bool sigmoid = false, normalised = true;
    double scale = 1;
    std::size_t capacity = kTokens * kExperts;
  };
  const Case cases[] = {{},
                        {{{"experts_per_token", std::int64_t{1}}}, 1, false, false},
                        {{{"experts_per_token", std::int64_t{3}},
                          {"router_scores", std::string("sigmoid")},
                          {"router_scale", 2.5}},
                         3,
                         true,
                         true,
                         2.5},
                        {{{"router_normalised", false}}, 2, false, false},
                        // ceil(.5 · 12 · 2 / 4) rows each
                        {{{"expert_capacity", 0.5}}, 2, false, true, 1, 3}};
  for (const Case& each : cases) {
    std::map<std::string, Matrix> weights;
    const auto found =
        evaluate(mixtureModel(each.settings, false),
                 {"decoder/layer0/feed_forward_norm/scale/out", "decoder/layer0/mixture/experts/combine/out"},
                 weights);
    const Routed expected =
        byDefinition(found.at("decoder/layer0/feed_forward_norm/scale/out"), weights, each.perToken,
                     each.sigmoid, each.normalised, each.scale, each.capacity);
    const Matrix& y = found.at("decoder/layer0/mixture/experts/combine/out");
    double largest = 0;
    for (std::size_t t = 0; t < kTokens; ++t)
      for (std::size_t i = 0; i < kWidth; ++i) {
        ASSERT_NEAR(y[t * kWidth + i], expected.y[t][i], 1e-4) << t << ", " << i;
        largest = std::max(largest, std::abs(expected.y[t][i]));
      }
    EXPECT_GT(largest, 0.1);
  }
}

/// E · Σ share · probability times its coefficient is added to the loss.
TEST(MixtureOfExperts, BalancesItsExperts) {
  std::map<std::string, Matrix> weights;
  const auto found = evaluate(
      mixtureModel({{"router_loss", 0.5}}, true),
      {"decoder/layer0/feed_forward_norm/scale/out", "head/loss/out", "head/loss/total/out"}, weights);
  const Routed routed = byDefinition(found.at("decoder/layer0/feed_forward_norm/scale/out"), weights, 2,
                                     false, true, 1, kTokens * kExperts);
  double balance = 0;
  for (std::size_t e = 0; e < kExperts; ++e) balance += routed.share[e] * routed.probability[e];
  EXPECT_NEAR(found.at("head/loss/total/out")[0] - found.at("head/loss/out")[0], 0.5 * kExperts * balance,
              1e-5);
}

}  // namespace
}  // namespace pipescope::numerics_test
