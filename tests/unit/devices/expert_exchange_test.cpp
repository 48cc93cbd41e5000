// Checks the exchange of tokens with experts on described cards: how many boxes and cards a token goes to
// against counting all choices, its times against what DeepEP measured, and that exchanges which run beside
// another micro-batch hold nothing up.
#include <gmock/gmock.h>

#include <cmath>
#include <numeric>
#include <set>

#include "engine/devices/card/described_model.h"
#include "engine/devices/card/expert_exchange.h"
#include "engine/devices/hbm_card/recipe.h"
#include "engine/devices/system_registry.h"
#include "ipu_fixtures.h"

namespace pipescope::devices {
namespace {

using card::ExpertOptions;
using ops::ExpertChoices;
using testing::TemporaryFolder;

/// Calls `visit` with each set of `draws` of the numbers.
void forEachChoice(const std::vector<std::int64_t>& numbers, std::size_t draws,
                   const std::function<void(const std::vector<std::int64_t>&)>& visit,
                   std::vector<std::int64_t> taken = {}, std::size_t from = 0) {
  if (taken.size() == draws) return visit(taken);
  for (std::size_t i = from; i < numbers.size(); ++i) {
    taken.push_back(numbers[i]);
    forEachChoice(numbers, draws, visit, taken, i + 1);
    taken.pop_back();
  }
}

/// Mean number of parts that a token goes to, over all choices of groups and of experts in them.
double countedParts(const ExpertChoices& choices, std::int64_t parts) {
  std::vector<std::int64_t> groups(static_cast<std::size_t>(choices.groups));
  std::iota(groups.begin(), groups.end(), 0);
  const std::int64_t members = choices.experts / choices.groups, ofPart = choices.experts / parts;
  double sum = 0, ways = 0;
  forEachChoice(groups, static_cast<std::size_t>(choices.groupChoices), [&](const auto& chosen) {
    std::vector<std::int64_t> experts;
    for (const std::int64_t group : chosen)
      for (std::int64_t i = 0; i < members; ++i) experts.push_back(group * members + i);
    forEachChoice(experts, static_cast<std::size_t>(choices.perToken), [&](const auto& token) {
      std::set<std::int64_t> touched;
      for (const std::int64_t expert : token) touched.insert(expert / ofPart);
      sum += static_cast<double>(touched.size());
      ++ways;
    });
  });
  return sum / ways;
}

TEST(ExpertExchange, ATokenGoesToAsManyPartsAsAllChoicesSay) {
  const std::vector<ExpertChoices> all{{8, 2, 1, 1},  {8, 3, 4, 2},  {8, 4, 4, 2}, {12, 3, 4, 3},
                                       {12, 2, 2, 1}, {16, 3, 8, 4}, {8, 8, 1, 1}};
  for (const ExpertChoices& choices : all) {
    for (const std::int64_t parts : {1, 2, 4, 8}) {
      if (choices.experts % parts != 0) continue;
      if (choices.groups % parts != 0 && parts % choices.groups != 0) continue;
      EXPECT_NEAR(static_cast<double>(parts) * card::chanceOfPart(choices, parts),
                  countedParts(choices, parts), 1e-12)
          << choices.experts << " experts, " << choices.perToken << " of " << choices.groups << " groups, "
          << parts << " parts";
    }
  }
}

/// DeepSeek-V3 sends a token to at most 4 of 8 boxes (arXiv 2412.19437, section 3.2.2), and on average to 3.2
/// experts in each of them, which is why 8 copies are too many.
TEST(ExpertExchange, GroupsLimitTheBoxesOfAToken) {
  const ExpertChoices limited{256, 8, 8, 4}, free{256, 8, 1, 1};
  EXPECT_LT(8 * card::chanceOfPart(limited, 8), 4);
  EXPECT_GT(8 * card::chanceOfPart(free, 8), 5);
  // Bytes between 8 boxes of 8 cards: 7/8 of the boxes that a token goes to are others.
  const card::ExpertTraffic traffic = card::expertTraffic(1e6, limited, 8, 8);
  EXPECT_NEAR(traffic.outside, 1e6 * 7 * card::chanceOfPart(limited, 8), 1e-6);
  EXPECT_LT(traffic.outside, 1e6 * 8 * 7 / 8 / 2) << "copies for all experts take more than twice as much";
}

/// DeepEP states the rate at which the bytes for all boxes of a token, its own included, pass: 4,096 tokens
/// of 7,168 B, 8 of 256 experts, at most 4 boxes (docs/legacy.md: H800, links inside of 160 GB/s and ports of
/// 400 Gb/s; README.md: cards with links of 450 GB/s). No figure was chosen by them.
TEST(ExpertExchange, TakesAboutAsLongAsDeepEpMeasured) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "h800.toml").string();
  std::ofstream(path)
      << "base = \"dgx-h100\"\n[figures]\ninside_bandwidth = { value = 200e9, unit = \"B/s\", "
         "grade = \"R\", source = \"H800: 400 GB/s in both directions\" }\n";
  const auto logicalRate = [&](const std::string& system, int boxes, ExpertChoices choices) {
    const SystemFigures files = figuresOf(system, {}).value();
    FigureReader figures(*files.system);
    figures.countOr("max_boxes", "boxes", 16384, 1);
    figures.count("devices", "cards", 1024);
    const card::Network network = card::Network::read(figures, 8, 8 * boxes).value();
    std::vector<int> cards(static_cast<std::size_t>(8 * boxes));
    std::iota(cards.begin(), cards.end(), 0);
    const double tokens = 4096.0 * 7168;
    const double boxesOfToken = boxes * card::chanceOfPart(choices, boxes);
    return tokens * boxesOfToken / network.expertSeconds(tokens, choices, cards);
  };
  const auto expectNear = [](double rate, double measured, double tolerance) {
    EXPECT_NEAR(rate / measured, 1, tolerance) << measured;
  };
  // With 4 boxes or fewer, a token may go to all of them.
  expectNear(logicalRate(path, 2, {256, 8, 2, 2}), 43e9, 0.35);
  expectNear(logicalRate(path, 4, {256, 8, 4, 4}), 58e9, 0.15);
  expectNear(logicalRate(path, 8, {256, 8, 8, 4}), 51e9, 0.15);
  expectNear(logicalRate("dgx-h100", 2, {256, 8, 1, 1}), 90e9, 0.15);
  expectNear(logicalRate("dgx-h100", 4, {256, 8, 1, 1}), 61e9, 0.15);
  expectNear(logicalRate("dgx-b200", 2, {256, 8, 1, 1}), 90e9, 0.2);
}

