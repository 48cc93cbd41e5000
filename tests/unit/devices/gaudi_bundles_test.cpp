// Tests which kernels of a Gaudi hand slices to each other, and what that means for HBM and SRAM.
#include <gmock/gmock.h>

#include "engine/devices/gaudi/bundles.h"
#include "gaudi_fixtures.h"

namespace pipescope::devices {
namespace {

using compile::IrTensorId;
using compile::TensorUse;
using model::LaneRole;
using model::Pass;
using ::testing::ElementsAre;
using testing::product;
using testing::StageMaker;
using testing::systemOf;

constexpr graph::ElementType kHalf = graph::ElementType::bfloat16;
constexpr std::int64_t kRows = 4096;

/// Layers of products and elementwise functions; each adds one operator and gives its result.
class Layers {
 public:
  IrTensorId input(std::int64_t width) { return tensor(width, TensorUse::input); }
  IrTensorId multiply(IrTensorId x, std::int64_t from, std::int64_t to) {
    const IrTensorId w = maker_.tensor(name("w"), {from, to}, TensorUse::weight, kHalf);
    const IrTensorId y = tensor(to, TensorUse::activation);
    maker_.add(Pass::forward, name("product"), "MatMul", {{product(kRows, from, to, kHalf), 1, ""}}, {x, w},
               {y});
    return y;
  }
  IrTensorId map(IrTensorId x, std::int64_t width) {
    const IrTensorId y = tensor(width, TensorUse::activation);
    const ops::Map gelu{ops::MapFunction::gelu, kRows * width, 1, kHalf, false};
    maker_.add(Pass::forward, name("map"), "Gelu", {{gelu, 1, ""}}, {x}, {y});
    return y;
  }
  /// Subtracts the largest element of each column, which is known only when all rows have been read.
  IrTensorId centre(IrTensorId x, std::int64_t width) {
    const IrTensorId y = tensor(width, TensorUse::activation);
    const ops::Reduce largest{ops::ReduceFunction::max, width, kRows, false, kHalf};
    const ops::Map subtract{ops::MapFunction::subtract, kRows * width, 2, kHalf, false};
    maker_.add(Pass::forward, name("centre"), "Centre", {{largest, 1, "Max"}, {subtract, 1, "Subtract"}}, {x},
               {y});
    return y;
  }
  /// Keeps the size. Pooling is never fused with its neighbours.
  IrTensorId pool(IrTensorId x, std::int64_t width) {
    const IrTensorId y = tensor(width, TensorUse::activation);
    const ops::Pool most{ops::PoolFunction::max, false, 1, width, {kRows}, {1}, {kRows}, {1}, kHalf};
    maker_.add(Pass::forward, name("pool"), "MaxPool", {{most, 1, ""}}, {x}, {y});
    return y;
  }
  const compile::StageIr& stage() const { return maker_.stage(); }

  std::vector<std::int32_t> bundles(const std::string& chip) const {
    const gaudi::Card card = testing::cardOf(chip);
    const gaudi::Fabric fabric(card);
    const hbm_card::StageUses uses(stage());
    const hbm_card::KernelList list =
        hbm_card::listKernels(stage().passes[0], uses, gaudi::GaudiModel({.card = card, .fabric = fabric}))
            .value();
    return gaudi::bundlesOf(card, stage(), list);
  }

  LoweredSegment lower(const std::string& chip) const {
    const auto system = systemOf(chip);
    return system->lower({&stage()}).value().passes[0].segments[0];
  }

 private:
  IrTensorId tensor(std::int64_t width, TensorUse use) {
    return maker_.tensor(name("t"), {kRows, width}, use, kHalf);
  }
  std::string name(const std::string& stem) { return stem + std::to_string(count_++); }

