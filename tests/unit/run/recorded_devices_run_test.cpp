// Tests which recorded device stands for each rank of each replica.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "app/run/request/configuration_keys.h"
#include "profiler/analysis/pipeline/stragglers.h"
#include "profiler/analysis/recorded_devices.h"
#include "run_fixture.h"

namespace pipescope::app {
namespace {

using RecordedDevicesTest = RunFixture;

/// Six replicas of two places of two ranks, of which the third one has a slow rank.
std::string sixReplicas(const std::string& order, int slow) {
  return fmt::format(R"(
[model]
builder = "decoder"
layers = 2
hidden = 64
heads = 4
feed_forward = 128
vocabulary = 512
sequence = 16
[execution]
mode = "training"
numerics = false
stages = 2
schedule = "1f1b"
tensor_parallel = 2
axis_order = "{}"
[training]
replication_factor = 6
optimizer = "sgd"
[system]
name = "hls-gaudi2x4"
[[device_scale]]
device = {}
compute = 0.5
)",
                     order, slow);
}

TEST_F(RecordedDevicesTest, NameTheFirstRankOfAnEqualReplica) {
  for (const bool placesOutermost : {false, true}) {
    const auto chip = [&](int replica, int place, int rank) {
      return placesOutermost ? (place * 6 + replica) * 2 + rank : (replica * 2 + place) * 2 + rank;
    };
    auto parsed = parseConfiguration(
        sixReplicas(placesOutermost ? "tp-cp-ep-dp-pp" : "tp-cp-ep-pp-dp", chip(2, 1, 1)), "six.toml");
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    const auto done = run(*parsed);
    ASSERT_TRUE(done.ok()) << done.error().message;
    const Read profile = read();
    const auto stands = analysis::recordedDevices(*profile.catalog, model::ExecutableId(0));
    ASSERT_EQ(stands.size(), 32u);
    std::set<std::int64_t> recorded;
    for (const model::Placement& placement : **profile.source->rows<model::Placement>())
      recorded.insert(placement.device.value);
    for (int replica = 0; replica < 6; ++replica) {
      for (int place = 0; place < 2; ++place) {
        for (int rank = 0; rank < 2; ++rank) {
          const std::int64_t of = stands[model::DeviceId(chip(replica, place, rank))].value;
          EXPECT_TRUE(recorded.contains(of)) << of;
          if (replica == 2) {
            EXPECT_EQ(of, chip(2, place, 0)) << "slow, so it stands for itself";
          } else {
            EXPECT_NE(of, chip(2, place, 0));
            EXPECT_TRUE(of == chip(0, place, 0) || recorded.size() > 4) << replica << " " << place;
          }
        }
      }
    }
    for (std::int64_t idle = 24; idle < 32; ++idle) EXPECT_FALSE(stands[model::DeviceId(idle)].valid());
    const auto text = [&](int device) {
      return analysis::recordedText(*profile.catalog, model::ExecutableId(0), model::DeviceId(device));
    };
    EXPECT_EQ(text(chip(2, 0, 0)), "");
    EXPECT_EQ(
        text(chip(2, 1, 1)),
        fmt::format("HPU{} is rank 1 of replica 2. It does the same as HPU{} at the same time, which is "
                    "recorded for both.",
                    chip(2, 1, 1), chip(2, 1, 0)));
    EXPECT_EQ(text(31), "");
  }
}

/// Each rank stands with the first one of its own place, also if both of two replicas are recorded.
TEST_F(RecordedDevicesTest, RanksStandWithTheirOwnReplica) {
  std::string text = sixReplicas("tp-cp-ep-dp-pp", 3);  // the second rank of replica 1 at place 0
  text.replace(text.find("replication_factor = 6"), 22, "replication_factor = 2");
  auto parsed = parseConfiguration(text, "two.toml");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const auto done = run(*parsed);
  ASSERT_TRUE(done.ok()) << done.error().message;
  const Read profile = read();
  const auto stands = analysis::recordedDevices(*profile.catalog, model::ExecutableId(0));
  for (std::int64_t chip = 0; chip < 8; ++chip)
    EXPECT_EQ(stands[model::DeviceId(chip)].value, chip - chip % 2) << chip;
  const auto late = analysis::stragglers(*profile.source, *profile.catalog, model::ExecutableId(0));
  ASSERT_TRUE(late.ok()) << late.error().message;
  EXPECT_NE(late->why.find("[[device_scale]]"), std::string::npos) << late->why;
}

/// Only the first 2,048 chips of a system have all of their lanes and links; later ones have those on which
/// something is recorded.
TEST_F(RecordedDevicesTest, LateChipsHaveTheLanesThatAreUsed) {
  constexpr std::int64_t kReplicas = 144, kRanks = 8, kChips = 2 * kReplicas * kRanks, kWhole = 2048;
  std::string text = sixReplicas("tp-cp-ep-dp-pp", static_cast<int>(kChips - 4));
  const auto set = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  set("replication_factor = 6", "replication_factor = 144");
  set("tensor_parallel = 2", "tensor_parallel = 8");
  set("heads = 4", "heads = 8");
  set("hls-gaudi2x4", "hls-gaudi2x288");
  auto parsed = parseConfiguration(text, "late.toml");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const auto done = run(*parsed);
  ASSERT_TRUE(done.ok()) << done.error().message;
  const Read profile = read();
  const analysis::Catalog& catalog = *profile.catalog;
  ASSERT_EQ(static_cast<std::int64_t>(catalog.devices.size()), kChips);
  std::map<std::int64_t, int> lanes;
  for (const model::Lane& lane : catalog.lanes) ++lanes[lane.device.value];
  for (std::int64_t chip = 0; chip < kWhole; ++chip) EXPECT_EQ(lanes[chip], 5) << chip;
  bool late = false;
  for (const model::Segment& segment : catalog.segments) {
    EXPECT_EQ(catalog.lanes[segment.lane].device, segment.device);
    late = late || segment.device.value == kChips - kRanks;
  }
  EXPECT_TRUE(late) << "the slow chip's place is recorded";
  EXPECT_EQ(lanes[kChips - kRanks], 5);
  EXPECT_EQ(lanes[kChips - 2 * kRanks], 0) << "an equal replica";
  for (const model::Link& link : catalog.links)
    EXPECT_TRUE(std::max(link.from.value, link.to.value) < kWhole || link.from.value == kChips - kRanks ||
                link.to.value == kChips - kRanks)
        << link.name;
  for (const model::Transfer& transfer : **profile.source->rows<model::Transfer>()) {
    EXPECT_TRUE(catalog.deviceOf(transfer.fromLane).valid());
    EXPECT_TRUE(catalog.deviceOf(transfer.toLane).valid());
  }
  const auto stands = analysis::recordedDevices(catalog, model::ExecutableId(0));
  EXPECT_EQ(stands[model::DeviceId(kChips - 1)].value, kChips - kRanks);
  EXPECT_LT(stands[model::DeviceId(kChips - kRanks - 1)].value, kChips - kRanks);
}

}  // namespace
}  // namespace pipescope::app
