// Tests which recorded device stands for each rank of each replica.
#include <fmt/format.h>

#include "app/run/request/configuration_keys.h"
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

}  // namespace
}  // namespace pipescope::app