  StageMaker maker_{0, 0};
  int count_ = 0;
};

/// Bundles of the kernels of the maker's first pass.
std::vector<std::int32_t> bundlesOnGaudi2(const StageMaker& maker) {
  const gaudi::Card card = testing::cardOf("gaudi2");
  const gaudi::Fabric fabric(card);
  const hbm_card::KernelList list =
      hbm_card::listKernels(maker.stage().passes[0], hbm_card::StageUses(maker.stage()),
                            gaudi::GaudiModel({.card = card, .fabric = fabric}))
          .value();
  return gaudi::bundlesOf(card, maker.stage(), list);
}

TEST(GaudiBundles, AKernelBetweenTwoProductsIsInTheBundleOfOne) {
  Layers layers;
  const auto x = layers.input(1024);
  layers.multiply(layers.map(layers.multiply(x, 1024, 1024), 1024), 1024, 1024);
  for (const char* chip : {"gaudi", "gaudi3"})
    EXPECT_THAT(layers.bundles(chip), ElementsAre(0, 0, 1)) << chip;
  EXPECT_THAT(layers.bundles("gaudi2"), ElementsAre(0, 1, 1)) << "what can feed a later product waits for it";
}

TEST(GaudiBundles, OnlyGaudi3JoinsTwoProductsAroundALargeResult) {
  Layers wide, narrow;
  wide.multiply(wide.map(wide.multiply(wide.input(1024), 1024, 4096), 4096), 4096, 1024);
  EXPECT_THAT(wide.bundles("gaudi2"), ElementsAre(0, 1, 1));
  EXPECT_THAT(wide.bundles("gaudi3"), ElementsAre(0, 0, 0));
  narrow.multiply(narrow.map(narrow.multiply(narrow.input(4096), 4096, 1024), 1024), 1024, 4096);
  EXPECT_THAT(narrow.bundles("gaudi3"), ElementsAre(0, 0, 1));
}

TEST(GaudiBundles, HoldUpToThreeProductsThatShareAnOperand) {
  Layers layers;
  const auto x = layers.map(layers.input(1024), 1024);
  for (int i = 0; i < 4; ++i) layers.multiply(x, 1024, 1024);
  for (const char* chip : {"gaudi2", "gaudi3"})
    EXPECT_THAT(layers.bundles(chip), ElementsAre(0, 0, 0, 0, 1)) << chip;
}

TEST(GaudiBundles, OnGaudi2OneKernelUsesTheResultOfABundle) {
  // MantaRayBundlizer::isBundleSupportedForConsumers refuses bundles of several products, and a consumer
  // chain ends with its first kernel.
  Layers shared, single;
  const auto x = shared.input(1024);
  const auto y = shared.multiply(x, 1024, 1024);
  shared.multiply(x, 1024, 1024);
  shared.map(y, 1024);
  EXPECT_THAT(shared.bundles("gaudi"), ElementsAre(0, 0, 0));
  EXPECT_THAT(shared.bundles("gaudi2"), ElementsAre(0, 0, -1));
  const auto z = single.multiply(single.input(1024), 1024, 1024);
  single.centre(z, 1024);
  single.map(z, 1024);
  EXPECT_THAT(single.bundles("gaudi2"), ElementsAre(0, 0, -1, -1));
}

TEST(GaudiBundles, OnGaudi2WhatFeedsALaterProductByWayOfOthersWaits) {
  // The reduction ends the way, so the kernel before it may join the first product.
  Layers through, ended;
  const auto first = [](Layers& layers) {
    return layers.map(layers.multiply(layers.input(1024), 1024, 1024), 1024);
  };
  const auto x = first(through);
  through.multiply(through.pool(x, 1024), 1024, 1024);
  EXPECT_THAT(through.bundles("gaudi2"), ElementsAre(0, -1, 1, 1));
  const auto y = first(ended);
  ended.multiply(ended.centre(y, 1024), 1024, 1024);
  EXPECT_THAT(ended.bundles("gaudi2"), ElementsAre(0, 0, -1, 1, 1));
}

/// Kernels of a backward pass through a convolution: what makes dy, the gradient of the weight, that of the
/// input, and a function of the latter.
TEST(GaudiBundles, OnGaudi2BothGradientsOfAConvolutionReadSlicesOfOneOperand) {
  using Phase = ops::Contraction::Phase;
  StageMaker maker(0, 0);
  const graph::Shape field{32, 256, 28, 28}, kernel{256, 256, 3, 3};
  const auto g = maker.tensor("g", field, TensorUse::input, kHalf),
             x = maker.tensor("x", field, TensorUse::input, kHalf),
             w = maker.tensor("w", kernel, TensorUse::weight, kHalf),
             dy = maker.tensor("dy", field, TensorUse::activation, kHalf),
             dw = maker.tensor("dw", kernel, TensorUse::activation, kHalf),
             dx = maker.tensor("dx", field, TensorUse::activation, kHalf),
             out = maker.tensor("out", field, TensorUse::activation, kHalf);
  const ops::Map relu{ops::MapFunction::relu, std::int64_t{32} * 256 * 28 * 28, 1, kHalf, false};
  ops::Contraction weight = testing::convolution(32, 28, 3, 256, 256, 1, 1, 1, kHalf), input = weight;
  weight.phase = Phase::weightGradient;
  input.phase = Phase::inputGradient;
  maker.add(Pass::forward, "before", "Relu", {{relu, 1, ""}}, {g}, {dy});
  maker.add(Pass::forward, "weight", "ConvGrad", {{weight, 1, ""}}, {x, dy}, {dw});
  maker.add(Pass::forward, "input", "ConvGrad", {{input, 1, ""}}, {dy, w}, {dx});
  maker.add(Pass::forward, "behind", "Relu", {{relu, 1, ""}}, {dx}, {out});
  EXPECT_THAT(bundlesOnGaudi2(maker), ElementsAre(0, 0, 0, 0));
}

TEST(GaudiBundles, ProductsThatNeedEachOtherDoNotShareOne) {
  // Both products multiply by the same weight, and the second one multiplies the result of the first.
  StageMaker maker(0, 0);
  const auto x = maker.tensor("x", {kRows, 1024}, TensorUse::input, kHalf),
             w = maker.tensor("w", {1024, 1024}, TensorUse::weight, kHalf),
             y = maker.tensor("y", {kRows, 1024}, TensorUse::activation, kHalf),
             z = maker.tensor("z", {kRows, 1024}, TensorUse::activation, kHalf);
  const ops::Work multiply{product(kRows, 1024, 1024, kHalf), 1, ""};
  maker.add(Pass::forward, "one", "MatMul", {multiply}, {x, w}, {y});
  maker.add(Pass::forward, "two", "MatMul", {multiply}, {y, w}, {z});
  EXPECT_THAT(bundlesOnGaudi2(maker), ElementsAre(0, 1));
}

TEST(GaudiBundles, NothingIsSlicedBeforeAllHasBeenRead) {
  // The reduction may follow the first product slice by slice. What subtracts its result reads that product
  // again from the start, so it goes along with the second product.
  Layers layers;
  layers.multiply(layers.centre(layers.multiply(layers.input(1024), 1024, 1024), 1024), 1024, 1024);
  for (const char* chip : {"gaudi", "gaudi2", "gaudi3"})
    EXPECT_THAT(layers.bundles(chip), ElementsAre(0, 0, 1, 1)) << chip;
}

TEST(GaudiBundles, WhatLeavesABundlePassesTheCache) {
  // 8 MiB between two bundles: Gaudi2 keeps them in its SRAM, Gaudi3 writes them past its cache.
  Layers layers;
  layers.multiply(layers.map(layers.multiply(layers.input(1024), 1024, 1024), 1024), 1024, 1024);
  const auto secondReads = [&](const char* chip) {
    std::int64_t bytes = 0;
    for (const LoweredStep& step : layers.lower(chip).steps) {
      if (step.lane == LaneRole::matrix) bytes = step.bytesIn.count;
    }
    return bytes;
  };
  EXPECT_EQ(secondReads("gaudi2"), 1024 * 1024 * 2) << "the weight";
  EXPECT_EQ(secondReads("gaudi3"), (1024 * 1024 + kRows * 1024) * 2);
}

TEST(GaudiBundles, EnginesShareTheBandwidthOfSram) {
  // A product whose engines fetch as fast as SRAM gives, and a function that needs nothing of it. Both cannot
  // be done before SRAM has given them all that they read.
  StageMaker maker(0, 0);
  constexpr std::int64_t kSide = 8192, kDepth = 2048, kElements = 90'000'000;
  const auto a = maker.tensor("a", {kSide, kDepth}, TensorUse::input, kHalf),
             b = maker.tensor("b", {kDepth, kSide}, TensorUse::weight, kHalf),
             c = maker.tensor("c", {kSide, kSide}, TensorUse::activation, kHalf),
             x = maker.tensor("x", {kElements}, TensorUse::input, kHalf),
             y = maker.tensor("y", {kElements}, TensorUse::activation, kHalf);
  const ops::Contraction multiply = product(kSide, kDepth, kSide, kHalf);
  maker.add(Pass::forward, "product", "MatMul", {{multiply, 1, ""}}, {a, b}, {c});
  maker.add(Pass::forward, "sum", "Relu",
            {{ops::Map{ops::MapFunction::relu, kElements, 1, kHalf, false}, 1, ""}}, {x}, {y});
  const testing::CardLowering card("gaudi3");
  const std::int64_t fetched = card.lower(multiply).onChipBytes + 2 * kSide * kDepth * 2 + kElements * 2;
  const auto system = systemOf("gaudi3");
  const LoweredSegment segment = system->lower({&maker.stage()}).value().passes[0].segments[0];
  Ticks begin = segment.ticks, end;
  for (const LoweredStep& step : segment.steps) {
    if (step.lane == LaneRole::host) continue;
    begin = std::min(begin, step.offset);
    end = std::max(end, step.offset + step.ticks);
  }
  // The parts of SRAM beside the engines do not hold the operands, so all of it is read as one: a third of
  // the 12.8 TB/s that the parts give.
  EXPECT_GE(static_cast<double>((end - begin).count),
            0.999 * static_cast<double>(fetched) / (12.8e12 / 3) * 1e12);
}

}  // namespace
}  // namespace pipescope::devices
