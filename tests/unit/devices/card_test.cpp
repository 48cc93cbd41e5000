// Checks described cards against closed formulas: what a product, a copy and a small kernel cost, and that a
// faster part of a card never makes a kernel slower.
#include <gmock/gmock.h>

#include <map>
#include <numeric>

#include "engine/devices/card/card.h"
#include "engine/devices/card/described_model.h"
#include "engine/devices/card/network.h"
#include "engine/devices/hbm_card/recipe.h"
#include "engine/devices/system_registry.h"
#include "lowered_device.h"

namespace pipescope::devices {
namespace {

using card::CardContext;
using card::DescribedModel;
using card::Network;
using graph::ElementType;
using hbm_card::EngineKernel;
using hbm_card::Traffic;
using ::testing::HasSubstr;
using testing::refusalOf;
using testing::TemporaryFolder;
using DescribedCard = card::Card;

DescribedCard described(const std::string& name) {
  return card::readCard(DeviceFiles({}).chip(name).value()).value();
}

Network networkOf(const std::string& system, int devices) {
  const FigureFile file = DeviceFiles({}).system(system).value();
  FigureReader figures(file);
  const auto cards = static_cast<int>(figures.count("devices", "cards", 1024));
  figures.countOr("max_boxes", "boxes", 16384, 1);
  return Network::read(figures, cards, devices).value();
}

ops::Contraction square(std::int64_t m, std::int64_t n, std::int64_t k) {
  ops::Contraction work;
  work.field = work.output = {m};
  work.kernel = work.stride = work.dilation = {1};
  work.padding = {0, 0};
  work.inputChannels = k;
  work.outputChannels = n;
  work.type = ElementType::bfloat16;
  return work;
}

EngineKernel kernelOf(const DescribedCard& card, const ops::WorkItem& item) {
  const Network network;
  return card::lowerWork(item, {.card = card, .network = network, .mesh = {}, .what = "layer"}).value();
}

double aloneSeconds(const DescribedCard& card, const ops::WorkItem& item, std::int64_t hbmBytes) {
  const Network network;
  const DescribedModel model({.card = card, .network = network, .mesh = {}});
  Traffic traffic;
  traffic.read = traffic.loaded = traffic.moved = hbmBytes;
  return model.costOf(kernelOf(card, item), traffic).alone;
}

/// Start and end of single kernels, one after another on the card.
std::vector<hbm_card::PlacedKernel> placedOf(const DescribedCard& card, const ops::WorkItem& item,
                                             int count) {
  const Network network;
  const DescribedModel model({.card = card, .network = network, .mesh = {}});
  hbm_card::KernelList list;
  for (int i = 0; i < count; ++i) {
    list.kernels.emplace_back();
    list.kernels.back().kernel = kernelOf(card, item);
  }
  std::vector<hbm_card::PlacedKernel> placed;
  std::vector<Traffic> traffic(list.kernels.size());
  for (std::size_t i = 0; i < traffic.size(); ++i) traffic[i].bundleBegin = i;
  hbm_card::placeKernels(model, list, traffic, list.kernels.size(), 0, placed);
  return placed;
}

TEST(DescribedCardTest, ALargeProductTakesItsFlopsOverPeakTimesEfficiency) {
  for (const char* name : {"a100-80", "h100", "b200", "mi300x"}) {
    const DescribedCard card = described(name);
    const double flops = 2.0 * 32768 * 32768 * 32768;
    const double seconds = kernelOf(card, square(32768, 32768, 32768)).arithmetic;
    EXPECT_NEAR(seconds, flops / (card.peakBf16 * card.productEfficiency), 0.001 * seconds) << name;
  }
}

TEST(DescribedCardTest, HalfOfTheEfficiencyIsReachedAtTheStatedSize) {
  DescribedCard card = described("h100");
  card.productHalfFlops = 2.0 * 1024 * 1024 * 1024;
  EXPECT_DOUBLE_EQ(kernelOf(card, square(1024, 1024, 1024)).arithmetic,
                   2 * card.productHalfFlops / (card.peakBf16 * card.productEfficiency));
  // A row takes as long as the tile that it is padded to.
  EXPECT_DOUBLE_EQ(kernelOf(card, square(1, 1024, 1024)).arithmetic,
                   kernelOf(card, square(card.productTile, 1024, 1024)).arithmetic);
}

TEST(DescribedCardTest, Float8HasItsOwnEfficiencyAndTheSameTimeToFillTheCard) {
  // Best products that mamf-finder measured, in TFLOP/s.
  for (const auto& [name, measured] :
       {std::pair("h100", 1402.6), {"b200", 3432.5}, {"b300", 3353.3}, {"gb200", 3615.6}}) {
    const DescribedCard card = described(name);
    ops::Contraction large = square(32768, 32768, 32768), small = square(128, 128, 128);
    large.type = small.type = ElementType::float8_143;
    const double flops = 2.0 * 32768 * 32768 * 32768;
    EXPECT_NEAR(kernelOf(card, large).arithmetic, flops / (measured * 1e12),
                0.002 * flops / (measured * 1e12))
        << name;
    // A product of one tile takes little more than the time to fill and drain the card.
    const double filled = card.productHalfFlops / (card.peakBf16 * card.productEfficiency);
    EXPECT_NEAR(kernelOf(card, small).arithmetic, filled, 0.01 * filled) << name;
    EXPECT_NEAR(kernelOf(card, square(128, 128, 128)).arithmetic, filled, 0.01 * filled) << name;
  }
  // Nobody measured it on an MI300X, whose file must not take over that of an H100.
  EXPECT_DOUBLE_EQ(described("mi300x").productEfficiencyFp8, described("mi300x").productEfficiency);
  EXPECT_DOUBLE_EQ(described("a100-80").productEfficiencyFp8, described("a100-80").productEfficiency);
}

TEST(DescribedCardTest, NoProductIsFasterThanThePeak) {
  for (const char* name : {"a100-80", "h100", "b200", "mi300x"}) {
    const DescribedCard card = described(name);
    for (const std::int64_t side : {1, 100, 128, 1000, 4096, 20000}) {
      const double flops = 2.0 * static_cast<double>(side * side * side);
      EXPECT_GE(kernelOf(card, square(side, side, side)).arithmetic, flops / card.peakBf16) << name << side;
    }
  }
}

TEST(DescribedCardTest, ACopyTakesItsBytesOverBandwidth) {
  const DescribedCard card = described("h100");
  const ops::Map copy{.function = ops::MapFunction::copy, .elements = 1 << 28, .type = ElementType::bfloat16};
  EXPECT_DOUBLE_EQ(aloneSeconds(card, copy, std::int64_t{1} << 30), (1 << 30) / (3.35e12 * 0.91));
}

/// The gradient of a loss subtracts one from the score of each label. Only these scores are accesses at
/// random: each reads and writes a line.
TEST(DescribedCardTest, OnlyRowsThatIndicesNameWasteLines) {
  const DescribedCard card = described("h100");
  const std::int64_t labels = 4096, classes = 1 << 17, bytes = 2 * labels * classes;
  const ops::Scatter ones{labels, 1, labels * classes, true, ElementType::bfloat16};
  EXPECT_DOUBLE_EQ(aloneSeconds(card, ones, bytes),
                   static_cast<double>(bytes + labels * 2 * (128 - 2)) / (3.35e12 * 0.91));
}

TEST(DescribedCardTest, ASmallKernelTakesItsStart) {
  DescribedCard card = described("h100");
  const ops::Map tiny{.function = ops::MapFunction::add, .elements = 1, .type = ElementType::bfloat16};
  // Without a graph, the host issues a kernel every 6 us; within one, 1.3 us pass between kernels.
  EXPECT_DOUBLE_EQ(card.kernelIssue, 6e-6);
  EXPECT_NEAR(placedOf(card, tiny, 101).back().end, 100 * 6e-6 + 1.3e-6, 1e-9);
  card.kernelIssue = 0;
  EXPECT_NEAR(placedOf(card, tiny, 100).back().end, 100 * 1.3e-6, 1e-9);
}

/// The times at which the host has issued all kernels before each one of a list.
std::vector<double> issuesOf(const DescribedCard& card, const std::vector<std::string>& paths,
                             std::int64_t groups) {
  const Network network;
  const DescribedModel model({.card = card, .network = network, .mesh = {}});
  hbm_card::KernelList list;
  for (const std::string& path : paths) {
    list.kernels.emplace_back().path = path;
    list.kernels.back().kernel.engine =
        path.ends_with("Gemm") ? hbm_card::Engine::matrix : hbm_card::Engine::vector;
    if (path.starts_with("experts")) list.kernels.back().kernel.issues = groups;
  }
  std::vector<double> seconds;
  for (std::size_t k = 0; k < paths.size(); ++k) seconds.push_back(model.issueSeconds(list, k));
  return seconds;
}

TEST(DescribedCardTest, TheHostIssuesWhatIsNotRecorded) {
  using ::testing::DoubleEq;
  using ::testing::ElementsAre;
  DescribedCard card = described("h100");
  const std::vector<std::string> paths{"norm/Mul", "attention/query/Gemm", "attention/Add", "experts/Gemm"};
  // A layer with a product takes 13.5 us of the host, every other kernel 6 us; experts have a product each.
  EXPECT_THAT(issuesOf(card, paths, 8),
              ElementsAre(DoubleEq(6e-6), DoubleEq(13.5e-6), DoubleEq(6e-6), DoubleEq(13.5e-6 + 7 * 6e-6)));
  card::recordGraphs(card, " attention , router");
  EXPECT_THAT(issuesOf(card, paths, 8),
              ElementsAre(DoubleEq(6e-6), DoubleEq(10e-6), 0, DoubleEq(13.5e-6 + 7 * 6e-6)))
      << "the host launches a graph in 10 us";
  card::recordGraphs(card, "all");
  EXPECT_THAT(issuesOf(card, paths, 8), ElementsAre(0, 0, 0, 0));
  EXPECT_DOUBLE_EQ(card.recipeLaunch, 10e-6);
  card::recordGraphs(card, "auto");
  EXPECT_DOUBLE_EQ(card.recipeLaunch, 10e-6) << "it stays as it is";
}

TEST(DescribedCardTest, TheHostWaitsForWhatItReads) {
  DescribedCard card = described("h100");
  const Network network;
  const DescribedModel model({.card = card, .network = network, .mesh = {}});
  hbm_card::KernelList list;
  for (int k = 0; k < 3; ++k) {
    list.kernels.emplace_back().kernel.engine = hbm_card::Engine::vector;
    list.kernels.back().kernel.arithmetic = 1e-3;
  }
  list.kernels[1].kernel.hostReads = true;
  std::vector<hbm_card::PlacedKernel> placed;
  std::vector<Traffic> traffic(3);
  for (std::size_t i = 0; i < 3; ++i) traffic[i].bundleBegin = i;
  hbm_card::placeKernels(model, list, traffic, 2, 0, placed);
  hbm_card::placeKernels(model, list, traffic, 3, 0, placed);
  EXPECT_NEAR(placed[1].start, placed[0].end + 1.3e-6, 1e-12) << "it was issued while the first one ran";
  // The host issues the third kernel once it has read the second one's result; the kernel then starts.
  EXPECT_NEAR(placed[2].start, placed[1].end + 1.3e-6, 1e-12);
  list.kernels.emplace_back().kernel.engine = hbm_card::Engine::vector;
  traffic.emplace_back().bundleBegin = 3;
  list.kernels[2].kernel.arithmetic = 0;
  placed.resize(2);
  hbm_card::placeKernels(model, list, traffic, 4, 0, placed);
  EXPECT_NEAR(placed[3].start, placed[1].end + 6e-6 + 1.3e-6, 1e-12) << "not before it is issued";
}

TEST(DescribedCardTest, Float4HasItsOwnPeakAndEfficiency) {
  const DescribedCard card = described("b200");
  ops::Contraction work = square(32768, 32768, 32768);
  work.type = ElementType::float4_121;
  const double flops = 2.0 * 32768 * 32768 * 32768, seconds = kernelOf(card, work).arithmetic;
  EXPECT_NEAR(seconds, flops / (9000e12 * 0.634), 0.001 * seconds);
  const Network network;
  const DescribedCard older = described("h100");
  const auto refused =
      card::lowerWork(work, {.card = older, .network = network, .mesh = {}, .what = "layer"});
  EXPECT_THAT(refused.error().message, HasSubstr("h100 does not compute in float4_121"));
}

TEST(DescribedCardTest, KernelsOfDifferentEnginesFollowEachOther) {
  const DescribedCard card = described("h100");
  const std::vector<hbm_card::PlacedKernel> placed = placedOf(card, square(8192, 8192, 8192), 3);
  for (std::size_t k = 1; k < placed.size(); ++k)
    EXPECT_NEAR(placed[k].start, placed[k - 1].end + card.kernelOverhead, 1e-12);
}

TEST(DescribedCardTest, ABetterFigureNeverSlows) {
  const ops::WorkItem items[] = {
      square(4096, 4096, 4096), square(1, 4096, 4096),
      ops::Map{.function = ops::MapFunction::gelu, .elements = 1 << 24, .type = ElementType::bfloat16},
      ops::Reduce{.outputs = 4096, .depth = 4096, .type = ElementType::bfloat16},
      ops::HostCopy{.bytes = base::Bytes(1 << 24)}};
  const auto change = {
      +[](DescribedCard& card) { card.peakBf16 *= 2; },
      +[](DescribedCard& card) { card.productEfficiency = 1; },
      +[](DescribedCard& card) { card.productHalfFlops /= 2; },
      +[](DescribedCard& card) { card.vectorFlops *= 2; },
      +[](DescribedCard& card) { card.onChipBytesPerSecond *= 2; },
      +[](DescribedCard& card) { card.hbmEffective *= 2; },
      +[](DescribedCard& card) { card.hostBytesPerSecond *= 2; },
      +[](DescribedCard& card) { card.kernelOverhead /= 2; },
      +[](DescribedCard& card) { card.kernelIssue /= 2; },
  };
  const DescribedCard before = described("h100");
  for (const ops::WorkItem& item : items) {
    for (const auto& improve : change) {
      DescribedCard after = before;
      improve(after);
      EXPECT_LE(aloneSeconds(after, item, 1 << 24), aloneSeconds(before, item, 1 << 24));
      EXPECT_LE(placedOf(after, item, 5).back().end, placedOf(before, item, 5).back().end);
    }
  }
}

TEST(DescribedCardTest, CollectivesFollowTheirFormulas) {
  using Kind = ops::Collective::Kind;
  const double bytes = 1e9;
  const std::vector<int> box = {0, 1, 2, 3, 4, 5, 6, 7};
  // A100: 300 GB/s at 78 %, two phases of 7/8 of the bytes, three steps of a tree each.
  EXPECT_DOUBLE_EQ(networkOf("dgx-a100", 8).collectiveSeconds(Kind::allReduce, bytes, box),
                   2 * 3 * 7e-6 + 2 * 7.0 / 8 * bytes / (300e9 * 0.78));
  // H100: its switches sum eight, while for two a ring is faster.
  EXPECT_DOUBLE_EQ(networkOf("dgx-h100", 8).collectiveSeconds(Kind::allReduce, bytes, box),
                   2 * 3 * 7e-6 + bytes / (450e9 * 0.6));
  EXPECT_DOUBLE_EQ(networkOf("dgx-h100", 8).collectiveSeconds(Kind::allReduce, bytes, {0, 1}),
                   2 * 7e-6 + bytes / (450e9 * 0.81));
  EXPECT_DOUBLE_EQ(networkOf("dgx-h100", 8).collectiveSeconds(Kind::allGather, bytes, box),
                   3 * 7e-6 + 7.0 / 8 * bytes / (450e9 * 0.81));
  // Two cards of a mesh have one of seven links.
  EXPECT_DOUBLE_EQ(networkOf("mi300x-8", 8).collectiveSeconds(Kind::allGather, bytes, {0, 1}),
                   7e-6 + 0.5 * bytes / (64e9 * 0.7));
  // One card in each of two boxes.
  EXPECT_DOUBLE_EQ(networkOf("dgx-h100", 16).collectiveSeconds(Kind::reduceScatter, bytes, {0, 8}),
                   10e-6 + 0.5 * bytes / (50e9 * 0.81));
  EXPECT_EQ(networkOf("dgx-h100", 8).collectiveSeconds(Kind::allReduce, bytes, {3}), 0);
}

TEST(DescribedCardTest, CollectivesTakeSharesOfTheLinksOfACard) {
  using Kind = ops::Collective::Kind;
  const auto system = makeSystem("dgx-h100x2");
  ASSERT_TRUE(system.ok()) << system.error().message;
  // Over two boxes of two cards, 1 GB: a reduce-scatter moves half of it inside and, of the half of a box,
  // half outside. The slower part, outside, and one start of each kind give the time.
  const std::vector<int> cards = {0, 1, 8, 9};
  const double inside = 0.5e9 / (450e9 * 0.81), outside = 0.5 * 0.5e9 / (50e9 * 0.81),
               time = 7e-6 + 10e-6 + outside;
  std::map<std::int64_t, double> shares;
  for (const LinkShare& each :
       (*system)->linkShares({.kind = Kind::reduceScatter, .elements = 250'000'000}, 1, cards))
    shares[each.link] = each.share;
  ASSERT_EQ(shares.size(), 4U) << "out to the switch and in, out of the box and in";
  EXPECT_NEAR(shares.at((*system)->linksOf({1, 0, base::Bytes(1)}).front()), inside / time, 1e-9);
  EXPECT_NEAR(shares.at((*system)->linksOf({0, 1, base::Bytes(1)}).back()), inside / time, 1e-9);
  EXPECT_NEAR(shares.at((*system)->linksOf({1, 9, base::Bytes(1)}).front()), outside / time, 1e-9);
  EXPECT_NEAR(shares.at((*system)->linksOf({9, 1, base::Bytes(1)}).back()), outside / time, 1e-9);
  EXPECT_EQ((*system)->period(), 8);
}

/// Measured seconds of all-reduces (stas00/ml-engineering, network): bytes ÷ the rates of its tables. Those
/// over boxes chose no figure.
TEST(DescribedCardTest, CollectivesComeNearMeasuredOnes) {
  const auto seconds = [](const char* system, int cards, double bytes) {
    std::vector<int> all(static_cast<std::size_t>(cards));
    std::iota(all.begin(), all.end(), 0);
    return networkOf(system, cards).collectiveSeconds(ops::Collective::Kind::allReduce, bytes, all);
  };
  const double gib = 1 << 30;
  const auto near = [](double modelled, double measured, double share) {
    EXPECT_NEAR(modelled, measured, share * measured);
  };
  near(seconds("dgx-a100", 8, 16 * gib), 0.127997, 0.05);
  near(seconds("dgx-a100", 8, gib / 2), 4.2184e-3, 0.1);
  near(seconds("dgx-h100", 8, 16 * gib), 16 * gib / 275.58e9, 0.05);
  near(seconds("dgx-b200", 8, 16 * gib), 16 * gib / (845.67e9 / 1.75), 0.05);
  near(seconds("mi300x-8", 8, 4 * gib), 4 * gib / (312.912e9 / 1.75), 0.05);
  near(seconds("dgx-h100", 32, 4 * gib), 4 * gib / (364.87e9 / 1.9375), 0.15);
  near(seconds("dgx-b200", 32, 16 * gib), 16 * gib / (381.8e9 / 1.9375), 0.15);
}

TEST(DescribedCardTest, ClustersAndRefusals) {
  EXPECT_EQ(makeSystem("dgx-h100x4").value()->devices().size(), 32u);
  EXPECT_EQ(makeSystem("dgx-b200:2").value()->devices().size(), 2u);
  EXPECT_THAT(refusalOf("h100:2"), HasSubstr("has 1 card, but 2 are wanted"));
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "devices");
  const auto write = [&](const char* figure) {
    std::ofstream(folder.path() / "devices/mine.toml")
        << "family = \"card\"\nbase = \"h100\"\ndescription = \"mine\"\n[figures]\n"
        << figure << ", grade = \"D\", source = \"mine\" }\n";
    return card::readCard(DeviceFiles(folder.path()).chip("mine").value());
  };
  EXPECT_EQ(write("hbm = { value = 150e9, unit = \"B\"")->hbmBytes, 150'000'000'000);
  EXPECT_THAT(write("hbm_reserved = { value = 1e12, unit = \"B\"").error().message,
              HasSubstr("must be less than hbm"));
  EXPECT_THAT(write("hbm_bandwidth = { value = -1, unit = \"B/s\"").error().message,
              HasSubstr("must be above 0"));
  EXPECT_THAT(write("product_efficency = { value = 0.5, unit = \"1\"").error().message,
              HasSubstr("product_efficiency"));
  EXPECT_THAT(write("kernel_start_in_graph = { value = 1, unit = \"s\"").error().message,
              HasSubstr("must be at most kernel_start"));
}

TEST(DescribedCardTest, AFileMayNameItsDevicesAndABoxMayNotContradictItself) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "devices");
  std::filesystem::create_directories(folder.path() / "systems");
  const auto write = [&](const char* file, const char* text) { std::ofstream(folder.path() / file) << text; };
  const auto made = [&](const char* name) {
    SystemOptions options;
    options.userFolder = folder.path();
    return makeSystem(name, options);
  };
  write("devices/mine.toml", "family = \"card\"\nbase = \"h100\"\nnoun = \"TPU\"\n");
  const auto system = made("mine").value();
  EXPECT_EQ(system->facts().deviceNoun, "TPU");
  EXPECT_EQ(system->devices().front().name, "TPU0");
  write("devices/other.toml", "base = \"gaudi2\"\nnoun = \"TPU\"\n");
  EXPECT_THAT(made("other").error().message, HasSubstr("is called HPU, so leave \"noun\" out"));
  write("systems/box.toml", "base = \"dgx-h100\"\nnoun = \"TPU\"\n");
  EXPECT_THAT(made("box").error().message, HasSubstr("belongs into the file of a chip"));
  const auto box = [&](const char* figure, const char* value) {
    std::ofstream(folder.path() / "systems/box.toml")
        << "base = \"dgx-h100\"\n[figures]\n"
        << figure << " = { value = " << value << ", unit = \"1\", grade = \"D\", source = \"mine\" }\n";
    return made("box").error().message;
  };
  EXPECT_THAT(box("inside_is_mesh", "1"), HasSubstr("a mesh has no switch that could sum"));
  EXPECT_THAT(box("switch_sum_efficiency", "1.5"), HasSubstr("must be at most 1"));
}

