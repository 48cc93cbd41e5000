// Gaudi cards and boxes: their figures, names, wiring and refusals.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <tuple>

#include "gaudi_fixtures.h"

namespace pipescope::devices {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using Kind = ops::Collective::Kind;
using testing::cardOf;
using testing::fabricOf;
using testing::refusalOf;
using testing::systemOf;
using testing::TemporaryFolder;

std::string figure(const System& system, const std::string& name) {
  for (const Figure& each : system.figures()) {
    if (each.name == name) return each.value + " " + each.unit;
  }
  return "none";
}

TEST(GaudiSystem, ListsCardsAndBoxes) {
  EXPECT_THAT(knownSystems(),
              IsSupersetOf({"gaudi", "gaudi2", "gaudi3", "hls-1", "hls-1h", "dl1", "hls-gaudi2", "hls-3"}));
}

/// Peaks of the published tables: 59, 432 and 1,677 TFLOP/s in bf16, 14.7 in fp32 on the first, 865 in fp8 on
/// the second.
TEST(GaudiSystem, PeaksAreThePublishedOnes) {
  EXPECT_EQ(figure(*systemOf("gaudi"), "peak_bf16"), "58.98 TFLOP/s");
  EXPECT_EQ(figure(*systemOf("gaudi"), "peak_fp32"), "14.75 TFLOP/s");
  EXPECT_EQ(figure(*systemOf("gaudi2"), "peak_bf16"), "432.5 TFLOP/s");
  EXPECT_EQ(figure(*systemOf("gaudi2"), "peak_fp8"), "865.1 TFLOP/s");
  EXPECT_EQ(figure(*systemOf("gaudi3"), "peak_bf16"), "1.678 PFLOP/s");
  EXPECT_EQ(figure(*systemOf("hls-1"), "scale_up_bandwidth"), "87.5 GB/s");
  EXPECT_EQ(figure(*systemOf("hls-gaudi2"), "scale_up_bandwidth"), "262.5 GB/s");
  EXPECT_EQ(figure(*systemOf("hls-3"), "scale_up_bandwidth"), "525 GB/s");
}

/// Shares of links by the link's number.
std::map<std::int64_t, double> sharesOf(const System& system, const ops::Collective& work, int device,
                                        const std::vector<int>& group) {
  std::map<std::int64_t, double> shares;
  for (const LinkShare& each : system.linkShares(work, device, group)) shares[each.link] = each.share;
  return shares;
}

TEST(GaudiSystem, CollectivesTakeSharesOfTheLinksOfACard) {
  const auto system = systemOf("hls-gaudi2x2");
  const ops::Collective sum{.kind = Kind::allReduce, .elements = 64 << 20};
  const double bytes = 4.0 * (64 << 20), latency = cardOf("gaudi2").collectiveLatency;
  const std::vector<int> box = {0, 1, 2, 3, 4, 5, 6, 7};
  // The links to and from each of seven peers in the box are full all the time but for the two starts.
  const double inBox = fabricOf("hls-gaudi2", 16).collectiveSeconds(Kind::allReduce, bytes, box);
  const auto inside = sharesOf(*system, sum, 2, box);
  EXPECT_EQ(inside.size(), 14U);
  for (const auto& [link, share] : inside) EXPECT_NEAR(share, 1 - 2 * latency / inBox, 1e-12);
  for (const Flow& flow : {Flow{2, 5, Bytes(1)}, Flow{5, 2, Bytes(1)}})
    EXPECT_TRUE(inside.contains(system->linksOf(flow).front())) << "the links that transfers use";
  // Between one card of each box, the ways out and in are full but for the starts.
  const double over = fabricOf("hls-gaudi2", 16).collectiveSeconds(Kind::allReduce, bytes, {2, 10});
  const auto outside = sharesOf(*system, sum, 2, {2, 10});
  ASSERT_EQ(outside.size(), 2U);
  EXPECT_NEAR(outside.at(system->linksOf({2, 10, Bytes(1)}).front()), 1 - 2 * latency / over, 1e-12);
  EXPECT_NEAR(outside.at(system->linksOf({10, 2, Bytes(1)}).back()), 1 - 2 * latency / over, 1e-12);
  // A ring send takes the link to the next card and the one from the card before.
  const auto ring = sharesOf(*system, {.kind = Kind::ringSend, .elements = 64 << 20}, 2, {1, 2, 4});
  ASSERT_EQ(ring.size(), 2U);
  EXPECT_TRUE(ring.contains(system->linksOf({2, 4, Bytes(1)}).front()));
  EXPECT_TRUE(ring.contains(system->linksOf({1, 2, Bytes(1)}).front()));
  // Both parts use the same ports if all ports go to switches.
  const auto switched = systemOf("hls-1hx2");
  EXPECT_EQ(sharesOf(*switched, sum, 1, {0, 1, 4, 5}).size(), 2U);
  EXPECT_TRUE(sharesOf(*system, sum, 3, {3}).empty());
}

TEST(GaudiSystem, DevicesHaveEnginesAsLanesAndHbm) {
  const auto system = systemOf("hls-gaudi2");
  ASSERT_EQ(system->devices().size(), 8U);
  const DeviceInfo& device = system->devices()[5];
  EXPECT_EQ(device.name, "HPU5");
  EXPECT_EQ(device.kind, "gaudi2");
  EXPECT_EQ(device.ticksPerSecond, 1'000'000'000'000);
  EXPECT_EQ(device.lanes,
            (std::vector{model::LaneRole::matrix, model::LaneRole::vector, model::LaneRole::copy,
                         model::LaneRole::network, model::LaneRole::host}));
  ASSERT_EQ(device.memory.size(), 1U);
  EXPECT_EQ(device.memory[0].kind, "hbm");
  EXPECT_EQ(device.memory[0].units, 1);
  EXPECT_GT(device.memory[0].bytesPerUnit.count, std::int64_t{90} << 30);
  EXPECT_LT(device.memory[0].bytesPerUnit.count, std::int64_t{96} << 30);
}

TEST(GaudiSystem, TakesPartsAndBoxes) {
  EXPECT_EQ(systemOf("hls-gaudi2:4")->devices().size(), 4U);
  EXPECT_EQ(systemOf("hls-gaudi2x4")->devices().size(), 32U);
  EXPECT_EQ(systemOf("hls-1hx4")->devices().size(), 16U);
  EXPECT_EQ(systemOf("gaudi3")->devices().size(), 1U);
  EXPECT_THAT(systemOf("hls-gaudi2x4")->description(), HasSubstr("4 of them"));
  EXPECT_THAT(systemOf("hls-3:3")->description(), HasSubstr("3 cards of it"));
}

TEST(GaudiSystem, RefusesWhatIsNotThere) {
  EXPECT_EQ(refusalOf("hls-gaudi2:9"),
            "System \"hls-gaudi2:9\" has 8 cards, but 9 are wanted; take more boxes (hls-gaudi2xBOXES).");
  EXPECT_EQ(refusalOf("hls-1x99999"), "System \"hls-1x99999\": there are at most 16384 boxes of it.");
  EXPECT_EQ(refusalOf("gaudi2x2"), "System \"gaudi2x2\": there are at most 1 box of it.");
}

TEST(GaudiSystem, RefusesAbsurdFigures) {
  const auto refused = [](const std::string& figures) {
    const TemporaryFolder folder;
    folder.write("devices/odd.toml", "base = \"gaudi2\"\n[figures]\n" + figures);
    SystemOptions options;
    options.userFolder = folder.path();
    return refusalOf("odd", options);
  };
  EXPECT_THAT(refused("cache_line = { value = 100, unit = \"B\", grade = \"R\", source = \"test\" }\n"),
              HasSubstr("figure \"cache_line\" is 100, but must be a power of two."));
  EXPECT_THAT(refused("hbm_reserved = { value = 1e12, unit = \"B\", grade = \"R\", source = \"test\" }\n"),
              HasSubstr("hbm_reserved (1000000000000 B) must be less than hbm (103079215104 B)."));
  EXPECT_THAT(
      refused("mme_least_side = { value = 65536, unit = \"MACs\", grade = \"R\", source = \"test\" }\n"),
      HasSubstr("mme_least_side (65536) must be at most mme_most_rows (1024)"));
  EXPECT_THAT(refused("tpcss = { value = 1, unit = \"TPCs\", grade = \"R\", source = \"test\" }\n"),
              HasSubstr("unknown figure \"tpcss\"; did you mean \"tpcs\"?"));
  const TemporaryFolder folder;
  folder.write(
      "systems/odd.toml",
      "base = \"hls-1\"\n[figures]\nports_per_peer = { value = 2, unit = \"ports\", grade = \"R\", source = "
      "\"test\" }\n");
  SystemOptions options;
  options.userFolder = folder.path();
  EXPECT_EQ(refusalOf("odd", options),
            "A box of 8 cards with 2 ports to each peer needs 14 ports a card, but a card of gaudi has 10.");
}

TEST(GaudiFabric, FlowsMeetOnAPeerLinkOnly) {
  const gaudi::Fabric fabric = fabricOf("hls-gaudi2", 8);
  const Bytes bytes(1'000'000'000);
  const double alone = fabric.seconds({{0, 1, bytes}})[0];
  // Three ports of 12.5 GB/s at an efficiency of 0.9901.
  EXPECT_NEAR(alone, 1e9 / (37.5e9 * 0.9901), 1e-5);
  // Flows between other pairs of a mesh do not slow a flow; those of the same pair do.
  EXPECT_DOUBLE_EQ(fabric.seconds({{0, 1, bytes}, {0, 2, bytes}, {1, 0, bytes}})[0], alone);
  EXPECT_NEAR(fabric.seconds({{0, 1, bytes}, {0, 1, bytes}})[1], 2 * alone, 1e-5);
  EXPECT_EQ(fabric.seconds({{3, 3, bytes}})[0], 0);
  // All flows between boxes from one card share its way out, and all flows to one card share its way in.
  const gaudi::Fabric boxes = fabricOf("hls-gaudi2", 16);
  const double out = boxes.seconds({{0, 8, bytes}})[0];
  EXPECT_NEAR(boxes.seconds({{0, 8, bytes}, {0, 9, bytes}})[1], 2 * out, 1e-4);
  EXPECT_NEAR(boxes.seconds({{0, 8, bytes}, {1, 8, bytes}})[1], 2 * out, 1e-4);
  EXPECT_DOUBLE_EQ(boxes.seconds({{0, 8, bytes}, {1, 9, bytes}})[1], out);
}

std::vector<int> firstCards(int count) {
  std::vector<int> cards;
  for (int i = 0; i < count; ++i) cards.push_back(i);
  return cards;
}

/// docs.habana.ai: 256 MiB of fp32 over eight Gaudi3 take 0.9158 ms.
TEST(GaudiFabric, AllReduceAsMeasured) {
  const double seconds = fabricOf("hls-3", 8).collectiveSeconds(Kind::allReduce, 256 << 20, firstCards(8));
  EXPECT_NEAR(seconds * 1e3, 0.9158, 0.05 * 0.9158);
}

/// t = α + phases·(P − 1)/P·S/(η·B) with B = (P − 1) peer links. With fewer cards, each card moves more
/// through fewer links.
TEST(GaudiFabric, FewerCardsLeaveLinksIdle) {
  const gaudi::Fabric fabric = fabricOf("hls-1", 8);
  const double bytes = 1e9, peer = 12.5e9 * 0.9901;
  for (int cards = 2; cards <= 8; ++cards) {
    const double p = cards;
    const double expected = 2 * (p - 1) / p * bytes / (peer * (p - 1));
    EXPECT_NEAR(fabric.collectiveSeconds(Kind::allReduce, bytes, firstCards(cards)), expected,
                1e-4 * expected + 1e-5);
    EXPECT_NEAR(fabric.collectiveSeconds(Kind::allGather, bytes, firstCards(cards)), expected / 2,
                1e-4 * expected + 1e-5);
    EXPECT_NEAR(fabric.collectiveSeconds(Kind::reduceScatter, bytes, firstCards(cards)), expected / 2,
                1e-4 * expected + 1e-5);
  }
  EXPECT_EQ(fabric.collectiveSeconds(Kind::allReduce, bytes, firstCards(1)), 0);
  EXPECT_EQ(fabric.collectiveSeconds(Kind::allReduce, 0, firstCards(8)), 0);
}

/// Outside the box, each card moves its share, 2·(b − 1)/b·(S/8)/(η·37.5 GB/s); inside, 2·7/8·S/(η·262.5
/// GB/s). Of the faster part, one slice is not hidden: a slice has 512 KiB of each card's share S/(8b). On
/// HLS-Gaudi2 the two parts are equal at b = 4/3, so two boxes are already bound by the links between them.
TEST(GaudiFabric, BoxesReduceHierarchically) {
  const double bytes = 1e9, efficiency = 0.9901, latency = 5e-6;
  for (const int boxes : {2, 4, 8}) {
    const double b = boxes, inside = 2 * 7.0 / 8 * bytes / (efficiency * 262.5e9),
                 outside = 2 * (b - 1) / b * bytes / 8 / (efficiency * 37.5e9),
                 slices = std::ceil(bytes / (8 * b) / 524288);
    const double seconds =
        fabricOf("hls-gaudi2", 8 * boxes).collectiveSeconds(Kind::allReduce, bytes, firstCards(8 * boxes));
    EXPECT_NEAR(seconds, std::max(inside, outside) + std::min(inside, outside) / slices + 2 * latency * b,
                1e-6)
        << boxes;
  }
  // HLS-1H: four cards behind switches, each with all its ports.
  const double switched = fabricOf("hls-1h", 16).collectiveSeconds(Kind::allReduce, bytes, firstCards(16));
  EXPECT_NEAR(switched, 2 * 15.0 / 16 * bytes / (efficiency * 125e9), 5e-5);
}

/// Three copy engines of 128 B a cycle at 1.75 GHz, of which they use 93 %, add up what a card receives. A
/// pass that waits for the result waits for them, too; of sums that need nothing of each other the vendor's
/// demo does 32 MiB on 8 Gaudi2 at 147.5 GB/s.
TEST(GaudiFabric, APassWaitsForSumsOfCopyEngines) {
  ops::Collective work{.kind = Kind::allReduce, .elements = 8 << 20, .type = graph::ElementType::float32};
  const double bytes = 32 << 20, sums = bytes / (3 * 128 * 1.75e9 * 0.93);
  const gaudi::Fabric fabric = fabricOf("hls-gaudi2", 8);
  EXPECT_NEAR(fabric.collectiveTime(work, firstCards(8)).total, bytes / 147.548e9, .05 * bytes / 147.548e9);
  for (const int cards : {2, 4, 8}) {
    work.axis = model::MeshAxis::data;
    const hbm_card::CollectiveTime hidden = fabric.collectiveTime(work, firstCards(cards));
    work.axis = model::MeshAxis::tensor;
    const hbm_card::CollectiveTime waited = fabric.collectiveTime(work, firstCards(cards));
    EXPECT_NEAR(waited.total - hidden.total, sums, 1e-3 * sums) << cards;
    EXPECT_EQ(waited.inside, hidden.inside) << "links carry no more";
  }
  // Over two boxes a card also adds up the sums of both boxes for a sixteenth of the tensor, which are an
  // eighth of it together.
  const double two = fabricOf("hls-gaudi2", 16).collectiveTime(work, firstCards(16)).total;
  EXPECT_NEAR(two - fabricOf("hls-gaudi2", 16).collectiveSeconds(Kind::allReduce, bytes, firstCards(16)),
              sums * 9 / 8, 1e-3 * sums);
  work.kind = Kind::allGather;
  EXPECT_EQ(fabric.collectiveTime(work, firstCards(8)).total,
            fabric.collectiveSeconds(Kind::allGather, bytes, firstCards(8)))
      << "nothing is added up";
}

/// HCCL sums 32 MiB of float32 over two HLS-Gaudi2 in .306 ms. The model knows no more of a slice than its
/// place in the order, so it may be a tenth too fast, but neither part is free.
TEST(GaudiFabric, TwoBoxesTakeLongerThanTheirSlowerPart) {
  const double bytes = 32 << 20;
  const double seconds =
      fabricOf("hls-gaudi2", 16).collectiveSeconds(Kind::allReduce, bytes, firstCards(16)) * 1e3;
  EXPECT_NEAR(seconds, .30556, .12 * .30556);
  EXPECT_GT(seconds, 2 * 7.0 / 8 * bytes / (.9901 * 262.5e6) + .025);
}

/// A tensor of one slice passes through both parts one after the other, so its time is their sum.
TEST(GaudiFabric, OneSliceHidesNothing) {
  const gaudi::Fabric fabric = fabricOf("hls-gaudi2", 16);
  const double bytes = 16 * 524288, efficiency = 0.9901;
  EXPECT_NEAR(fabric.collectiveSeconds(Kind::allReduce, bytes, firstCards(16)),
              2 * 7.0 / 8 * bytes / (efficiency * 262.5e9) + bytes / 8 / (efficiency * 37.5e9) + 20e-6, 1e-9);
}

/// A box more never makes a sum faster, and a faster way out of the box never makes it slower.
TEST(GaudiFabric, FurtherBoxesCost) {
  double before = 0;
  for (const int boxes : {1, 2, 4, 8, 16, 32}) {
    const double seconds =
        fabricOf("hls-gaudi2", 8 * boxes).collectiveSeconds(Kind::allReduce, 51e6, firstCards(8 * boxes));
    EXPECT_GT(seconds, before) << boxes;
    before = seconds;
  }
}

/// All cards sit behind switches: a further box makes no bytes faster and costs a start.
TEST(GaudiFabric, BoxesBehindSwitchesCostAStart) {
  for (const int boxes : {2, 8, 32}) {
    const double p = 4.0 * boxes;
    const double seconds =
        fabricOf("hls-1h", 4 * boxes).collectiveSeconds(Kind::allReduce, 51e6, firstCards(4 * boxes));
    EXPECT_NEAR(seconds, 2 * (p - 1) / p * 51e6 / (0.9901 * 125e9) + 2 * 5e-6 * boxes, 1e-9) << boxes;
  }
}

/// Doubling the way out of a box helps wherever several boxes take part, however few the bytes.
TEST(GaudiFabric, ATwiceAsFastWayOutHelps) {
  const TemporaryFolder folder;
  for (const auto& [name, base, rate] :
       {std::tuple("fast-mesh", "hls-gaudi2", "75e9"), {"fast-switches", "hls-1h", "250e9"}}) {
    folder.write(
        fmt::format("systems/{}.toml", name),
        fmt::format("base = \"{}\"\n[figures]\nscale_out_bandwidth = {{ value = {}, unit = \"B/s\", grade = "
                    "\"R\", source = \"test\" }}\n",
                    base, rate));
    const FigureFile file = DeviceFiles(folder.path()).system(name).value();
    FigureReader figures(file);
    const auto cards = static_cast<int>(figures.count("devices", "cards", 1024));
    figures.countOr("max_boxes", "boxes", 16384, 1);
    for (const int boxes : {2, 4, 16}) {
      const gaudi::Fabric fast =
          gaudi::Fabric::read(cardOf(file.chip), figures, cards, cards * boxes).value();
      for (const double bytes : {1e6, 51e6, 1e9}) {
        EXPECT_LT(fast.collectiveSeconds(Kind::allReduce, bytes, firstCards(cards * boxes)),
                  fabricOf(base, cards * boxes)
                      .collectiveSeconds(Kind::allReduce, bytes, firstCards(cards * boxes)))
            << base << " x " << boxes << ", " << bytes;
      }
    }
  }
}

/// Boxes that hold different numbers of cards of a collective. Outside the box, a card of the smaller box
/// moves that box's whole sum divided by its few cards.
TEST(GaudiFabric, TheBoxWithFewestCardsBoundsWhatLeavesBoxes) {
  const gaudi::Fabric fabric = fabricOf("hls-gaudi2", 16);
  const double bytes = 1e9, efficiency = 0.9901;
  std::vector<int> cards = firstCards(8);
  cards.insert(cards.end(), {8, 9});
  const double outside = 2 * 1.0 / 2 * bytes / 2 / (efficiency * 37.5e9);
  const double slice = 2 * 7.0 / 8 * bytes / (efficiency * 262.5e9) / std::ceil(bytes / 10 / 524288);
  EXPECT_NEAR(fabric.collectiveSeconds(Kind::allReduce, bytes, cards), outside + slice + 20e-6, 1e-6);
}

/// A hierarchical sum has two steps, inside the boxes and between them, and each has its latency; between
/// them there is one for each further box. Where a box has one card only, there is nothing to do inside.
TEST(GaudiFabric, TwoStepsHaveTwoLatencies) {
  const gaudi::Fabric fabric = fabricOf("hls-gaudi2", 16);
  const double one = fabric.collectiveSeconds(Kind::allReduce, 1, firstCards(8));
  EXPECT_GT(one, 1e-7);
  EXPECT_NEAR(fabric.collectiveSeconds(Kind::allReduce, 1, firstCards(16)), 2 * one, 1e-3 * one);
  EXPECT_NEAR(fabric.collectiveSeconds(Kind::allReduce, 1, {0, 8}), one, 1e-3 * one);
}

}  // namespace
}  // namespace pipescope::devices
