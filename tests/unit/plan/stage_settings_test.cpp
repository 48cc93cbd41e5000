// Settings of single stages that a plan tries.
#include "app/plan/stage_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pipescope::app {
namespace {

TEST(StageSettings, ProportionsGoToTheDevicesOfTheirStages) {
  compile::ModelRequest request;
  request.systemOptions.settings = {
      {kProportionSetting, 0.7, 4}, {kProportionSetting, 0.7, 5}, {"other", 0.1, 4}};
  ASSERT_TRUE(applyProportions({"0.25", "", "1"}, {4, 5, 6}, request).ok());
  std::vector<std::tuple<std::string, double, int>> settings;
  for (const devices::FamilySetting& one : request.systemOptions.settings)
    settings.emplace_back(one.name, std::get<double>(one.value), one.device);
  EXPECT_THAT(settings, testing::UnorderedElementsAre(std::tuple("available_memory_proportion", 0.25, 4),
                                                      std::tuple("available_memory_proportion", 0.7, 5),
                                                      std::tuple("other", 0.1, 4),
                                                      std::tuple("available_memory_proportion", 1.0, 6)));
  for (const char* text : {"0", "-0.5", "1.01", "0.5x", "half", "nan"}) {
    const base::Status refused = applyProportions({text}, {0}, request);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_THAT(refused.error().message,
                testing::HasSubstr("is no proportion; it is a number above 0 and up to 1"));
  }
}

}  // namespace
}  // namespace pipescope::app