/// PyTorch's handles of one thread keep 2 x 4 MiB + 8 x 16 KiB on an A100. Training has a second thread.
/// Steps of the backward pass of a stage that makes the gradient of a weight and adds it to an accumulator.
std::vector<LoweredStep> accumulatingSteps(bool readTwice) {
  const auto system = makeSystem("a100-80").value();
  ops::Contraction product = square(4096, 4096, 4096);
  product.phase = ops::Contraction::Phase::weightGradient;
  testing::StageMaker make(0, 0);
  const auto x = make.tensor("x", {4096, 4096}, compile::TensorUse::activation),
             dy = make.tensor("dy", {4096, 4096}, compile::TensorUse::gradient),
             g = make.tensor("w/grad", {4096, 4096}, compile::TensorUse::gradient),
             sum = make.tensor("w/accumulator", {4096, 4096}, compile::TensorUse::accumulator),
             other = make.tensor("other", {4096, 4096}, compile::TensorUse::gradient);
  const ops::Map add{
      .function = ops::MapFunction::add, .elements = 4096 * 4096, .operands = 2, .inPlace = true};
  make.add(model::Pass::backward, "w/product", "GradMatMulRight", {{product, 1, ""}}, {x, dy}, {g});
  make.add(model::Pass::backward, "w/accumulate", "Accumulate", {{add, 1, ""}}, {g, sum}, {sum});
  if (readTwice) make.add(model::Pass::backward, "again", "Add", {{add, 1, ""}}, {g, dy}, {other});
  const LoweredDevice device = testing::lowerStages(*system, {make.stage()});
  return device.passes.front().segments.front().steps;
}

