#pragma once
// Shared parts of tests of planned models: small models, and plans that must be found and must run as
// planned.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "app/plan/plan_request.h"
#include "app/run/request/compile_run.h"
#include "app/run/request/configuration_keys.h"

namespace pipescope::app {

using config::Configuration;

inline Configuration parsed(const std::string& toml) {
  auto configuration = parseConfiguration(toml, "test.toml");
  EXPECT_TRUE(configuration.ok()) << configuration.error().message;
  return std::move(configuration).value();
}

/// A sample without its [[stages]], which stand between its layers and [execution].
inline std::string sampleText(const std::string& name, bool withStages) {
  std::ostringstream text;
  text << std::ifstream(PIPESCOPE_SOURCE_DIR "/samples/" + name + ".toml").rdbuf();
  std::string toml = text.str();
  if (withStages) return toml;
  const std::size_t first = toml.find("[[stages]]"), end = toml.find("[execution]");
  EXPECT_LT(first, end);
  return toml.erase(first, end - first);
}

inline base::Result<ConfigurationPlan> planned(const Configuration& configuration,
                                               const std::vector<std::string>& choices = {},
                                               const std::string& start = {}) {
  std::vector<PlanChoice> all;
  for (const std::string& text : choices) {
    PIPESCOPE_ASSIGN(PlanChoice choice, planChoice(text));
    all.push_back(std::move(choice));
  }
  base::SerialExecutor executor;
  base::SilentProgress progress;
  return planConfiguration(configuration, all, start, executor, progress);
}

inline ConfigurationPlan mustPlan(const Configuration& configuration,
                                  const std::vector<std::string>& choices = {}) {
  auto plan = planned(configuration, choices);
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  return std::move(plan).value();
}

/// Samples per second of a run of the configuration; 0 if it is refused.
inline double rateOf(const Configuration& configuration) {
  const auto compilation = compileRun(configuration);
  if (!compilation.ok()) return 0;
  return plan::tryOut(*compilation).samplesPerSecond;
}

inline void expectWrittenPlanRuns(const ConfigurationPlan& plan) {
  const std::string toml = plannedToml(plan, "source.toml");
  const Configuration written = parsed(toml);
  const auto compilation = compileRun(written);
  ASSERT_TRUE(compilation.ok()) << compilation.error().message << "\n" << toml;
  const plan::TriedPlan run = plan::tryOut(*compilation);
  EXPECT_EQ(run.samplesPerSecond, plan.best.plan.best.tried.samplesPerSecond) << toml;
  EXPECT_EQ(run.value.time, plan.best.plan.best.tried.value.time);
  EXPECT_EQ(run.value.missing, plan.best.plan.best.tried.value.missing);
}

/// The tutorial's four stages, the first with little memory for temporaries.
inline std::string ownProportion() {
  std::string own = sampleText("mnist/pipelined", true);
  return own.replace(own.find("device = 0"), 10, "device = 0\navailable_memory_proportion = 0.001");
}

constexpr const char* kSmallBert = R"(
[model]
name = "bert"
builder = "bert"
layers = 4
hidden = 64
heads = 4
feed_forward = 256
sequence = 32
head = "squad"
[execution]
mode = "training"
numerics = false
[training]
micro_batch_size = 2
gradient_accumulation = 8
[data]
dataset = "synthetic"
[system]
name = "pod4"
)";

constexpr const char* kTwoStages = R"(
[[stages]]
blocks = ["embeddings", "encoder/layer0..1"]
[[stages]]
blocks = ["encoder/layer2..3", "head"]
)";

}  // namespace pipescope::app
