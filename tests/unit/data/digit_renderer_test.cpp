#include "engine/data/digits/digit_renderer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "engine/data/digits/digit_glyphs.h"
#include "test_files.h"

namespace pipescope::data {
namespace {

constexpr std::size_t pixelCount = digitSide * digitSide;

std::uint64_t hashOf(std::uint64_t hash, std::uint8_t byte) {
  return (hash ^ byte) * 0x100000001b3U;
}  // FNV-1a

std::uint64_t hashOfDigits(std::uint64_t seed, DataSplit split, std::int64_t count) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (std::int64_t i = 0; i < count; ++i) {
    const DigitImage image = renderDigit(seed, split, i);
    hash = hashOf(hash, image.label);
    for (const std::uint8_t pixel : image.pixels) hash = hashOf(hash, pixel);
  }
  return hash;
}

// The bytes must be the same with every compiler, option, library and machine. If you change them on purpose,
// also increase digitGeneratorVersion and update these figures.
TEST(DigitRenderer, BytesAreThoseOfVersion1) {
  ASSERT_EQ(digitGeneratorVersion, 1);
  EXPECT_EQ(hashOfDigits(1, DataSplit::train, 1000), 14780104762653560468U);
  EXPECT_EQ(hashOfDigits(1, DataSplit::test, 1000), 937695164755736382U);
  EXPECT_EQ(hashOfDigits(0xfedcba9876543210U, DataSplit::train, 200), 15429515707013813552U);
}

TEST(DigitRenderer, AllImagesDiffer) {
  std::set<std::uint64_t> hashes;
  for (const std::uint64_t seed : {1U, 2U}) {
    for (const DataSplit split : {DataSplit::train, DataSplit::test}) {
      for (std::int64_t i = 0; i < 500; ++i) {
        std::uint64_t hash = 0xcbf29ce484222325U;
        for (const std::uint8_t pixel : renderDigit(seed, split, i).pixels) hash = hashOf(hash, pixel);
        hashes.insert(hash);
      }
    }
  }
  EXPECT_EQ(hashes.size(), 2000U);
}

TEST(DigitRenderer, LabelsAreBalanced) {
  std::array<int, 10> counts{};
  for (std::int64_t i = 0; i < 5000; ++i) ++counts.at(renderDigit(3, DataSplit::train, i).label);
  for (const int count : counts) EXPECT_NEAR(count, 500, 110);  // five standard deviations
}

TEST(DigitRenderer, InkIsAboutMnistsAndInside) {
  // MNIST has a mean of 0.1307 and a standard deviation of 0.3081 of full ink. The generated digits must be
  // close, so that the same normalisation suits both.
  double sum = 0;
  double squares = 0;
  double border = 0;
  constexpr std::int64_t images = 2000;
  for (std::int64_t i = 0; i < images; ++i) {
    const DigitImage image = renderDigit(1, DataSplit::train, i);
    double mass = 0;
    for (std::size_t p = 0; p < pixelCount; ++p) {
      const double value = image.pixels[p] / 255.0;
      mass += value;
      squares += value * value;
      const std::size_t row = p / digitSide;
      const std::size_t column = p % digitSide;
      if (row == 0 || column == 0 || row == digitSide - 1 || column == digitSide - 1) border += value;
    }
    EXPECT_GT(mass, 8) << "image " << i << " is all but empty";
    EXPECT_LT(mass, 330) << "image " << i << " is a blot";
    sum += mass;
  }
  const double mean = sum / (images * pixelCount);
  EXPECT_NEAR(mean, 0.1307, 0.03);
  EXPECT_NEAR(std::sqrt(squares / (images * pixelCount) - mean * mean), 0.3081, 0.05);
  EXPECT_LT(border / sum, 0.005) << "digits are cut off";
}

TEST(DigitGlyphs, EveryDigitHasSeveralInsideTheBox) {
  for (int digit = 0; digit < 10; ++digit) {
    EXPECT_GE(glyphsOf(digit).size(), 3U);
    for (const Glyph glyph : glyphsOf(digit)) {
      EXPECT_FALSE(glyph.empty());
      for (const Stroke stroke : glyph) {
        EXPECT_GE(stroke.size(), 2U);
        for (const Point point : stroke)
          EXPECT_TRUE(point.x >= 0 && point.x <= 1 && point.y >= 0 && point.y <= 1);
      }
    }
  }
}

TEST(DigitGlyphsDeathTest, TenIsNoDigit) {
  EXPECT_DEATH((testing::printChecks(), (void)glyphsOf(10)), "0 to 9");
}

// --- A linear classifier (multinomial logistic regression, stochastic gradient descent)
// ---------------------------

constexpr std::size_t lanes = 16;  ///< ten classes, padded so that the compiler vectorises the inner loops
using Scores = std::array<float, lanes>;

struct Ink {
  std::uint16_t pixel;
  float value;
};
struct Example {
  std::vector<Ink> ink;
  std::size_t label;
};

std::vector<Example> examples(DataSplit split, std::int64_t count) {
  std::vector<Example> all;
  for (std::int64_t i = 0; i < count; ++i) {
    const DigitImage image = renderDigit(1, split, i);
    Example example{{{pixelCount, 1.0F}}, image.label};  // the bias
    for (std::size_t p = 0; p < pixelCount; ++p) {
      if (image.pixels[p] > 0)
        example.ink.push_back({static_cast<std::uint16_t>(p), static_cast<float>(image.pixels[p]) / 255.0F});
    }
    all.push_back(std::move(example));
  }
  return all;
}

class LinearClassifier {
 public:
  Scores scores(const Example& example) const {
    Scores sum{};
    for (const Ink ink : example.ink) {
      for (std::size_t c = 0; c < lanes; ++c) sum[c] += ink.value * weights_[ink.pixel][c];
    }
    return sum;
  }
  void learn(const Example& example, float rate) {
    Scores delta = scores(example);
    const float largest = *std::max_element(delta.begin(), delta.begin() + 10);
    float total = 0;
    for (std::size_t c = 0; c < 10; ++c) total += delta[c] = std::exp(delta[c] - largest);
    for (std::size_t c = 0; c < 10; ++c)
      delta[c] = rate * (delta[c] / total - (c == example.label ? 1.0F : 0.0F));
    std::fill(delta.begin() + 10, delta.end(), 0.0F);
    for (const Ink ink : example.ink) {
      for (std::size_t c = 0; c < lanes; ++c) weights_[ink.pixel][c] -= ink.value * delta[c];
    }
  }
  double accuracy(const std::vector<Example>& set) const {
    const auto right = std::count_if(set.begin(), set.end(), [this](const Example& example) {
      const Scores s = scores(example);
      return static_cast<std::size_t>(std::max_element(s.begin(), s.begin() + 10) - s.begin()) ==
             example.label;
    });
    return static_cast<double>(right) / static_cast<double>(set.size());
  }

 private:
  std::vector<Scores> weights_ = std::vector<Scores>(pixelCount + 1);
};

TEST(DigitRenderer, NoLinearClassifierIsAbove95Percent) {
  const std::vector<Example> train = examples(DataSplit::train, 20'000);
  const std::vector<Example> test = examples(DataSplit::test, 5'000);
  LinearClassifier classifier;
  for (const float rate : {0.03F, 0.02F, 0.01F, 0.01F, 0.005F, 0.005F, 0.002F, 0.002F, 0.001F, 0.001F}) {
    for (const Example& example : train) classifier.learn(example, rate);
  }
  const double seen = classifier.accuracy(train);
  const double unseen = classifier.accuracy(test);
  RecordProperty("linear_accuracy_training", std::to_string(seen));
  RecordProperty("linear_accuracy_test", std::to_string(unseen));
  // A classifier is most accurate on its training data, so this bounds what more data could achieve.
  EXPECT_LE(seen, 0.95);
  EXPECT_LE(unseen, 0.95);
  EXPECT_GE(unseen, 0.80) << "the classifier did not learn, or the digits are illegible";
}

}  // namespace
}  // namespace pipescope::data