TEST(DescribedCardTest, ProductsAddToAccumulatorsThemselves) {
  const auto isSum = [](const LoweredStep& step) { return step.name.starts_with("w/accumulate"); };
  const std::vector<LoweredStep> steps = accumulatingSteps(false);
  EXPECT_TRUE(std::ranges::none_of(steps, isSum));
  const auto product =
      std::ranges::find_if(steps, [](const LoweredStep& step) { return step.name.starts_with("w/product"); });
  ASSERT_NE(product, steps.end());
  // It reads its factors and the accumulator, and writes only the accumulator.
  const std::int64_t tensor = product->bytesOut.count;
  EXPECT_EQ(product->bytesIn.count, 3 * tensor);
  EXPECT_TRUE(std::ranges::any_of(accumulatingSteps(true), isSum)) << "something else reads the gradient";
}

TEST(DescribedCardTest, ProductsMayOverlapTheGathersOfTensorRanks) {
  // The product may begin with the first of four parts, and ends a part of its own after the last one came.
  const Network network = networkOf("dgx-h100", 4);
  const DescribedCard card = described("h100");
  for (const bool overlap : {false, true}) {
    CardContext context{.card = card, .network = network, .mesh = {.width = 4}, .what = "gather"};
    context.experts.overlapTensor = overlap;
    const ops::Collective gather{.kind = ops::Collective::Kind::allGather,
                                 .elements = 1 << 28,
                                 .type = ElementType::bfloat16,
                                 .axis = model::MeshAxis::tensor};
    const EngineKernel kernel = card::lowerWork(gather, context).value();
    EXPECT_EQ(kernel.parts, overlap ? 4 : 1);
    hbm_card::KernelList list;
    list.kernels.resize(2);
    list.kernels[0].kernel = kernel;
    list.kernels[1].kernel = kernelOf(card, square(8192, 8192, 8192));
    std::vector<Traffic> traffic(2);
    traffic[1].bundleBegin = 1;
    traffic[1].feeds.push_back({0, kernel.parts});
    std::vector<hbm_card::PlacedKernel> placed;
    hbm_card::placeKernels(DescribedModel(context), list, traffic, 2, 0, placed);
    const double first = overlap ? kernel.arithmetic / 4 : kernel.arithmetic,
                 alone = list.kernels[1].kernel.arithmetic, parts = overlap ? 4 : 1;
    EXPECT_NEAR(placed[1].start, placed[0].start + first + card.kernelOverhead, 1e-9);
    EXPECT_NEAR(placed[1].end, std::max(placed[1].start + alone, placed[0].end + alone / parts), 1e-5);
  }
}

