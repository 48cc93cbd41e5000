// Says of inference that was tried on a C600 whether it fits: what ran must fit, and what ran out of memory
// must not. Prints what the fullest tile needs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "model_checks.h"
#include "squad_bert_file.h"

namespace pipescope::conformance {
namespace {

struct FitPoint {
  std::string precision;
  int batch;
  bool oneGelu;
  bool ran;
  bool wrong = false;  ///< the emulator says the contrary today
};

/// The addresses that the fullest tile needs, in KiB, and whether the model fits.
std::pair<double, bool> fullestTileOf(const FitPoint& point) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("pipescope_fit_{}", getpid());
  std::filesystem::create_directories(folder);
  std::map<std::string, std::string> changes{
      {"model.onnx", writeSquadBert({.batch = point.batch, .oneGelu = point.oneGelu}, folder).string()},
      {"execution.precision", point.precision}};
  if (point.precision == "float8") changes["execution.float8_scaling"] = "fixed";
  if (point.precision != "float32") {
    changes["execution.partials_type"] = "float16";
    changes["execution.float32_operators"] = R"(["Gelu", "LayerNormalization"])";
  }
  const compile::Compilation model = compileOneStage(R"(
io_tiles = 32
[system]
name = "c600"
)",
                                                     changes);
  std::filesystem::remove_all(folder);
  if (model.executables.empty()) return {};
  std::vector<std::int64_t> tiles(1472);
  for (const devices::UnitBytesRun& run : model.executables[0].lowered.at(0).memory.at(0).units) {
    for (std::int64_t i = 0; i < run.unitCount; ++i)
      tiles.at(static_cast<std::size_t>(run.firstUnit + i)) += run.bytes.count;
  }
  return {static_cast<double>(*std::ranges::max_element(tiles)) / 1024, model.overflow().empty()};
}

/// The table of PopRT's README (graphcore/PopRT, examples/bert), whose program and options
/// squad_bert_test.cpp describes: BERT-Base with 256 tokens. No constant was chosen by it. Its rows were
/// looked at when products got their start on tile 0, which is PopLibs' rule.
TEST(FitPoints, BertBaseOnAC600) {
  const std::vector<FitPoint> points{
      {"float32", 2, true, true},
      {"float32", 4, true, false, true},  // 613 KiB and gaps fill the tile to its last byte
      {"float32", 8, true, false},
      {"float16", 16, true, true},
      {"float16", 32, true, false},
      {"float16", 32, false, false},
      {"float8", 64, true, true},
      {"float8", 64, false, false, true},  // as much as with one Gelu, which ran
  };
  int right = 0;
  for (const FitPoint& point : points) {
    const auto [kib, fits] = fullestTileOf(point);
    const std::string name = fmt::format("BERT-base, 256 tokens, {}, batch {}{}", point.precision,
                                         point.batch, point.oneGelu ? "" : ", Gelu in parts");
    std::printf("%-60s %8.1f KiB of 624, %s, here it %s\n", name.c_str(), kib,
                point.ran ? "ran" : "ran out of memory", fits ? "fits" : "does not fit");
    right += fits == point.ran;
    EXPECT_EQ(fits == point.ran, !point.wrong) << name;
    if (point.ran) {
      EXPECT_TRUE(fits) << name;
    }
  }
  std::printf("%d of %zu right\n", right, points.size());
}

}  // namespace
}  // namespace pipescope::conformance
