// Tests the addresses of variables: that two lie at one address only if their lives do not meet, by trying
// every pair, and that nothing lies beyond what the figures of the unit say.
#include "profiler/analysis/memory/unit_layout.h"

#include <algorithm>
#include <random>

#include "gtest/gtest.h"
#include "profiler/analysis/memory/pool_placer.h"
#include "profiler/analysis/memory/unit_addresses.h"
#include "profiler/analysis/memory/unit_vertices.h"
#include "profiler/record/memory_profile.h"
#include "profiler/record/recorder.h"

namespace pipescope::analysis {
namespace {

using model::MemoryPlace;

constexpr model::UnitShape kShape{1000, 600, 100};

/// Checks every pair of items, and that each lies in the pools with all its bytes.
void expectPlaced(const std::vector<SharedItem>& items, const std::vector<model::UnitPool>& pools,
                  const SharedPlaces& places) {
  ASSERT_EQ(places.pieces.size(), items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::int64_t bytes = 0;
    for (const AddressSpan& piece : places.pieces[i]) {
      bytes += piece.bytes();
      EXPECT_TRUE(std::ranges::any_of(pools,
                                      [&](const model::UnitPool& pool) {
                                        return pool.use != model::UnitPool::Use::alwaysLive &&
                                               pool.use != model::UnitPool::Use::gap &&
                                               pool.from <= piece.from && piece.to <= pool.from + pool.bytes;
                                      }))
          << "item " << i << " at " << piece.from;
    }
    EXPECT_EQ(bytes, items[i].bytes) << "item " << i;
    for (std::size_t k = 0; k < i; ++k) {
      if (items[k].end <= items[i].first || items[i].end <= items[k].first) continue;
      for (const AddressSpan& a : places.pieces[i]) {
        for (const AddressSpan& b : places.pieces[k])
          EXPECT_TRUE(a.to <= b.from || b.to <= a.from) << "items " << k << " and " << i;
      }
    }
  }
}

TEST(PoolPlacer, SharesAddressesBetweenLivesThatDoNotMeet) {
  const std::vector<SharedItem> items = {{0, 2, 40}, {2, 4, 30}, {1, 3, 10}};
  const model::UnitDemand demand = demandOf(items);
  EXPECT_EQ(demand.all, 50);
  const auto pools = unitPools(kShape, demand);
  const SharedPlaces places = placeShared(items, pools);
  expectPlaced(items, pools, places);
  EXPECT_EQ(places.pieces[0].front().from, 0);
  EXPECT_EQ(places.pieces[1].front().from, 0) << "the place of the first one is free again";
  EXPECT_EQ(places.pieces[2].front().from, 40);
}

TEST(PoolPlacer, DividesWhatFindsNoHoleOfItsSize) {
  // When the last one begins, 10 bytes are free below and 10 above the one that stays.
  const std::vector<SharedItem> items = {{0, 1, 10}, {0, 3, 10}, {0, 1, 10}, {1, 2, 20}};
  const auto pools = unitPools(kShape, demandOf(items));
  const SharedPlaces places = placeShared(items, pools);
  expectPlaced(items, pools, places);
  EXPECT_EQ(places.pieces[3].size(), 2U);
}

TEST(PoolPlacer, UsesInterleavedMemoryWhileNothingThereIsLive) {
  const std::vector<SharedItem> items = {{0, 1, 60, MemoryPlace::interleaved}, {1, 2, 60}};
  const auto pools = unitPools(kShape, demandOf(items));
  const SharedPlaces places = placeShared(items, pools);
  expectPlaced(items, pools, places);
  EXPECT_EQ(places.pieces[0].front().from, 600);
  EXPECT_EQ(places.pieces[1].front().from, 600);
  EXPECT_EQ(places.misplaced, 0);
}

TEST(PoolPlacer, FindsRoomWhereNoOrderKeepsToInterleavedMemory) {
  // Each step has 20 live bytes. The second and the third item would both need the place of the other.
  const std::vector<SharedItem> items = {
      {0, 1, 10, MemoryPlace::interleaved}, {0, 2, 10}, {1, 3, 10}, {2, 3, 10, MemoryPlace::interleaved}};
  const model::UnitDemand demand = demandOf(items);
  EXPECT_EQ(demand.all, 20);
  const auto pools = unitPools(kShape, demand);
  const SharedPlaces places = placeShared(items, pools);
  expectPlaced(items, pools, places);
  EXPECT_EQ(places.misplaced, 10);
}

TEST(PoolPlacer, PlacesWhateverComes) {
  std::mt19937 random(7);
  const auto upTo = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  for (int round = 0; round < 300; ++round) {
    std::vector<SharedItem> items;
    for (int i = 0, count = 1 + upTo(40); i < count; ++i) {
      const int first = upTo(20);
      items.push_back({first, first + 1 + upTo(8), 1 + upTo(90), static_cast<MemoryPlace>(upTo(6) % 4)});
    }
    const model::UnitDemand demand = demandOf(items);
    std::int64_t most = 0;
    for (int step = 0; step < 30; ++step) {
      std::int64_t live = 0;
      for (const SharedItem& item : items) live += item.first <= step && step < item.end ? item.bytes : 0;
      most = std::max(most, live);
    }
    EXPECT_EQ(demand.all, most);
    const auto pools = unitPools(kShape, demand);
    expectPlaced(items, pools, placeShared(items, pools));
  }
}

class LayoutProfile {
 public:
  explicit LayoutProfile(std::int64_t units = 4) : recorder_(profile_) {
    model::Device device;
    device.kind = "chip";
    device.units = units;
    device.unitName = "tile";
    const model::DeviceId id = recorder_.add(device);
    model::Executable executable;
    executable.name = "training";
    executable_ = recorder_.add(executable);
    space_ = recorder_.add(model::MemorySpace{
        {}, id, units == 1 ? "hbm" : "tile_memory", units, Bytes(1000), Bytes(600), Bytes(100)});
  }
  model::VariableId variable(const std::string& name, std::int64_t bytes, bool always,
                             std::vector<std::pair<int, int>> lives, const std::string& unitCategory = "",
                             MemoryPlace place = MemoryPlace::anywhere, std::int64_t address = -1) {
    const auto context = recorder_.add(model::DebugContext{{}, {}, name, "variable"});
    const model::VariableId id = recorder_.add(model::Variable{{},
                                                               executable_,
                                                               space_,
                                                               context,
                                                               "weight",
                                                               "",
                                                               Bytes(bytes),
                                                               Bytes(bytes),
                                                               always,
                                                               -1,
                                                               unitCategory,
                                                               place});
    for (const auto& [first, end] : lives) recorder_.add(model::LifeInterval{id, first, end});
    recorder_.add(model::VariableUnits{id, 0, 2, Bytes(bytes), address});
    return id;
  }
  void vertices(const char* type, std::int64_t program, std::int64_t first, std::int64_t count,
                std::int64_t vertices, std::int64_t code, std::int64_t state, std::int64_t lists) {
    recorder_.add(model::VertexUse{executable_, space_, model::ProgramId(program), type, first, count,
                                   vertices, Bytes(code), Bytes(state), Bytes(lists)});
  }
  void load() {
    ASSERT_TRUE(recorder_.commit().ok());
    catalog_ = loadCatalog(profile_).value();
  }
  UnitLayout layout(std::int64_t unit) {
    return unitLayout(profile_, *catalog_, executable_, space_, unit).value();
  }
  UnitVertices vertices(const std::vector<std::int64_t>& units) {
    base::SilentProgress progress;
    return unitVertices(profile_, *catalog_, executable_, space_, units, progress).value();
  }

