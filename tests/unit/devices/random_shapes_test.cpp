// Many random products and convolutions. Each is planned within tiles and memory, never above the peak, and
// with bounded effort; more work never takes clearly less time.
#include <gmock/gmock.h>

#include <random>

#include "ipu_fixtures.h"

namespace pipescope::devices::ipu {
namespace {

using testing::Lowering;
using testing::phase;

/// Extents spread evenly over orders of magnitude.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  std::int64_t upTo(std::int64_t n) {
    return 1 + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  std::int64_t magnitude(std::int64_t largest) {
    const double share = static_cast<double>(random_() >> 11) * 0x1p-53;
    return std::clamp<std::int64_t>(std::llround(std::exp(share * std::log(static_cast<double>(largest)))), 1,
                                    largest);
  }
  bool coin() { return (random_() & 1) != 0; }
  ElementType type() { return coin() ? ElementType::float16 : ElementType::float32; }

 private:
  std::mt19937_64 random_;
};

ops::Contraction randomProduct(Dice& dice) {
  ops::Contraction c =
      testing::product(dice.magnitude(8192), dice.magnitude(16384), dice.magnitude(8192), dice.type());
  if (dice.upTo(4) == 1) c.groups = dice.magnitude(32);
  if (dice.coin()) c.accumulate = c.type;
  c.trained = dice.coin();
  return phase(c, static_cast<int>(dice.upTo(3)) - 1);
}

/// One or two axes, with strides, dilations, groups (also depthwise), odd sizes, 1×1 kernels and tiny
/// batches.
ops::Contraction randomConvolution(Dice& dice) {
  ops::Contraction c;
  c.batch = dice.magnitude(16);
  const std::size_t axes = dice.upTo(5) == 1 ? 1 : 2;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t kernel = dice.upTo(3) == 1 ? 1 : dice.upTo(7),
                       dilation = dice.upTo(5) == 1 ? dice.upTo(3) : 1;
    const std::int64_t reach = (kernel - 1) * dilation + 1, stride = dice.upTo(4) == 1 ? dice.upTo(3) : 1;
    const std::int64_t padding = dice.coin() ? reach / 2 : 0, field = reach + dice.magnitude(100) - 1;
    c.kernel.push_back(kernel);
    c.dilation.push_back(dilation);
    c.stride.push_back(stride);
    c.field.push_back(field);
    c.padding.push_back(padding);
    c.output.push_back((field + 2 * padding - reach) / stride + 1);
  }
  c.padding.insert(c.padding.end(), c.padding.begin(), c.padding.end());
  const std::int64_t kind = dice.upTo(4);
  c.groups = kind == 1 ? dice.magnitude(512) : kind == 2 ? dice.magnitude(16) : 1;
  c.inputChannels = kind == 1 ? 1 : dice.magnitude(512);
  c.outputChannels = kind == 1 ? dice.upTo(2) : dice.magnitude(512);
  c.type = dice.type();
  if (dice.coin()) c.accumulate = c.type;
  return phase(c, static_cast<int>(dice.upTo(3)) - 1);
}

std::string describe(const ops::Contraction& c, const ContractionPlan& plan) {
  std::string text = "phase " + std::to_string(static_cast<int>(c.phase)) + " batch " +
                     std::to_string(c.batch) + " groups " + std::to_string(c.groups) + " in " +
                     std::to_string(c.inputChannels) + " out " + std::to_string(c.outputChannels);
  for (std::size_t i = 0; i < c.field.size(); ++i)
    text += " [field " + std::to_string(c.field[i]) + " kernel " + std::to_string(c.kernel[i]) + " stride " +
            std::to_string(c.stride[i]) + " dilation " + std::to_string(c.dilation[i]) + "]";
  return text + " " + graph::toString(c.type) + " sums " + graph::toString(c.accumulate) + ": " +
         plan.describe();
}

double peakOf(const Chip& chip, const ops::Contraction& c) {
  const bool half = isHalf(c.type);
  const std::int64_t each = !half ? chip.ampFloat : isHalf(c.accumulate) ? chip.ampHalf : chip.ampHalfFloat;
  return static_cast<double>(each * chip.tiles);
}

double operandShare(const Chip& chip, const ConvShape& shape) {
  return static_cast<double>((shape.inputElements() + shape.weightElements()) * shape.operandBytes() +
                             shape.outputElements() * shape.partialBytes()) /
         static_cast<double>(chip.tiles * chip.bytesPerTile);
}

class RandomShapes : public ::testing::TestWithParam<const char*> {
 protected:
  RandomShapes() : chip_(testing::chipOf(GetParam())) {}