/// A product, an exchange of what it made, and another product of what came back.
std::vector<hbm_card::PlacedKernel> placedExchange(bool beside) {
  const card::Card chip = card::readCard(DeviceFiles({}).chip("h100").value()).value();
  const card::Network network;
  const card::DescribedModel model({.card = chip, .network = network, .mesh = {}});
  hbm_card::KernelList list;
  list.kernels.resize(3);
  list.kernels[0].kernel.engine = list.kernels[2].kernel.engine = hbm_card::Engine::matrix;
  list.kernels[0].kernel.arithmetic = list.kernels[2].kernel.arithmetic = 1e-3;
  list.kernels[1].kernel.engine = hbm_card::Engine::network;
  list.kernels[1].kernel.arithmetic = 5e-3;
  list.kernels[1].kernel.beside = beside;
  std::vector<hbm_card::Traffic> traffic(3);
  for (std::size_t i = 0; i < 3; ++i) traffic[i].bundleBegin = i;
  traffic[1].feeds = {{0, 1}};
  traffic[2].feeds = {{1, 1}};
  std::vector<hbm_card::PlacedKernel> placed;
  hbm_card::placeKernels(model, list, traffic, 3, 0, placed);
  return placed;
}

TEST(ExpertExchange, BesideAnotherMicroBatchHoldsNothingUp) {
  const auto alone = placedExchange(false), beside = placedExchange(true);
  EXPECT_GE(alone[2].start, alone[1].end);
  EXPECT_LT(beside[2].end, 2.1e-3) << "both products follow each other";
  EXPECT_NEAR(beside[1].end - beside[1].start, 5e-3, 1e-9) << "the links are still busy";
}

/// Seconds of an all-to-all of two tokens for each of two experts.
double exchangeSeconds(ExpertOptions::Exchange exchange, int boxes) {
  const FigureFile file = DeviceFiles({}).system("dgx-h100").value();
  FigureReader figures(file);
  figures.countOr("max_boxes", "boxes", 16384, 1);
  figures.count("devices", "cards", 1024);
  const card::Network network = card::Network::read(figures, 8, 8 * boxes).value();
  const card::Card chip = card::readCard(DeviceFiles({}).chip("h100").value()).value();
  const compile::Mesh mesh{.replicas = 1, .places = 1, .width = 8 * boxes, .experts = 8 * boxes};
  ops::Collective work{.kind = ops::Collective::Kind::allToAll,
                       .elements = std::int64_t{4096} * 8 * 7168,
                       .type = graph::ElementType::bfloat16,
                       .group = 8 * boxes,
                       .axis = model::MeshAxis::expert,
                       .ofModel = true};
  work.experts = {256, 8, 1, 1};
  return card::lowerWork(work, {.card = chip,
                                .network = network,
                                .mesh = mesh,
                                .experts = {.exchange = exchange, .overlap = false},
                                .what = "exchange"})
      .value()
      .arithmetic;
}

TEST(ExpertExchange, ForwardsOverBoxesUnlessTold) {
  using enum ExpertOptions::Exchange;
  EXPECT_LT(exchangeSeconds(forwarded, 4), exchangeSeconds(copies, 4));
  EXPECT_EQ(exchangeSeconds(automatic, 4), exchangeSeconds(forwarded, 4));
  EXPECT_EQ(exchangeSeconds(automatic, 1), exchangeSeconds(copies, 1));
  EXPECT_LT(exchangeSeconds(forwarded, 1), exchangeSeconds(copies, 1));
}

}  // namespace
}  // namespace pipescope::devices