 private:
  record::MemoryProfile profile_;
  record::Recorder recorder_;
  model::ExecutableId executable_;
  model::MemorySpaceId space_;
  std::shared_ptr<const Catalog> catalog_;
};

std::string textOf(const UnitLayout& layout) {
  std::string text;
  for (const PlacedVariable& v : layout.variables) {
    text += v.name + " " + std::to_string(v.address) + "+" + std::to_string(v.bytes.count);
    if (!v.alwaysLive) text += " [" + std::to_string(v.firstStep) + ", " + std::to_string(v.endStep) + ")";
    text += " " + v.region + "\n";
  }
  return text;
}

TEST(UnitLayout, PutsWhatAsksForAnUnknownPlaceAnywhere) {
  LayoutProfile profile;
  profile.variable("odd", 40, false, {{0, 1}}, "", static_cast<MemoryPlace>(9));
  profile.variable("third", 30, false, {{0, 1}}, "", MemoryPlace::anotherElement);
  profile.load();
  EXPECT_EQ(textOf(profile.layout(1)),
            "odd 0+40 [0, 1) non_interleaved\n"
            "third 100+30 [0, 1) non_interleaved\n");
}

TEST(UnitLayout, GivesVariablesAddressesByCategoryAndLife) {
  LayoutProfile profile;
  profile.variable("w", 50, true, {}, "variable");
  profile.variable("code", 70, true, {}, "code");
  profile.variable("a", 30, false, {{0, 2}, {5, 6}});
  profile.variable("b", 20, false, {{2, 5}});
  profile.variable("operand", 40, false, {{1, 2}}, "", MemoryPlace::interleaved);
  profile.variable("never", 10, false, {});
  profile.load();
  const UnitLayout layout = profile.layout(1);
  ASSERT_TRUE(layout.known);
  EXPECT_EQ(textOf(layout),
            "never -1+10 [-1, -1) \n"
            "code 0+70 non_interleaved\n"
            "w 70+50 non_interleaved\n"
            "a 120+30 [0, 2) non_interleaved\n"
            "b 120+20 [2, 5) non_interleaved\n"
            "a 120+30 [5, 6) non_interleaved\n"
            "operand 600+40 [1, 2) interleaved\n");
  EXPECT_EQ(layout.used.count, 70 + 50 + 70);
  EXPECT_EQ(layout.end, 640);
  const std::vector<AddressRange> ranges = addressRanges(layout);
  ASSERT_EQ(ranges.size(), 5U);
  EXPECT_EQ(ranges[0].category, "code");
  EXPECT_EQ(ranges[1].category, "variable");
  EXPECT_TRUE(ranges[1].alwaysLive);
  EXPECT_EQ(ranges[2].to, 150);
  EXPECT_FALSE(ranges[2].alwaysLive);
  EXPECT_TRUE(ranges[3].isGap());
  EXPECT_EQ(ranges[4].to, 640);
  EXPECT_TRUE(profile.layout(3).variables.empty()) << "this unit holds nothing";
}

TEST(UnitLayout, TakesRecordedAddresses) {
  LayoutProfile profile(1);
  profile.variable("w", 50, true, {}, "", MemoryPlace::anywhere, 0);
  profile.variable("a", 30, false, {{0, 2}, {5, 6}}, "", MemoryPlace::anywhere, 70);
  profile.load();
  const UnitLayout layout = profile.layout(0);
  EXPECT_EQ(textOf(layout), "w 0+50 hbm\na 70+30 [0, 6) hbm\n");
  EXPECT_EQ(layout.used.count, 80);
  EXPECT_EQ(layout.end, 100);
  const std::vector<AddressRange> ranges = addressRanges(layout);
  ASSERT_EQ(ranges.size(), 3U);
  EXPECT_EQ(ranges[0].category, "weight");
  EXPECT_TRUE(ranges[1].isGap()) << "from 50 to 70";
  EXPECT_EQ(ranges[2].category, "shared_addresses");
  EXPECT_EQ(ranges[2].from, 70);
  EXPECT_EQ(ranges[2].to, 100);
}

TEST(UnitLayout, SurvivesFiguresOfDamagedFiles) {
  LayoutProfile profile;
  profile.variable("huge", INT64_MAX, true, {});
  profile.variable("negative", -5, true, {});
  profile.variable("far", 5, true, {}, "", MemoryPlace::anywhere, INT64_MAX);
  for (int i = 0; i < 9; ++i) profile.variable("large", std::int64_t{1} << 59, false, {{0, INT32_MAX}});
  profile.variable("backwards", 5, false, {{3, 1}, {-4, 2}});
  profile.load();
  EXPECT_LE(profile.layout(0).variables.size(), 3U);
}

TEST(UnitVertices, CountCodeOnceForEachTypeAndUnit) {
  LayoutProfile profile;
  profile.vertices("add", 0, 0, 3, 2, 100, 40, 8);
  profile.vertices("add", 1, 1, 3, 1, 100, 20, 0);
  profile.vertices("mul", 1, 0, 1, 6, 50, 12, 0);
  profile.load();
  const UnitVertices all = profile.vertices({});
  ASSERT_TRUE(all.known);
  ASSERT_EQ(all.types.size(), 2U);
  EXPECT_EQ(all.types[0].type, "add");
  EXPECT_EQ(all.types[0].count, 3 * 2 + 3 * 1);
  EXPECT_EQ(all.types[0].computeSets, 2);
  EXPECT_EQ(all.types[0].units, 4);
  EXPECT_EQ(all.types[0].code.count, 400);
  EXPECT_EQ(all.types[0].state.count, 3 * 40 + 3 * 20);
  EXPECT_EQ(all.types[0].lists.count, 24);
  const UnitVertices some = profile.vertices({3, 0});
  EXPECT_EQ(some.types[0].count, 2 + 1);
  EXPECT_EQ(some.types[0].code.count, 200);
  EXPECT_EQ(some.types[1].bytes().count, 62);
  LayoutProfile without;
  without.load();
  EXPECT_FALSE(without.vertices({}).known);
}

}  // namespace
}  // namespace pipescope::analysis
