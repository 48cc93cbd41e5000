#pragma once
// The tutorial's MNIST network, and pseudo-random data for it.
#include <gtest/gtest.h>

#include "engine/builders/layers.h"
#include "engine/compile/gradients.h"
#include "engine/numerics/session.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::numerics_test {

inline graph::Graph mnistForward(std::int64_t microBatch, bool withLoss) {
  builders::LayersModel model;
  model.sample = {1, 28, 28};
  model.microBatch = microBatch;
  model.layers = {{"conv", "layer1/conv", "B1", {{"out_channels", 10}, {"kernel_size", 5}}},
                  {"maxpool", "layer1/pool", "B1", {{"kernel_size", 2}}},
                  {"relu", "layer1/relu", "B1", {}},
                  {"conv", "layer2/conv", "B2", {{"out_channels", 20}, {"kernel_size", 5}}},
                  {"maxpool", "layer2/pool", "B2", {{"kernel_size", 2}}},
                  {"relu", "layer2/relu", "B2", {}},
                  {"flatten", "layer3/flatten", "B3", {}},
                  {"linear", "layer3/linear", "B3", {{"out_features", 256}}},
                  {"relu", "layer3/relu", "B3", {}},
                  {"linear", "layer4/linear", "B4", {{"out_features", 10}}}};
  if (withLoss) model.layers.push_back({"cross_entropy", "loss", "B4", {}});
  auto graph = builders::buildLayers(model, ops::standardOperators());
  PIPESCOPE_CHECK(graph.ok(), graph.error().message);
  return *graph;
}

inline graph::Graph mnistTraining(std::int64_t microBatch) {
  auto graph = compile::addGradients(mnistForward(microBatch, true), ops::standardOperators());
  PIPESCOPE_CHECK(graph.ok(), graph.error().message);
  return *graph;
}

/// Multiples of 2⁻²⁴ in [0, 1), the same as in data/make_golden.py.
inline std::vector<double> lcg(std::uint32_t seed, std::size_t count) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    values.push_back(static_cast<double>(seed >> 8) / 16777216.0);
  }
  return values;
}

struct Batch {
  std::vector<float> samples;
  std::vector<std::int32_t> labels;
  numerics::Rows rows() const {
    return {numerics::rowsOf(std::span<const float>(samples)),
            numerics::rowsOf(std::span<const std::int32_t>(labels))};
  }
};

inline void appendRows(Batch& batch, std::uint32_t seed, std::size_t count) {
  for (const double v : lcg(seed, count * 784)) batch.samples.push_back(static_cast<float>(v * 2.0 - 0.5));
  for (const double v : lcg(500 + seed, count)) batch.labels.push_back(static_cast<std::int32_t>(v * 10));
}

inline std::unique_ptr<optimizers::Optimizer> optimizer(const std::string& name,
                                                        const std::map<std::string, double>& settings = {}) {
  auto made = optimizers::createOptimizer(name, settings);
  PIPESCOPE_CHECK(made.ok(), made.error().message);
  return std::move(*made);
}

inline std::unique_ptr<numerics::Session> session(const graph::Graph& graph,
                                                  std::unique_ptr<optimizers::Optimizer> rule,
                                                  base::Executor& executor,
                                                  numerics::SessionOptions options = {}) {
  auto made = numerics::Session::create(graph, ops::standardOperators(), std::move(rule), executor, options);
  PIPESCOPE_CHECK(made.ok(), made.error().message);
  return std::move(*made);
}

}  // namespace pipescope::numerics_test
