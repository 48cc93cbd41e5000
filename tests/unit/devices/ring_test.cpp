// Collectives as rings over the ladder, compared with closed formulas, and with the sizes at which PopLibs
// changes its method.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "engine/devices/core/device_files.h"
#include "engine/devices/ipu/collectives/ring.h"

namespace pipescope::devices::ipu {
namespace {

constexpr double kLane = 137438953472.0 / 8 * 0.85;  // bytes per second of a lane in one direction
constexpr double kStartup = 1.3e-6, kGateways = 2.5e-6;

Ladder ladderOf(const std::string& system, int devices) {
  const DeviceFiles files{std::filesystem::path()};
  const auto file = files.system(system);
  EXPECT_TRUE(file.ok()) << file.error().message;
  FigureReader figures(*file);
  // Figures that the ladder does not read.
  figures.count("devices", "IPUs", 1024);
  figures.countOr("streaming_memory", "B", std::int64_t{1} << 50, 0);
  figures.positiveOr("streaming_bandwidth", "B/s", 0);
  figures.positive("machine_host_bandwidth", "B/s");
  figures.countOr("machine_devices", "IPUs", 1024, 1);
  figures.positiveOr("machine_streaming_bandwidth", "B/s", 1);
  auto ladder = Ladder::read(figures, devices);
  EXPECT_TRUE(ladder.ok()) << ladder.error().message;
  return *ladder;
}

std::vector<int> everyOf(int count, int stride, int first = 0) {
  std::vector<int> devices;
  for (int i = 0; i < count; ++i) devices.push_back(first + i * stride);
  return devices;
}

/// Seconds of all exchanges of a collective, without syncs and what tiles do.
double secondsOf(const std::vector<CollectivePhase>& phases) {
  double seconds = 0;
  for (const CollectivePhase& phase : phases) seconds += static_cast<double>(phase.exchanges) * phase.seconds;
  return seconds;
}

double exchanges(double count, double bytes, double bytesPerSecond) {
  return count * (bytes / bytesPerSecond + kStartup);
}

using Kind = ops::Collective::Kind;

TEST(Ring, GoesUpOneSideAndDownTheOther) {
  EXPECT_EQ(ringOrder(everyOf(8, 1)), (std::vector<int>{0, 2, 4, 6, 7, 5, 3, 1}));
  EXPECT_EQ(ringOrder(everyOf(5, 1)), (std::vector<int>{0, 2, 4, 3, 1}));
  EXPECT_EQ(ringOrder({0, 4, 8, 12}), (std::vector<int>{0, 8, 12, 4}));
}

TEST(Ring, MethodFollowsSizeAndMembers) {
  // The largest sizes for which PopLibs meets in the middle, and one byte more (ReplicatedCollectives.cpp).
  const struct {
    bool gathers;
    std::int64_t members, bytes;
  } borders[] = {{false, 4, 1245183}, {false, 8, 4980735}, {false, 16, 39845887},
                 {true, 4, 622591},   {true, 8, 2490367},  {true, 16, 19922943}};
  for (const auto& [gathers, members, bytes] : borders) {
    EXPECT_EQ(ringMethod(gathers, members, bytes, false), RingMethod::meetInMiddle) << members;
    EXPECT_EQ(ringMethod(gathers, members, bytes + 1, false), RingMethod::bidirectionalPair) << members;
    EXPECT_EQ(ringMethod(gathers, members, bytes, true), RingMethod::clockwise) << members;
  }
  EXPECT_EQ(ringMethod(false, 64, 1 << 30, false), RingMethod::meetInMiddle);
  EXPECT_EQ(ringMethod(false, 2, 1 << 30, false), RingMethod::clockwise);
}

TEST(Ring, PhasesTakeTheirClosedFormulas) {
  const Ladder ladder = ladderOf("pod64", 64);
  const auto seconds = [&](Kind kind, std::int64_t bytes, const std::vector<int>& group, bool severalIpus) {
    return secondsOf(collectivePhases(ladder, kind, bytes, {{group}}, severalIpus));
  };
  const std::int64_t bytes = 51'200'000;
  const auto whole = static_cast<double>(bytes);
  // Two devices: four lanes of their own, and one exchange in each phase.
  EXPECT_NEAR(seconds(Kind::allReduce, bytes, everyOf(2, 1), false), exchanges(2, whole / 2, 4 * kLane),
              1e-9);
  // 16: a pair of rings scatters, and the shares of 3.2 MB meet in the middle. Two lanes go up and down.
  const double scatter = exchanges(15, whole / 32, 2 * kLane), gather = exchanges(8, whole / 16, 2 * kLane);
  EXPECT_NEAR(seconds(Kind::reduceScatter, bytes, everyOf(16, 1), false), scatter, 1e-9);
  EXPECT_NEAR(seconds(Kind::allGather, bytes, everyOf(16, 1), false), gather, 1e-9);
  EXPECT_NEAR(seconds(Kind::allReduce, bytes, everyOf(16, 1), false), scatter + gather, 1e-9);
  // 64 meet in the middle both times.
  EXPECT_NEAR(seconds(Kind::allReduce, bytes, everyOf(64, 1), false), exchanges(64, whole / 64, 2 * kLane),
              1e-9);
  // Replicas of four devices send in one direction.
  EXPECT_NEAR(seconds(Kind::allReduce, bytes, everyOf(16, 4), true), exchanges(30, whole / 16, 2 * kLane),
              1e-9);
  EXPECT_TRUE(collectivePhases(ladder, Kind::allReduce, bytes, {{everyOf(1, 1)}}, false).empty());
}

TEST(Ring, RingsOfOtherPlacesShareLinks) {
  const Ladder ladder = ladderOf("pod16", 16);
  const auto seconds = [&](const std::vector<RingGroup>& groups) {
    return secondsOf(collectivePhases(ladder, Kind::allReduce, 1 << 24, groups, true));
  };
  // Replicas of four devices: places 0 and 1 are on different sides of the ladder, 0 and 2 on the same side.
  const double alone = seconds({{everyOf(4, 4)}});
  EXPECT_NEAR(alone, exchanges(6, 1 << 22, 2 * kLane), 1e-9);
  EXPECT_NEAR(seconds({{everyOf(4, 4)}, {everyOf(4, 4, 1)}}), alone, 1e-12);
  EXPECT_NEAR(seconds({{everyOf(4, 4)}, {everyOf(4, 4, 2)}}), exchanges(6, 1 << 22, kLane), 1e-9);
}

/// Links of the ladder that each of several flows up or down one side takes: device of the link, and true if
/// it goes up.
using Hops = std::vector<std::set<std::pair<int, bool>>>;

/// Seconds until all flows on links of `capacity` have ended. At each moment all flows of a link have the
/// same rate, and a flow has that of its slowest link; when a flow ends, the others go on.
double fluidSeconds(const Hops& hops, std::vector<double> bytes, double capacity) {
  double now = 0;
  while (true) {
    std::map<std::pair<int, bool>, int> users;
    for (std::size_t i = 0; i < hops.size(); ++i) {
      for (const auto& link : hops[i]) users[link] += bytes[i] > 0 ? 1 : 0;
    }
    double next = -1;
    std::vector<double> rates(hops.size(), 0);
    for (std::size_t i = 0; i < hops.size(); ++i) {
      if (bytes[i] <= 0) continue;
      rates[i] = capacity;
      for (const auto& link : hops[i]) rates[i] = std::min(rates[i], capacity / users[link]);
      const double end = bytes[i] / rates[i];
      next = next < 0 ? end : std::min(next, end);
    }
    if (next < 0) return now;
    now += next;
    for (std::size_t i = 0; i < hops.size(); ++i)
      bytes[i] = bytes[i] > rates[i] * next + 1e-6 ? bytes[i] - rates[i] * next : 0;
  }
}

TEST(Ring, PlacesThatSendLessShareLinksForShorter) {
  // Two replicas: the ring of a place goes up and down between them. All rings of a side cross the border.
  const Ladder ladder = ladderOf("pod16", 16);
  std::mt19937 random(1);
  for (int draw = 0; draw < 50; ++draw) {
    const int places = draw % 2 == 0 ? 8 : 4;
    std::vector<RingGroup> groups;
    Hops hops;
    std::vector<double> sent;
    const std::int64_t bytes = 1 << 26;
    for (int place = 0; place < places; ++place) {
      const double share = place == 0 ? 1 : std::uniform_int_distribution(0, 8)(random) / 8.0;
      groups.push_back({everyOf(2, places, place), share});
      for (const bool up : {true, false}) {
        auto& links = hops.emplace_back();
        for (int at = place; at < place + places; at += 2) links.insert({at, up});
        sent.push_back(share * static_cast<double>(bytes) / 2);
      }
    }
    // A reduce-scatter and an all-gather, with one exchange of half the tensor each.
    const double expected = 2 * (fluidSeconds(hops, sent, 2 * kLane) + kStartup);
    EXPECT_NEAR(secondsOf(collectivePhases(ladder, Kind::allReduce, bytes, groups, true)) / expected, 1,
                1e-6);
  }
}

TEST(Ring, OnlySharesGoThroughGateways) {
  const Ladder ladder = ladderOf("pod256", 256);
  const std::int64_t bytes = 51'200'000;
  const std::vector<CollectivePhase> phases =
      collectivePhases(ladder, Kind::allReduce, bytes, {{everyOf(256, 1)}}, false);
  ASSERT_EQ(phases.size(), 4u);
  EXPECT_EQ(phases[0].name, "ReduceScatter");
  EXPECT_EQ(phases[1].name, "ReduceScatterOverGateways");
  EXPECT_EQ(phases[2].name, "AllGatherOverGateways");
  EXPECT_EQ(phases[3].name, "AllGather");
  // Four domains hold a share of 800,000 bytes each. They meet in the middle, so each device sends a quarter
  // of its share in both directions, twice in each phase. The four devices of a machine share 25 GB/s.
  EXPECT_EQ(phases[1].exchanges, 2);
  EXPECT_EQ(phases[1].fragmentBytes, 200'000);
  EXPECT_NEAR(phases[1].seconds, 4 * 2 * 200'000 / 25e9 + kStartup + kGateways, 1e-12);
  EXPECT_NEAR(secondsOf(phases),
              exchanges(64, 800'000, 2 * kLane) + 4 * (4 * 2 * 200'000 / 25e9 + kStartup + kGateways), 1e-9);
}

}  // namespace
}  // namespace pipescope::devices::ipu
