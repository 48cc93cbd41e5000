// Compares the memory of EfficientNet-EdgeTPU-L on an Mk2 with a published profile.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "efficientnet_file.h"
#include "model_checks.h"

namespace pipescope::conformance {
namespace {

/// popliner's test data (graphcore/popliner, tests/test_profile.py): inference of four images in float16.
/// None of the profile's operations casts, so the sums of its products are float16, too. No constant was
/// chosen by these figures.
///
/// Exchange code lacks most. Poplar's compiler of exchanges is not public. Rows of neighbouring elements as
/// messages, as here, give a third of it. Messages of one position's channels, wherever two convolutions
/// group channels differently and PopLibs does not rearrange the input first, would give 1.2 times the total,
/// but eight times the code of one layer and a thirtieth of another's. Some functions have a vertex for each
/// worker in the profile (a Relu 48 bytes of state on a tile instead of 8), which PopLibs makes if the
/// regions on a tile are not of one variable.
TEST(EfficientNet, MemoryOnAnMk2) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("pipescope_efficientnet_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const compile::Compilation model =
      compileOneStage(R"(
precision = "float16"
partials_type = "float16"
[system]
name = "mk2"
)",
                      {{"model.onnx", writeEfficientNetEdgeL(4, folder).string()}});
  std::filesystem::remove_all(folder);
  ASSERT_EQ(model.executables.size(), 1u);
  const MemoryOfTiles ours = memoryOf(model.executables[0].lowered.at(0).memory.at(0), 1472);
  // `within` is the error that the model has today, rounded up.
  const struct {
    const char* category;
    double measured, within;
  } points[] = {{"variables", 170.96, 0.3},
                {"vertex code", 17.38, 0.35},
                {"vertex state", 18.58, 1.3},
                {"exchange code", 43.09, 1.4},
                {"control code", 8.86, 0.4}};
  for (const auto& [category, measured, within] : points) {
    const std::string point = std::string("8.5 EfficientNet-EdgeTPU-L, MB of ") + category;
    EXPECT_LE(std::abs(comparePoint(point, ours.byCategory.at(category) / 1e6, measured)), within) << point;
  }
  EXPECT_LE(std::abs(comparePoint("8.5 EfficientNet-EdgeTPU-L, MB in all", ours.total / 1e6, 258.87)), 0.4);
  EXPECT_LE(
      std::abs(comparePoint("8.5 EfficientNet-EdgeTPU-L, B on the largest tile", ours.largestTile, 194798)),
      0.45);
}

}  // namespace
}  // namespace pipescope::conformance