TEST(DescribedCardTest, LibrariesKeepWorkspacesForEachThread) {
  const auto system = makeSystem("a100-80").value();
  ops::Contraction product = square(16, 16, 16);
  auto weightUse = compile::TensorUse::weight;
  const auto kept = [&](const std::vector<model::Pass>& passes) {
    testing::StageMaker make(0, 0);
    const auto x = make.tensor("x", {16, 16}, compile::TensorUse::activation),
               w = make.tensor("w", {16, 16}, weightUse),
               y = make.tensor("y", {16, 16}, compile::TensorUse::activation);
    for (const model::Pass pass : passes) make.add(pass, "work", "MatMul", {{product, 1, ""}}, {x, w}, {y});
    const LoweredDevice device = testing::lowerStages(*system, {make.stage()});
    std::int64_t bytes = 0;
    for (const LoweredVariable& variable : device.memory.front().variables) {
      if (variable.category == "workspace" && variable.alwaysLive) bytes += variable.bytes.count;
    }
    return bytes;
  };
  constexpr std::int64_t kMiB = 1 << 20, thread = 8 * kMiB + kMiB / 8;
  EXPECT_EQ(kept({model::Pass::forward}), thread + 4 * kMiB);
  EXPECT_EQ(kept({model::Pass::forward, model::Pass::backward}), 2 * thread + 4 * kMiB);
  // TransformerEngine has 4 streams for grouped products, each with a workspace of 4 MiB.
  product.batch = 1, product.groups = 8;
  EXPECT_EQ(kept({model::Pass::forward}), thread + (1 + 4) * 4 * kMiB);
  weightUse = compile::TensorUse::activation;
  EXPECT_EQ(kept({model::Pass::forward}), thread + 4 * kMiB) << "attention multiplies activations";
}

