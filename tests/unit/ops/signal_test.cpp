// Windows, Fourier transforms, quantized and random operators, compared with loops of their definitions; and
// sentences.
#include <gmock/gmock.h>

#include <complex>
#include <numbers>

#include "index_oracle.h"

namespace pipescope::ops_test {
namespace {

using testing::HasSubstr;

Value signalConstant(Shape shape, std::vector<double> data, ElementType element) {
  return {std::move(shape), std::move(data), element, Value::Role::constant};
}

/// Σ x[n]·exp(∓2πi·kn ÷ length) of signal `i` of outer × extent × inner × parts.
std::complex<double> frequency(const Value& x, std::int64_t o, std::int64_t i, std::int64_t k,
                               std::int64_t length, bool inverse) {
  std::complex<double> sum;
  for (std::int64_t n = 0; n < std::min(length, x.shape[1]); ++n) {
    const std::complex<double> value(at(x, {o, n, i, 0}), x.shape[3] == 2 ? at(x, {o, n, i, 1}) : 0);
    const double angle = 2 * std::numbers::pi * static_cast<double>(k * n) / static_cast<double>(length);
    sum += value * std::polar(1.0, inverse ? angle : -angle);
  }
  return inverse ? sum / static_cast<double>(length) : sum;
}

TEST(Dft, FollowsItsDefinition) {
  for (const std::int64_t length : {1, 6, 7, 8, 16}) {
    for (const std::int64_t parts : {1, 2}) {
      for (const bool inverse : {false, true}) {
        for (const bool onesided : {false, true}) {
          if (onesided && (inverse || parts == 2)) continue;
          const Value x = noise({2, 7, 3, parts}, 1);
          const std::int64_t bins = onesided ? length / 2 + 1 : length;
          const auto y = compute("DFT", {x, constantInts({static_cast<double>(length)})},
                                 {{"inverse", std::int64_t{inverse}}, {"onesided", std::int64_t{onesided}}});
          ASSERT_TRUE(y.ok()) << y.error().message;
          EXPECT_EQ((*y)[0].shape, (Shape{2, bins, 3, 2}));
          expectNear((*y)[0],
                     byPosition({2, bins, 3, 2},
                                [&](const Ints& to) {
                                  const auto value = frequency(x, to[0], to[2], to[1], length, inverse);
                                  return to[3] == 0 ? value.real() : value.imag();
                                }),
                     1e-12);
        }
      }
    }
  }
  EXPECT_THAT(refusal("DFT", {noise({2, 3}, 1)}), HasSubstr("last axis must be 1 (real) or 2 (complex)"));
  EXPECT_THAT(refusal("DFT", {noise({2, 3, 1}, 1)}, {{"axis", std::int64_t{2}}}), HasSubstr("name another"));
  EXPECT_THAT(refusal("DFT", {noise({2, 3, 2}, 1)}, {{"onesided", std::int64_t{1}}}),
              HasSubstr("onesided is for transforms of real"));
  EXPECT_THAT(refusal("DFT", {noise({2, 3, 1}, 1), constantInts({0})}),
              HasSubstr("dft_length (input 1) must be one number"));
}

TEST(Stft, TransformsEachFrame) {
  const Value x = noise({2, 11, 1}, 1);
  const Value window = noise({5}, 2);
  const auto y = compute("STFT", {x, constantInts({3}), window});
  ASSERT_TRUE(y.ok()) << y.error().message;
  EXPECT_EQ((*y)[0].shape, (Shape{2, 3, 3, 2}));
  expectNear((*y)[0],
             byPosition({2, 3, 3, 2},
                        [&](const Ints& to) {
                          Value frame{{1, 5, 1, 1}, {}};
                          for (std::int64_t n = 0; n < 5; ++n)
                            frame.data.push_back(at(x, {to[0], to[1] * 3 + n, 0}) *
                                                 window.data[static_cast<std::size_t>(n)]);
                          const auto value = frequency(frame, 0, 0, to[2], 5, false);
                          return to[3] == 0 ? value.real() : value.imag();
                        }),
             1e-12);
  EXPECT_THAT(refusal("STFT", {x, constantInts({3})}), HasSubstr("give a window or a frame_length"));
  EXPECT_THAT(refusal("STFT", {x, constantInts({3}), absent(), constantInts({12})}),
              HasSubstr("a frame of 12 does not fit"));
  EXPECT_THAT(refusal("STFT", {x, constantInts({3}), window, constantInts({4})}),
              HasSubstr("they must be alike"));
  EXPECT_THAT(refusal("STFT", {noise({2, 9, 2}, 1), constantInts({3}), window}), HasSubstr("set it to 0"));
  EXPECT_THAT(refusal("STFT", {noise({2, 9}, 1), constantInts({3}), window}),
              HasSubstr("it needs batch, length"));
  EXPECT_THAT(refusal("STFT", {x, constantInts({3}), noise({2, 2}, 1)}), HasSubstr("its window is"));
}

TEST(SignalWindows, RefuseBadSizes) {
  EXPECT_EQ((*compute("HannWindow", {constantInts({1})}, {{"periodic", std::int64_t{0}}}))[0].data,
            std::vector<double>{1});
  EXPECT_THAT(refusal("HannWindow", {constantInts({1, 2})}), HasSubstr("its size has 2 numbers"));
  EXPECT_THAT(refusal("BlackmanWindow", {constantInts({-1})}), HasSubstr("no extent may be negative"));
}

TEST(MelWeightMatrix, RefusesBandsOutsideTheSpectrum) {
  const auto sentence = [](double bands, double high) {
    return refusal(
        "MelWeightMatrix",
        {signalConstant({}, {bands}, ElementType::int32), signalConstant({}, {16}, ElementType::int32),
         signalConstant({}, {8192}, ElementType::int32), signalConstant({}, {0}, ElementType::float32),
         signalConstant({}, {high}, ElementType::float32)});
  };
  EXPECT_EQ(sentence(8, 4096), "");
  EXPECT_THAT(sentence(8, 9000), HasSubstr("do not fit a spectrum of 9 bins"));
  EXPECT_THAT(sentence(0, 4096), HasSubstr("num_mel_bins is 0"));
}

TEST(Quantization, RoundsToEvenAndSaturates) {
  const Value x{{2, 4}, {0.5, 1.5, -2.5, 1000, -1000, 2.5, std::nan(""), -0.5}, ElementType::float32};
  const auto one = signalConstant({}, {1}, ElementType::float32);
  EXPECT_EQ((*compute("QuantizeLinear", {x, one, signalConstant({}, {1}, ElementType::int8)}))[0].data,
            (std::vector<double>{1, 3, -1, 127, -128, 3, -128, 1}));
  const Value axis0 = signalConstant({2}, {1, 0.5}, ElementType::float32),
              zeros = signalConstant({2}, {0, 10}, ElementType::uint8);
  EXPECT_EQ((*compute("QuantizeLinear", {x, axis0, zeros}, {{"axis", std::int64_t{0}}}))[0].data,
            (std::vector<double>{0, 2, 0, 255, 0, 15, 0, 9}));
  EXPECT_EQ(
      (*compute("DequantizeLinear", {labels({2, 2}, {0, 255, 0, 255}, ElementType::uint8), axis0, zeros},
                {{"axis", std::int64_t{0}}}))[0]
          .data,
      (std::vector<double>{0, 255, -5, 122.5}));
  EXPECT_EQ((*compute("DynamicQuantizeLinear", {Value{{2}, {0, 0}, ElementType::float32}}, {}, 3))[1].data,
            std::vector<double>{1});
  EXPECT_THAT(refusal("QuantizeLinear", {x, signalConstant({3}, {1, 1, 1}, ElementType::float32)}),
              HasSubstr("one number or 4"));
  EXPECT_THAT(refusal("QuantizeLinear", {x, one, signalConstant({}, {1}, ElementType::int32)}),
              HasSubstr("must be int8 or uint8"));
  EXPECT_THAT(refusal("QuantizeLinear", {x, axis0, signalConstant({}, {1}, ElementType::int8)},
                      {{"axis", std::int64_t{0}}}),
              HasSubstr("as long as its scale"));
  EXPECT_THAT(refusal("QuantizeLinear", {noise({2}, 1), one}), HasSubstr("cannot compute in float64"));
  EXPECT_THAT(refusal("DequantizeLinear", {x, one}),
              HasSubstr("input 0 is float32; it must be int8 or uint8"));
  EXPECT_THAT(refusal("DynamicQuantizeLinear", {noise({2}, 1)}, {}, 3),
              HasSubstr("cannot compute in float64"));
}

/// Real values are (q − zero)·scale; y is the nearest number of its own scale.
double requantized(double real, double scale, double zero, double low, double high) {
  return std::clamp(std::nearbyint(real / scale) + zero, low, high);
}

TEST(QLinearMatMul, MultipliesStacksWithColumnScales) {
  const Value a = labels({2, 1, 2, 3}, {1, 200, 3, 40, 5, 60, 7, 80, 9, 100, 110, 12}, ElementType::uint8);
  const Value b = labels({2, 3, 2}, {1, -2, 30, 4, -5, 60, 7, 8, -90, 10, 11, -12}, ElementType::int8);
  const Value scaleB = signalConstant({2}, {0.25, 0.5}, ElementType::float32),
              zeroB = signalConstant({2}, {1, -3}, ElementType::int8);
  const auto number = [](double x, ElementType type) { return signalConstant({}, {x}, type); };
  const auto y = compute("QLinearMatMul",
                         {a, number(0.5, ElementType::float32), number(10, ElementType::uint8), b, scaleB,
                          zeroB, number(8, ElementType::float32), number(3, ElementType::int8)});
  ASSERT_TRUE(y.ok()) << y.error().message;
  EXPECT_EQ((*y)[0].shape, (Shape{2, 2, 2, 2}));
  EXPECT_EQ((*y)[0].data, byPosition({2, 2, 2, 2}, [&](const Ints& to) {
              double sum = 0;
              for (std::int64_t k = 0; k < 3; ++k) {
                const double zero = zeroB.data[static_cast<std::size_t>(to[3])];
                sum += (at(a, {to[0], 0, to[2], k}) - 10) * (at(b, {to[1], k, to[3]}) - zero);
              }
              return requantized(sum * 0.5 * scaleB.data[static_cast<std::size_t>(to[3])], 8, 3, -128, 127);
            }));
  EXPECT_THAT(
      refusal("QLinearMatMul", {a, number(1, ElementType::float32), number(10, ElementType::int8), b, scaleB,
                                zeroB, number(1, ElementType::float32), number(3, ElementType::int8)}),
      HasSubstr("its zero point (input 2) is int8; it must be uint8"));
  EXPECT_THAT(
      refusal("QLinearMatMul", {b, number(1, ElementType::float32), number(1, ElementType::int8), b, scaleB,
                                zeroB, number(1, ElementType::float32), number(3, ElementType::int8)}),
      HasSubstr("cannot multiply 2x3x2 int8 by 2x3x2 int8"));
}

TEST(QLinearConv, ConvolvesGroupsWithFilterScales) {
  Value x = noise({1, 2, 4, 4}, 1), w = noise({2, 1, 3, 2}, 2);
  for (double& each : x.data) each = std::floor(each * 100) + 110;
  for (double& each : w.data) each = std::floor(each * 100);
  x.element = ElementType::uint8;
  w.element = ElementType::int8;
  const Value scales = signalConstant({2}, {0.25, 0.125}, ElementType::float32),
              zeros = signalConstant({2}, {2, -3}, ElementType::int8);
  const Value bias = signalConstant({2}, {1000, -500}, ElementType::int32);
  const auto number = [](double value, ElementType type) { return signalConstant({}, {value}, type); };
  const std::vector<Value> inputs{
      x,     number(0.5, ElementType::float32), number(100, ElementType::uint8), w,   scales,
      zeros, number(16, ElementType::float32),  number(120, ElementType::uint8), bias};
  const Attributes attributes{
      {"group", std::int64_t{2}}, {"pads", Ints{1, 0, 0, 1}}, {"strides", Ints{2, 1}}};
  const auto y = compute("QLinearConv", inputs, attributes);
  ASSERT_TRUE(y.ok()) << y.error().message;
  EXPECT_EQ(
      (*y)[0].data, byPosition({1, 2, 2, 4}, [&](const Ints& to) {
        const auto filter = static_cast<std::size_t>(to[1]);
        double sum = bias.data[filter];
        for (std::int64_t i = 0; i < 3; ++i)
          for (std::int64_t j = 0; j < 2; ++j) {
            const std::int64_t row = to[2] * 2 + i - 1, column = to[3] + j;
            if (row < 0 || row >= 4 || column >= 4) continue;
            sum += (at(x, {0, to[1], row, column}) - 100) * (at(w, {to[1], 0, i, j}) - zeros.data[filter]);
          }
        return requantized(sum * 0.5 * scales.data[filter], 16, 120, 0, 255);
      }));
  EXPECT_THAT(refusal("QLinearConv", inputs), HasSubstr("in 1 groups does not fit its input"));
  EXPECT_THAT(refusal("QLinearConv", inputs, {{"group", std::int64_t{2}}, {"kernel_shape", Ints{3, 3}}}),
              HasSubstr("kernel_shape is not"));
  std::vector<Value> wrong = inputs;
  wrong[8] = signalConstant({1}, {0}, ElementType::int32);
  EXPECT_THAT(refusal("QLinearConv", wrong, attributes), HasSubstr("it must be 2 int32"));
  wrong = inputs;
  wrong[3] = labels({2}, {1, 1}, ElementType::int8);
  EXPECT_THAT(refusal("QLinearConv", wrong, attributes), HasSubstr("both need as many axes"));
}

struct Moments {
  double mean = 0, variance = 0, low = 0, high = 0;
};

Moments momentsOf(const std::vector<double>& values) {
  Moments m{0, 0, values[0], values[0]};
  for (const double x : values) {
    m.mean += x / static_cast<double>(values.size());
    m.low = std::min(m.low, x);
    m.high = std::max(m.high, x);
  }
  for (const double x : values)
    m.variance += (x - m.mean) * (x - m.mean) / static_cast<double>(values.size());
  return m;
}

TEST(RandomOperators, DrawFromTheirDistributions) {
  const Ints shape{20000};
  const Moments normal =
      momentsOf((*compute("RandomNormal", {}, {{"shape", shape}, {"mean", 3.0}, {"scale", 2.0}}))[0].data);
  EXPECT_NEAR(normal.mean, 3, 6 * 2 / std::sqrt(20000.0));
  EXPECT_NEAR(normal.variance, 4, 6 * 4 * std::sqrt(2.0 / 20000));
  const Moments uniform =
      momentsOf((*compute("RandomUniform", {}, {{"shape", shape}, {"low", -1.0}, {"high", 3.0}}))[0].data);
  EXPECT_NEAR(uniform.mean, 1, 6 * 4 / std::sqrt(12 * 20000.0));
  EXPECT_GE(uniform.low, -1);
  EXPECT_LT(uniform.high, 3);
  EXPECT_NEAR(uniform.variance, 16.0 / 12, 0.05);
  const Value p{{20000}, std::vector<double>(20000, 0.3)};
  EXPECT_NEAR(momentsOf((*compute("Bernoulli", {p}))[0].data).mean, 0.3, 6 * std::sqrt(0.21 / 20000));
  const auto classes = compute("Multinomial", {Value{{1, 3}, {std::log(1), std::log(2), std::log(5)}}},
                               {{"sample_size", std::int64_t{20000}}});
  std::vector<double> counts(3, 0);
  for (const double x : (*classes)[0].data) counts[static_cast<std::size_t>(x)] += 1.0 / 20000;
  EXPECT_NEAR(counts[0], 0.125, 0.015);
  EXPECT_NEAR(counts[1], 0.25, 0.02);
  EXPECT_NEAR(counts[2], 0.625, 0.02);
}

TEST(RandomOperators, AreFunctionsOfTheirSeed) {
  const Value like = noise({50}, 1);
  const auto draw = [&](double seed) {
    return (*compute("RandomNormalLike", {like}, {{"seed", seed}}))[0].data;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
  EXPECT_EQ((*compute("RandomUniformLike", {like}, {{"dtype", std::int64_t{10}}}))[0].element,
            ElementType::float16);
  EXPECT_EQ((*compute("Bernoulli", {Value{{3}, {0, 1, 0}}}, {{"dtype", std::int64_t{9}}}))[0].data,
            (std::vector<double>{0, 1, 0}));
}

TEST(RandomOperators, RefuseWhatIsNoDistribution) {
  EXPECT_THAT(refusal("RandomNormal", {}), HasSubstr("attribute shape is missing"));
  EXPECT_THAT(refusal("RandomUniform", {}, {{"shape", Ints{2}}, {"dtype", std::int64_t{7}}}),
              HasSubstr("cannot compute in int64"));
  EXPECT_THAT(refusal("Bernoulli", {Value{{1}, {1.5}}}), HasSubstr("1.5 is no probability"));
  EXPECT_THAT(refusal("Bernoulli", {labels({1}, {1})}), HasSubstr("cannot compute in int64"));
  const double none = -std::numeric_limits<double>::infinity();
  EXPECT_THAT(refusal("Multinomial", {Value{{1, 2}, {none, none}}}),
              HasSubstr("row 0 holds no probabilities"));
  EXPECT_THAT(refusal("Multinomial", {noise({2}, 1)}), HasSubstr("it needs rows of classes"));
}

}  // namespace
}  // namespace pipescope::ops_test
