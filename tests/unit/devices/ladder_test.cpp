// Routes and contention, computed by hand from the rules of the ladder.
#include "engine/devices/ipu/collectives/ladder.h"

#include <cmath>
#include <set>
#include <tuple>

#include "ipu_fixtures.h"

namespace pipescope::devices {
namespace {

using ipu::Ladder;
using Way = Ladder::Way;

/// Two lanes of 16 GiB/s at an efficiency of 0.85; a pair has four.
constexpr double kTwoLanes = 2 * 128.0 * 1024 * 1024 * 1024 / 8 * 0.85;
constexpr double kCopyStartup = 1.3e-6;
constexpr double kClock = 1.33e9;

std::int64_t cycles(double seconds) {
  return static_cast<std::int64_t>(std::ceil(seconds * kClock - 1e-6));
}

std::vector<std::int64_t> copyTicks(const System& system, const std::vector<Flow>& flows) {
  std::vector<std::int64_t> ticks;
  for (const base::Ticks t : system.transferTicks(flows)) ticks.push_back(t.count);
  return ticks;
}

Ladder partitionOf(int devices) {
  const FigureFile file = DeviceFiles({}).system("pod16").value();
  FigureReader reader(file);
  reader.count("devices", "IPUs", 64);
  reader.positive("machine_host_bandwidth", "B/s");
  reader.positive("streaming_memory", "B");
  reader.positive("streaming_bandwidth", "B/s");
  reader.countOr("machine_devices", "IPUs", 1024, 1);
  reader.positiveOr("machine_streaming_bandwidth", "B/s", 1);
  return Ladder::read(reader, devices).value();
}

TEST(Ladder, RoutesCrossTheRungFirst) {
  const Ladder ladder = partitionOf(8);
  using Hops = std::vector<Ladder::Hop>;
  EXPECT_EQ(ladder.route(0, 1), (Hops{{0, Way::partner}}));
  EXPECT_EQ(ladder.route(0, 2), (Hops{{0, Way::up}}));
  EXPECT_EQ(ladder.route(0, 3), (Hops{{0, Way::transit}, {1, Way::up}}));
  EXPECT_EQ(ladder.route(7, 0), (Hops{{7, Way::transit}, {6, Way::down}, {4, Way::down}, {2, Way::down}}));
  EXPECT_TRUE(ladder.route(3, 3).empty());
}

TEST(Ladder, RacksAreJoinedByTheGatewaysOfTheirMachines) {
  const Ladder ladder = partitionOf(128);
  using Hops = std::vector<Ladder::Hop>;
  // The route goes to the IPU in the same place of the other rack, then along its ladder; four IPUs share a
  // gateway.
  EXPECT_EQ(ladder.route(5, 69), (Hops{{4, Way::gateway}}));
  EXPECT_EQ(ladder.route(5, 70), (Hops{{4, Way::gateway}, {69, Way::transit}, {68, Way::up}}));
  EXPECT_EQ(ladder.route(62, 63), (Hops{{62, Way::partner}}));
  const auto system = testing::systemOf("pod128");
  constexpr std::int64_t megabyte = 1 << 20;
  constexpr double kGateways = kCopyStartup + 2.5e-6;
  const std::int64_t alone = cycles(kGateways + megabyte / 25e9);
  EXPECT_EQ(copyTicks(*system, {{0, 64, base::Bytes(megabyte)}}), std::vector{alone});
  EXPECT_EQ(copyTicks(*system, {{0, 64, base::Bytes(megabyte)}, {3, 67, base::Bytes(megabyte)}}),
            (std::vector<std::int64_t>(2, cycles(kGateways + 2 * megabyte / 25e9))));
  EXPECT_EQ(copyTicks(*system, {{0, 64, base::Bytes(megabyte)}, {4, 68, base::Bytes(megabyte)}}),
            (std::vector<std::int64_t>(2, alone)));
  // No link leads from one rack's ladder to the next one's.
  for (const LinkInfo& link : ladder.links()) {
    if (link.name.starts_with("IPU-Link")) {
      EXPECT_EQ(link.from / 64, link.to / 64);
    }
  }
}

/// A sync of several racks passes gateways, there and back. One within a rack does not, however many racks
/// the system has.
TEST(Ladder, SyncsOfSeveralRacksPassGateways) {
  const auto system = testing::systemOf("pod256");
  const auto hops = [](int devices) { return 2 * 15e-9 * (1 + devices / 4); };  // PopLibs test library
  EXPECT_EQ(system->syncTicks(64).count, cycles(hops(64)));
  EXPECT_EQ(system->syncTicks(128).count, cycles(hops(128) + 2 * 2.5e-6));
  EXPECT_EQ(system->syncTicks(256).count, cycles(hops(256) + 2 * 2.5e-6));
  EXPECT_EQ(testing::systemOf("pod64")->syncTicks(64).count, cycles(hops(64)));
}

/// The links of a way follow each other, and each is one that the system has.
TEST(Ladder, NamesTheLinksOfARoute) {
  for (const int devices : {1, 2, 8, 128, 256}) {
    const Ladder ladder = partitionOf(devices);
    std::set<std::tuple<int, int, std::string>> links;
    for (const LinkInfo& link : ladder.links())
      EXPECT_TRUE(links.insert({link.from, link.to, link.name}).second) << "each link once";
    for (int from = 0; from<devices; from += devices> 8 ? 7 : 1) {
      for (int to = 0; to<devices; to += devices> 8 ? 5 : 1) {
        const std::vector<LinkInfo> way = ladder.linksOfRoute(from, to);
        EXPECT_EQ(way.size(), ladder.route(from, to).size());
        int at = from;
        for (const LinkInfo& link : way) {
          EXPECT_EQ(link.from, at);
          EXPECT_TRUE(links.contains({link.from, link.to, link.name})) << from << " to " << to;
          at = link.to;
        }
        EXPECT_EQ(at, to);
      }
    }
  }
  const std::vector<LinkInfo> far = partitionOf(256).linksOfRoute(5, 198);
  ASSERT_EQ(far.size(), 3U);
  EXPECT_EQ(far[0].name, "gateway");
  EXPECT_EQ(far[0].to, 197);
  EXPECT_EQ(far[1].to, 196);
  EXPECT_EQ(far[2].name, "IPU-Link up");
}

TEST(Ladder, OneFlowTakesItsSlowestLink) {
  const auto system = testing::systemOf("pod4");
  constexpr std::int64_t megabyte = 1 << 20;
  EXPECT_EQ(copyTicks(*system, {{0, 1, base::Bytes(megabyte)}}),
            std::vector{cycles(kCopyStartup + megabyte / (2 * kTwoLanes))});
  EXPECT_EQ(copyTicks(*system, {{0, 2, base::Bytes(megabyte)}}),
            std::vector{cycles(kCopyStartup + megabyte / kTwoLanes)});
  EXPECT_EQ(copyTicks(*system, {{0, 3, base::Bytes(megabyte)}}),
            std::vector{cycles(kCopyStartup + megabyte / kTwoLanes)});
}

TEST(Ladder, NothingTakesNoTime) {
  const auto system = testing::systemOf("pod4");
  EXPECT_EQ(copyTicks(*system, {{0, 1, base::Bytes(0)}, {2, 2, base::Bytes(100)}}),
            (std::vector<std::int64_t>{0, 0}));
  EXPECT_TRUE(system->transferTicks({}).empty());
}

TEST(Ladder, AllFourSendToTheNext) {
  // 0→1 and 2→3 cross their rungs; 1→2 and 3→0 cross a rung in transit and go up or down. No two of them
  // share a link.
  const auto system = testing::systemOf("pod4");
  const base::Bytes bytes(3'000'000);
  const std::int64_t rung = cycles(kCopyStartup + 3e6 / (2 * kTwoLanes)),
                     hop = cycles(kCopyStartup + 3e6 / kTwoLanes);
  EXPECT_EQ(copyTicks(*system, {{0, 1, bytes}, {1, 2, bytes}, {2, 3, bytes}, {3, 0, bytes}}),
            (std::vector{rung, hop, rung, hop}));
}

TEST(Ladder, FlowsShareLinks) {
  // 0→2 and 1→2: the second first crosses to 0 in transit; then both go up from 0.
  const auto system = testing::systemOf("pod4");
  const base::Bytes bytes(1'000'000);
  const std::int64_t both = cycles(kCopyStartup + 2e6 / kTwoLanes);
  EXPECT_EQ(copyTicks(*system, {{0, 2, bytes}, {1, 2, bytes}}), (std::vector{both, both}));
  // A flow in the other direction is not slowed.
  EXPECT_EQ(copyTicks(*system, {{0, 2, bytes}, {1, 2, bytes}, {2, 0, bytes}})[2],
            cycles(kCopyStartup + 1e6 / kTwoLanes));
}

TEST(Ladder, C2ReachesLessOfItsLinks) {
  const auto system = testing::systemOf("c2");
  const double seconds = kCopyStartup + 1e6 / (2 * kTwoLanes * 0.6);
  EXPECT_EQ(system->transferTicks({{0, 1, base::Bytes(1'000'000)}})[0].count,
            static_cast<std::int64_t>(std::ceil(seconds * 1.6e9 - 1e-6)));
}

TEST(Ladder, GlobalSync) {
  // ceil(15 ns × clock × (1 + n / 4) × 2)
  const auto system = testing::systemOf("pod16");
  EXPECT_EQ(system->syncTicks(1).count, 40);  // 39.9
  EXPECT_EQ(system->syncTicks(2).count, 40);
  EXPECT_EQ(system->syncTicks(4).count, 80);    // 79.8
  EXPECT_EQ(system->syncTicks(16).count, 200);  // 199.5
  EXPECT_EQ(testing::systemOf("c2x8")->syncTicks(16).count, 240);
}

TEST(Ladder, CallsTakeHostTime) {
  EXPECT_EQ(testing::systemOf("pod4")->callTicks().count, 66'500);
}

TEST(Ladder, LinksAreDirectedAndUnique) {
  const auto system = testing::systemOf("pod4");
  std::map<std::pair<int, int>, double> links;
  for (const LinkInfo& link : system->links())
    EXPECT_TRUE(links.emplace(std::pair(link.from, link.to), link.bytesPerSecond).second);
  EXPECT_EQ(links.size(), 8u + 8u);  // 4 on rungs, 4 between them, to and from the host
  EXPECT_DOUBLE_EQ(links.at({0, 1}), 2 * kTwoLanes);
  EXPECT_DOUBLE_EQ(links.at({1, 3}), kTwoLanes);
  EXPECT_TRUE(links.contains({-1, 2}));
  EXPECT_FALSE(links.contains({0, 3}));
}

}  // namespace
}  // namespace pipescope::devices
