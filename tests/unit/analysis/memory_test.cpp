#include "profiler/analysis/memory/memory.h"

#include <gtest/gtest.h>

#include "profiler/record/memory_profile.h"

namespace pipescope::analysis {
namespace {

/// A device with two tiles of 100 bytes. Each tile has 10 bytes of a weight. There is a gap, and two
/// variables share addresses.
class SmallMemory : public ::testing::Test {
 protected:
  SmallMemory() {
    record::Recorder recorder(profile_);
    recorder.add(model::Target{"tiny", "ipu", "", 1, 1});
    model::Device device;
    device.name = "IPU0";
    device.ticksPerSecond = 1000;
    const model::DeviceId id = recorder.add(device);
    space_ = recorder.add(model::MemorySpace{{}, id, "tile_memory", 2, Bytes(100), Bytes(0)});
    model::Executable executable;
    executable.name = "training";
    executable_ = recorder.add(executable);
    const auto unit = [&](const char* category, bool alwaysLive, std::int64_t first, std::int64_t count,
                          std::int64_t bytes) {
      recorder.add(model::UnitMemory{executable_, space_, category, "non_interleaved", alwaysLive, first,
                                     count, Bytes(bytes)});
    };
    unit("variable", true, 0, 2, 10);
    unit("vertexCode", true, 1, 1, 7);
    unit("gap", true, 1, 1, 5);
    unit("variable", false, 0, 2, 20);
    const auto context = recorder.add(model::DebugContext{{}, {}, "layer", "scope"});
    const auto inner = recorder.add(model::DebugContext{{}, context, "out", "variable"});
    recorder.add(model::Variable{
        {}, executable_, space_, inner, "weight", "5 float32", Bytes(20), Bytes(10), true, 0});
    const auto early = recorder.add(
        model::Variable{{}, executable_, space_, inner, "activation", "", Bytes(30), Bytes(15), false, 0});
    const auto late = recorder.add(
        model::Variable{{}, executable_, space_, inner, "activation", "", Bytes(40), Bytes(20), false, 0});
    recorder.add(model::LifeInterval{early, 0, 2});
    recorder.add(model::LifeInterval{late, 2, 3});
    for (const std::int64_t bytes : {30, 30, 40}) {
      recorder.add(model::LivenessStep{executable_,
                                       space_,
                                       static_cast<std::int32_t>(steps_++),
                                       {},
                                       model::Pass::forward,
                                       Bytes(bytes),
                                       Bytes(bytes / 2)});
    }
    EXPECT_TRUE(recorder.finish(model::ProfileState::complete).ok());
    catalog_ = *loadCatalog(profile_);
  }

  record::MemoryProfile profile_;
  std::shared_ptr<const Catalog> catalog_;
  model::MemorySpaceId space_;
  model::ExecutableId executable_;
  int steps_ = 0;
};

TEST_F(SmallMemory, TotalsGapsAndTheFullestTile) {
  const auto all = memory(profile_, *catalog_, executable_);
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->devices.size(), 1u);
  const DeviceMemory& device = all->devices[0];
  EXPECT_EQ(device.total.count, 2 * 30 + 7);
  EXPECT_EQ(device.totalIncludingGaps.count, 2 * 30 + 7 + 5);
  EXPECT_EQ(device.alwaysLive.count, 27);
  EXPECT_EQ(device.maxUnit.count, 37);
  EXPECT_EQ(device.maxUnitIncludingGaps.count, 42);
  EXPECT_EQ(device.worstUnit, 1);
  EXPECT_EQ(device.notAlwaysLivePeak.count, 40);
  EXPECT_EQ(device.peakStep, 2);
  EXPECT_TRUE(device.fits);
  EXPECT_EQ(device.byCategory.at("variable").count, 60);
  EXPECT_EQ(device.byCategory.count("gap"), 0u);
}

TEST_F(SmallMemory, WhoIsLiveWhen) {
  const auto at = [&](std::int32_t step, bool always) {
    const auto found = liveVariables(profile_, *catalog_, executable_, space_, step, always);
    EXPECT_TRUE(found.ok());
    std::vector<std::int64_t> bytes;
    for (const LiveVariable& variable : *found) bytes.push_back(variable.bytes.count);
    return bytes;
  };
  EXPECT_EQ(at(1, false), std::vector<std::int64_t>{30});
  EXPECT_EQ(at(2, false), std::vector<std::int64_t>{40});
  EXPECT_EQ(at(2, true), (std::vector<std::int64_t>{40, 20}));
  EXPECT_EQ(at(3, false), std::vector<std::int64_t>{});
  EXPECT_EQ((*liveVariables(profile_, *catalog_, executable_, space_, 1, false))[0].name, "layer/out");
}

TEST(HostileMemory, RangesOutsideTheDeviceAreCut) {
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  recorder.add(model::Device());
  const auto space =
      recorder.add(model::MemorySpace{{}, model::DeviceId(77), "tile_memory", 4, Bytes(10), Bytes(0)});
  recorder.add(model::Executable());
  for (const auto& [first, count] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {-5, 3}, {2, 1'000'000'000'000}, {INT64_MAX, INT64_MAX}, {0, -1}}) {
    recorder.add(
        model::UnitMemory{model::ExecutableId(0), space, "variable", "", true, first, count, Bytes(1)});
  }
  recorder.add(model::DebugContext{{}, model::DebugContextId(0), "self", ""});
  ASSERT_TRUE(recorder.commit().ok());
  const auto catalog = *loadCatalog(profile);
  const auto use = unitUse(profile, *catalog, model::ExecutableId(0), space);
  ASSERT_TRUE(use.ok());
  EXPECT_EQ(use->includingGaps, (std::vector<std::int64_t>{1, 1, 2, 1}));
  EXPECT_TRUE(memory(profile, *catalog, model::ExecutableId(0)).ok());
  EXPECT_LT(catalog->namePath(model::DebugContextId(0)).size(),
            1000u);  // the path of a context that is its own parent is finite
}

}  // namespace
}  // namespace pipescope::analysis
