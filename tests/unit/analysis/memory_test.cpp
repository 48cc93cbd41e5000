#include "profiler/analysis/memory/memory.h"

#include <gtest/gtest.h>

#include "profiler/analysis/memory/lifetimes.h"
#include "profiler/analysis/memory/purpose_use.h"
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

TEST_F(SmallMemory, SeveralStepsHoldWhatIsLiveInAnyOfThem) {
  const auto over = [&](StepRange steps) {
    const auto found = liveVariables(profile_, *catalog_, executable_, space_, steps, false);
    EXPECT_TRUE(found.ok());
    std::vector<std::tuple<std::int64_t, int, int>> rows;
    for (const LiveVariable& variable : *found)
      rows.emplace_back(variable.bytes.count, variable.firstStep, variable.endStep);
    return rows;
  };
  using Row = std::tuple<std::int64_t, int, int>;
  EXPECT_EQ(over({0, 1}), (std::vector<Row>{{30, 0, 2}}));
  EXPECT_EQ(over({1, 2}), (std::vector<Row>{{40, 2, 3}, {30, 0, 2}}));
  EXPECT_EQ(over({3, 9}), std::vector<Row>{});
}

TEST_F(SmallMemory, LivesAreSpansOfSteps) {
  base::SilentProgress progress;
  const auto found = lifetimes(profile_, *catalog_, executable_, space_, 10, progress);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->all, 2) << "the weight is always live";
  EXPECT_EQ(found->variables[0].bytes, Bytes(40));
  using Spans = std::vector<std::pair<std::int32_t, std::int32_t>>;
  EXPECT_EQ(found->variables[0].spans, (Spans{{2, 3}}));
  EXPECT_EQ(found->variables[1].spans, (Spans{{0, 2}}));
  EXPECT_EQ(found->variables[1].name, "layer/out");
  const auto largest = lifetimes(profile_, *catalog_, executable_, space_, 1, progress);
  EXPECT_EQ(largest->all, 2);
  EXPECT_EQ(largest->variables.size(), 1u);
}

TEST(Purposes, CategoriesOfLibpvaHaveOne) {
  EXPECT_EQ(purposeOf("weight"), "weight");
  EXPECT_EQ(purposeOf("internalExchangeCode"), "code");
  EXPECT_EQ(purposeOf("vertexCode"), "code");
  EXPECT_EQ(purposeOf("controlCode"), "control");
  EXPECT_EQ(purposeOf("hostExchangePacketHeader"), "control");
  EXPECT_EQ(purposeOf("vertexFieldData"), "vertex_state");
}

/// Two tiles. A weight lies on both, and two variables share addresses: the one of the peak on tile 1 only,
/// and a larger one of tile 0 that is live before.
TEST(Purposes, AddUpToTheBytesOfEachUnit) {
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  model::Executable executable;
  const auto id = recorder.add(executable);
  const auto space = recorder.add(model::MemorySpace{{}, {}, "tile_memory", 2, Bytes(100), Bytes(0)});
  const auto unit = [&](const char* category, bool always, std::int64_t tile, std::int64_t bytes) {
    recorder.add(model::UnitMemory{id, space, category, "", always, tile, 1, Bytes(bytes)});
  };
  unit("variable", true, 0, 10);
  unit("variable", true, 1, 10);
  unit("vertexCode", true, 1, 7);
  unit("gap", true, 1, 5);
  unit("variable", false, 0, 30);
  unit("variable", false, 1, 40);
  const auto operation = recorder.add(model::DebugContext{{}, {}, "layer1", "operator"});
  model::Operator op;
  op.executable = id;
  op.debugContext = operation;
  op.block = "block1";
  recorder.add(op);
  const auto add = [&](const char* category, bool always, std::int64_t tile, std::int64_t tiles,
                       std::int64_t bytes, model::DebugContextId name) {
    model::Variable row{{}, id, space, name, category, "", Bytes(bytes * tiles), Bytes(bytes), always, 0};
    // Temporaries name no category of their own, though they lie among the variables of the unit.
    if (row.category != "temporary") row.unitCategory = "variable";
    const auto made = recorder.add(row);
    recorder.add(model::VariableUnits{made, tile, tiles, Bytes(bytes)});
    return made;
  };
  const auto name = recorder.add(model::DebugContext{{}, operation, "weight", "variable"});
  add("weight", true, 0, 2, 10, name);
  recorder.add(model::LifeInterval{add("activation", false, 0, 1, 30, {}), 0, 1});
  recorder.add(model::LifeInterval{add("temporary", false, 1, 1, 40, {}), 1, 2});
  for (const std::int64_t bytes : {30, 40}) {
    recorder.add(
        model::LivenessStep{id, space, bytes == 40, {}, model::Pass::forward, Bytes(bytes), Bytes(bytes)});
  }
  ASSERT_TRUE(recorder.finish(model::ProfileState::complete).ok());
  base::SilentProgress progress;
  const auto catalog = *loadCatalog(profile);
  const auto made = divideUnits(profile, *catalog, id, {space}, UnitDivision::purpose, progress);
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(made->at(0).known);
  using Parts = std::map<std::string, std::vector<std::int64_t>>;
  EXPECT_EQ(made->at(0).parts, (Parts{{"code", {0, 7}},
                                      {"gap", {0, 5}},
                                      {kLiveInOtherSteps, {30, 0}},
                                      {"temporary", {0, 40}},
                                      {"weight", {10, 10}}}));
  const auto layers = divideUnits(profile, *catalog, id, {space}, UnitDivision::layer, progress);
  ASSERT_TRUE(layers.ok());
  EXPECT_EQ(
      layers->at(0).parts,
      (Parts{{"gap", {0, 5}}, {"block1", {10, 10}}, {kLiveInOtherSteps, {30, 0}}, {kNoLayer, {0, 47}}}));
}

TEST(Lifetimes, LivesThatTouchAreOneAndWrongOnesAreLeftOut) {
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  model::Executable executable;
  const auto id = recorder.add(executable);
  const auto space = recorder.add(model::MemorySpace{{}, {}, "hbm", 1, Bytes(100), Bytes(0)});
  const auto add = [&](std::vector<std::pair<int, int>> lives) {
    const auto variable =
        recorder.add(model::Variable{{}, id, space, {}, "activation", "", Bytes(8), Bytes(8), false, 0});
    for (const auto& [from, to] : lives) recorder.add(model::LifeInterval{variable, from, to});
  };
  add({{6, 9}, {0, 2}, {2, 4}, {3, 4}});
  add({{-4, 2}, {5, 5}});
  ASSERT_TRUE(recorder.finish(model::ProfileState::complete).ok());
  base::SilentProgress progress;
  const auto found = lifetimes(profile, **loadCatalog(profile), id, space, 10, progress);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->variables.size(), 1u);
  using Spans = std::vector<std::pair<std::int32_t, std::int32_t>>;
  EXPECT_EQ(found->variables[0].spans, (Spans{{0, 4}, {6, 9}}));
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