TEST(DescribedCardTest, ASystemIsAlsoAFileWithFiguresOfItsChip) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "mine.toml").string();
  const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  const std::string bandwidth =
      "hbm_bandwidth = { value = 3e12, unit = \"B/s\", grade = \"M\", source = \"mine\"";
  write("base = \"dgx-h100\"\n[chip_figures]\n" + bandwidth + ", interval = [2.5e12, 3.2e12] }\n");
  const auto system = makeSystem(path + ":4").value();
  EXPECT_EQ(system->devices().size(), 4u);
  const SystemFigures figures = figuresOf(path + ":4", {}).value();
  EXPECT_EQ(figures.suffix, ":4");
  EXPECT_EQ(figures.chip.figures.at("hbm_bandwidth").value, 3e12);
  EXPECT_EQ(figures.chip.figures.at("peak_bf16").value, 989.4e12);
  bool shown = false;
  for (const Figure& figure : system->figures())
    shown = shown || (figure.name == "hbm_bandwidth" && figure.source == "mine; between 2.5e+12 and 3.2e+12");
  EXPECT_TRUE(shown);
  const auto fault = [&](const std::string& text) {
    write(text);
    return makeSystem(path).error().message;
  };
  EXPECT_THAT(fault("base = \"h100\"\n[chip_figures]\n" + bandwidth + " }\n"),
              HasSubstr("belongs into the file of a system"));
  EXPECT_THAT(fault("base = \"h100\"\n[figures]\n" + bandwidth + ", interval = [1] }\n"),
              HasSubstr("needs two numbers as interval"));
  EXPECT_THAT(fault("base = \"h100\"\n[figures]\n" + bandwidth + ", interval = [4e12, 5e12] }\n"),
              HasSubstr("outside of its interval"));
  EXPECT_THAT(
      fault("base = \"dgx-h100\"\n[chip_figures]\nhbm_bandwith = { value = 1, unit = \"B/s\", grade = "
            "\"M\", source = \"mine\" }\n"),
      HasSubstr("did you mean \"hbm_bandwidth\"?"));
  EXPECT_THAT(makeSystem((folder.path() / "none.toml").string()).error().message, HasSubstr("none.toml"));
}

}  // namespace
}  // namespace pipescope::devices
