// Compilations that share what devices made of stages give the same rows as compilations that share nothing.
#include "engine/plan/divided_model.h"

#include <gtest/gtest.h>

#include "profiler/base/progress.h"
#include "profiler/model/content_hash.h"
#include "random_model.h"

namespace pipescope::conformance {
namespace {

/// The hash of all rows of the compilation and of two calls; empty if the model is refused.
std::string hashOf(const RandomModel& model, plan::SharedStages* known) {
  record::MemoryProfile profile;
  const auto measured = measure(model, profile, known);
  if (!measured.ok()) return {};
  base::SilentProgress progress;
  const auto hash = model::contentHash(profile, progress);
  EXPECT_TRUE(hash.ok());
  return *hash;
}

/// The model with one key changed, as a search over options does it.
RandomModel variantOf(const RandomModel& model, ModelDice& dice) {
  const bool training = model.keys.at("execution.mode") == "training";
  switch (dice.upTo(6)) {
    case 1:
      return model.with(training ? "training.gradient_accumulation" : "inference.device_iterations", "6");
    case 2:
      return model.with("execution.schedule", dice.oneOf<const char*>({"popart", "gpipe", "1f1b"}));
    case 3:
      return model.with(training ? "training.micro_batch_size" : "inference.micro_batch_size", "4");
    case 4:
      return model.with("execution.recompute", dice.coin() ? "none" : "auto");
    case 5:
      return model.with("compile.outline", "false");
    default:
      return model.with("execution.available_memory_proportion", "0.3");
  }
}

class SharedStages : public testing::TestWithParam<const char*> {};

TEST_P(SharedStages, GiveTheSameRows) {
  ModelDice dice(7);
  plan::SharedStages known;
  int compiled = 0;
  for (int m = 0; m < 12; ++m) {
    // IPUs take no bfloat16.
    const RandomModel model = randomModel(dice, GetParam(), 4).with("execution.precision", "float32");
    for (int v = 0; v < 3; ++v) {
      const RandomModel variant = v == 0 ? model : variantOf(model, dice);
      const std::string alone = hashOf(variant, nullptr);
      EXPECT_EQ(hashOf(variant, &known), alone) << variant.describe();
      if (!alone.empty()) ++compiled;
    }
  }
  EXPECT_GT(compiled, 20);
  EXPECT_GT(known.found(), 10);
}

TEST_P(SharedStages, ASplitIsFoundAgainForOtherNumbersOfMicroBatches) {
  ModelDice dice(11);
  RandomModel model = randomModel(dice, GetParam(), 4);
  while (model.keys.at("execution.mode") != "training" || model.keys.at("model.builder") != "bert")
    model = randomModel(dice, GetParam(), 4);
  model.tables.clear();
  model =
      model.with("execution.precision", "float32").with("execution.stages", "2").with("model.layers", "4");
  plan::SharedStages known;
  const auto compiled = [&](const RandomModel& variant) {
    const std::string alone = hashOf(variant, nullptr);
    EXPECT_FALSE(alone.empty()) << variant.describe();
    EXPECT_EQ(hashOf(variant, &known), alone) << variant.describe();
  };
  for (const char* microBatches : {"8", "16", "12", "40"})
    compiled(model.with("training.gradient_accumulation", microBatches));
  EXPECT_EQ(known.foundSplits(), 3);
  compiled(model.with("training.gradient_accumulation", "13"));
  compiled(model.with("training.gradient_accumulation", "2"));
  compiled(model.with("model.layers", "6").with("training.gradient_accumulation", "8"));
  EXPECT_EQ(known.foundSplits(), 3) << "these may be split in another way";
}

INSTANTIATE_TEST_SUITE_P(Systems, SharedStages, testing::Values("pod4", "hls-gaudi2"), [](const auto& each) {
  return std::string(each.param) == "pod4" ? "Ipus" : "Gaudis";
});

}  // namespace
}  // namespace pipescope::conformance
