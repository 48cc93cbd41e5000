#include "profiler/analysis/timeline/alike_devices.h"

#include <fstream>

#include "tests/unit/analysis/imported_trace.h"

namespace pipescope::analysis {
namespace {

TEST(AlikeDevices, AreThoseWithTheSamePassesAndTimes) {
  // Four replicas of two stages; stage 1 of the third replica takes half as long again. Times differ by 2 %.
  const auto folder = std::filesystem::path(::testing::TempDir()) / "alike";
  std::filesystem::create_directories(folder);
  for (int rank = 0; rank < 8; ++rank) {
    const int stage = rank % 2, length = (rank == 5 ? 150 : 100) + rank / 4 * 2;
    std::string events = "[";
    for (int k = 0; k < 3; ++k)
      events += R"({"ph":"X","name":"stage)" + std::to_string(stage) + "/forward/mb" + std::to_string(k) +
                R"(","pid":1,"tid":1,"ts":)" + std::to_string(1'700'000'000'000'000 + stage * 200 + k * 300) +
                R"(,"dur":)" + std::to_string(length) + "},";
    events.back() = ']';
    std::ofstream(folder / ("rank" + std::to_string(rank) + ".json")) << events;
  }
  const ImportedTrace trace(folder);
  EXPECT_EQ(alikeDevices(*trace.catalog, model::ExecutableId(0)),
            (std::vector<std::int32_t>{-1, -1, 0, 1, 0, -1, 0, 1}));
}

}  // namespace
}  // namespace pipescope::analysis