  void expectSound(const ops::Contraction& c) {
    const base::Result<ConvShape> shape = shapeOf(c, "layer");
    ASSERT_TRUE(shape.ok()) << shape.error().message;
    const auto plan = chip_.planner().plan(*shape, 0.6);
    const std::string what = describe(c, *plan);
    const LoweredWork work = chip_.lower(c);
    // The plan counts the largest share. A smaller share whose rows divide badly among the workers can take
    // longer, above all with a SLIC vertex and rows of less than five.
    EXPECT_GE(static_cast<double>(work.cycles()), 0.99 * static_cast<double>(plan->costs.total)) << what;
    EXPECT_LE(static_cast<double>(work.cycles()), 1.35 * static_cast<double>(plan->costs.total)) << what;
    EXPECT_LE(plan->split.tiles(), chip_.chip().tiles) << what;
    EXPECT_GE(static_cast<double>(work.cycles()) * peakOf(chip_.chip(), c),
              static_cast<double>(c.multiplyAdds()))
        << what;
    // Products that are small for the chip fit. Larger ones may need more than they are given, which their
    // temporaries show.
    const auto memory = static_cast<std::int64_t>(0.6 * static_cast<double>(chip_.chip().bytesPerTile));
    if (operandShare(chip_.chip(), *shape) < 0.1) {
      EXPECT_LE(plan->costs.temporaryBytes, memory) << what;
    }
    EXPECT_LE(plan->searched, 2'000'000) << what;  // a tenth of a second
    most_ = std::max(most_, plan->searched);
    // Every received byte has a sender, and a sent byte may have many receivers.
    for (const ProgramStep& step : work.steps) {
      EXPECT_GE(step.bytesIn, step.bytesOut) << what;
      EXPECT_LE(step.bytesIn, step.bytesOut * chip_.chip().tiles) << what;
    }
  }

  Lowering chip_;
  std::int64_t most_ = 0;
};

TEST_P(RandomShapes, ProductsArePlanned) {
  Dice dice(11);
  for (int i = 0; i < 60; ++i) expectSound(randomProduct(dice));
  RecordProperty("most_splits", std::to_string(most_));
}

/// Products of many small matrices are planned, too, far beyond what fits on a chip.
TEST_P(RandomShapes, ManyProductsAtOnceArePlanned) {
  Dice dice(15);
  for (int i = 0; i < 40; ++i) {
    ops::Contraction c =
        testing::product(dice.magnitude(512), dice.magnitude(512), dice.magnitude(512), dice.type());
    c.groups = dice.magnitude(30'000);
    if (dice.coin()) c.accumulate = c.type;
    expectSound(phase(c, static_cast<int>(dice.upTo(3)) - 1));
  }
}

TEST_P(RandomShapes, ConvolutionsArePlanned) {
  Dice dice(12);
  for (int i = 0; i < 60; ++i) expectSound(randomConvolution(dice));
  RecordProperty("most_splits", std::to_string(most_));
}

TEST_P(RandomShapes, MoreMemoryIsNeverSlower) {
  Dice dice(13);
  for (int i = 0; i < 16; ++i) {
    const ops::Contraction c = i % 2 == 0 ? randomProduct(dice) : randomConvolution(dice);
    const ConvShape shape = shapeOf(c, "layer").value();
    std::int64_t before = INT64_MAX;
    for (const double proportion : {0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0}) {
      const auto plan = chip_.planner().plan(shape, proportion);
      const auto memory = proportion * static_cast<double>(chip_.chip().bytesPerTile);
      if (static_cast<double>(plan->costs.temporaryBytes) > memory) continue;
      EXPECT_LE(plan->costs.total, before) << "at " << proportion << " " << describe(c, *plan);
      before = plan->costs.total;
    }
  }
}

/// An axis of twice the length takes at least as long, except for what the shorter one pays because it does
/// not fill whole groups of channels: arranging its operands and results.
TEST_P(RandomShapes, TwiceTheWorkIsNotLessTime) {
  Dice dice(14);
  for (int i = 0; i < 40; ++i) {
    const ops::Contraction once = i % 2 == 0 ? randomProduct(dice) : randomConvolution(dice);
    ops::Contraction twice = once;
    (dice.coin() ? twice.inputChannels : twice.outputChannels) *= 2;
    const auto less = chip_.planner().plan(shapeOf(once, "layer").value(), 0.6),
               more = chip_.planner().plan(shapeOf(twice, "layer").value(), 0.6);
    const ConvCosts& costs = less->costs;
    const std::int64_t order = 2 * costs.arrangeExchange + costs.arrange + costs.outputExchange +
                               costs.output + costs.cast + 4 * chip_.chip().exchangeOverhead;
    EXPECT_GE(static_cast<double>(more->costs.total), 0.95 * static_cast<double>(costs.total - order))
        << describe(once, *less) << "\n  twice: " << more->describe();
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, RandomShapes, ::testing::Values("mk2", "mk1"));

}  // namespace
}  // namespace pipescope::devices::ipu
