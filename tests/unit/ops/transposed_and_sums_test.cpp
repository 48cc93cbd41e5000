// ConvTranspose, Einsum, Det, whole-number products, normalizations and losses, compared with loops of their
// definitions.
#include <algorithm>
#include <cmath>

#include "op_runner.h"

namespace pipescope::ops_test {
namespace {

using List = std::vector<double>;

std::size_t transposedAndSumsAt(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

// --- ConvTranspose
// ---------------------------------------------------------------------------------------------

struct TransposedCase {
  std::string name;
  std::int64_t batch = 1, channels = 1, filters = 1, groups = 1;  ///< filters per group
  Ints input, kernel, stride{1, 1}, dilation{1, 1}, pads{0, 0, 0, 0}, extra{0, 0};
  bool bias = true;
};

/// Every input element adds its kernel to the output, over two spatial axes.
Value transposed(const TransposedCase& c, const Value& x, const Value& w, const Value& b) {
  std::int64_t out[2];
  for (std::size_t a = 0; a < 2; ++a)
    out[a] = (c.input[a] - 1) * c.stride[a] + (c.kernel[a] - 1) * c.dilation[a] + 1 + c.extra[a] - c.pads[a] -
             c.pads[2 + a];
  const std::int64_t filters = c.filters * c.groups, perGroup = c.channels / c.groups;
  Value y{{c.batch, filters, out[0], out[1]},
          List(transposedAndSumsAt(c.batch * filters * out[0] * out[1]), 0)};
  for (std::int64_t n = 0; n < c.batch; ++n)
    for (std::int64_t ch = 0; ch < c.channels; ++ch)
      for (std::int64_t f = 0; f < c.filters; ++f)
        for (std::int64_t i = 0; i < c.input[0]; ++i)
          for (std::int64_t j = 0; j < c.input[1]; ++j)
            for (std::int64_t p = 0; p < c.kernel[0]; ++p)
              for (std::int64_t q = 0; q < c.kernel[1]; ++q) {
                const std::int64_t u = i * c.stride[0] + p * c.dilation[0] - c.pads[0],
                                   v = j * c.stride[1] + q * c.dilation[1] - c.pads[1];
                if (u < 0 || v < 0 || u >= out[0] || v >= out[1]) continue;
                const std::int64_t filter = ch / perGroup * c.filters + f;
                y.data[transposedAndSumsAt(((n * filters + filter) * out[0] + u) * out[1] + v)] +=
                    x.data[transposedAndSumsAt(((n * c.channels + ch) * c.input[0] + i) * c.input[1] + j)] *
                    w.data[transposedAndSumsAt(((ch * c.filters + f) * c.kernel[0] + p) * c.kernel[1] + q)];
              }
  if (c.bias)
    for (std::size_t i = 0; i < y.data.size(); ++i)
      y.data[i] += b.data[i / transposedAndSumsAt(out[0] * out[1]) % transposedAndSumsAt(filters)];
  return y;
}

TEST(ConvTransposeOp, EqualsItsDefinition) {
  const TransposedCase cases[] = {
      {"plain", 2, 3, 2, 1, {3, 4}, {3, 2}},
      {"strided", 1, 2, 3, 1, {3, 4}, {3, 3}, {2, 3}},
      {"padded", 1, 2, 2, 1, {4, 4}, {3, 3}, {2, 2}, {1, 1}, {1, 0, 1, 2}},
      {"dilated", 1, 1, 2, 1, {3, 3}, {2, 3}, {1, 2}, {2, 2}},
      {"extra", 1, 2, 2, 1, {3, 3}, {3, 3}, {3, 2}, {1, 1}, {1, 1, 1, 1}, {2, 1}, false},
      {"groups", 2, 4, 3, 2, {3, 3}, {2, 2}, {2, 1}},
      {"gaps", 1, 1, 1, 1, {3, 3}, {1, 1}, {2, 2}}};
  for (const TransposedCase& c : cases) {
    const Value x = noise({c.batch, c.channels, c.input[0], c.input[1]}, 1),
                w = noise({c.channels, c.filters, c.kernel[0], c.kernel[1]}, 2),
                b = noise({c.filters * c.groups}, 3);
    std::vector<Value> inputs{x, w};
    if (c.bias) inputs.push_back(b);
    const Attributes attributes{{"group", c.groups},
                                {"strides", c.stride},
                                {"dilations", c.dilation},
                                {"pads", c.pads},
                                {"output_padding", c.extra}};
    const Value expected = transposed(c, x, w, b);
    for (const auto& [type, tolerance] :
         {std::pair{ElementType::float64, 1e-13}, {ElementType::float32, 1e-5}}) {
      const auto y = compute("ConvTranspose", inputs, attributes, 1, type);
      ASSERT_TRUE(y.ok()) << c.name << y.error().message;
      EXPECT_EQ((*y)[0].shape, expected.shape) << c.name;
      expectNear((*y)[0], expected.data, tolerance);
    }
    GradientCheck("ConvTranspose", inputs, attributes).run();
  }
}

TEST(ConvTransposeOp, PlacesAWantedOutput) {
  const Value x = noise({1, 1, 3, 3}, 1), w = noise({1, 2, 3, 3}, 2);
  const auto shape = [&](Attributes attributes) {
    attributes["strides"] = Ints{3, 2};
    const auto y = compute("ConvTranspose", {x, w}, attributes);
    return y.ok() ? (*y)[0].shape : Shape();
  };
  EXPECT_EQ(shape({{"output_shape", Ints{10, 8}}}), (Shape{1, 2, 10, 8}));
  EXPECT_EQ(shape({{"output_shape", Ints{1, 2, 9, 6}}}), (Shape{1, 2, 9, 6}));
  EXPECT_EQ(shape({{"auto_pad", std::string("SAME_LOWER")}}), (Shape{1, 2, 9, 6}));
  const auto refused = [&](Attributes attributes) { return refusal("ConvTranspose", {x, w}, attributes); };
  EXPECT_EQ(refused({{"pads", Ints{3, 3, 3, 3}}}),
            "ConvTranspose node: on spatial axis 0 its output would have -1 elements; give less padding");
  EXPECT_EQ(refused({{"strides", Ints{0, 1}}}),
            "ConvTranspose node: attribute strides holds 0; every number must be 1 to 1000000000");
  EXPECT_EQ(refused({{"pads", Ints{1}}}), "ConvTranspose node: attribute pads has 1 numbers; it needs 4");
  EXPECT_EQ(refused({{"group", std::int64_t{2}}}),
            "ConvTranspose node: group is 2; it must divide the 1 channels");
  EXPECT_EQ(refused({{"auto_pad", std::string("SAME")}}),
            "ConvTranspose node: auto_pad is SAME; it must be NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  EXPECT_EQ(refused({{"output_shape", Ints{1}}}),
            "ConvTranspose node: output_shape has 1 numbers; it needs 2");
  EXPECT_EQ(refused({{"kernel_shape", Ints{2, 3}}}),
            "ConvTranspose node: kernel_shape is 2x3, but its weight's kernel is 3x3");
  EXPECT_EQ(refusal("ConvTranspose", {x, noise({2, 2, 3, 3}, 1)}),
            "ConvTranspose node: a weight of 2x2x3x3 does not fit an input of 1x1x3x3; it needs the input's "
            "channels, "
            "filters and 1 to 6 spatial axes");
  EXPECT_EQ(refusal("ConvTranspose", {x, w, noise({1}, 1)}),
            "ConvTranspose node: its bias is 1 float64; it must hold one number for each of the 2 filters");
  EXPECT_EQ(refusal("GradConvTransposeInput", {x, w}, {{"input_shape", Ints{1, 1, 3, 3}}}),
            "GradConvTransposeInput node: the gradient by its output is 1x1x3x3 float64, but the output is "
            "1x2x5x5 float64");
}

// --- Whole-number products
// -----------------------------------------------------------------------------------

TEST(MatMulIntegerOp, TakesZeroPoints) {
  const Value a = labels({2, 3}, {11, 7, 3, 10, 6, 2}, ElementType::uint8);
  const Value b = labels({3, 2}, {-1, 4, 2, -5, 3, 6}, ElementType::int8);
  const Value zeroA = labels({}, {12}, ElementType::uint8), rows = labels({2}, {12, 1}, ElementType::uint8),
              columns = labels({2}, {1, -2}, ElementType::int8);
  const auto oracle = [&](const List& za, const List& zb) {
    List y;
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 2; ++j) {
        double sum = 0;
        for (std::size_t d = 0; d < 3; ++d) sum += (a.data[i * 3 + d] - za[i]) * (b.data[d * 2 + j] - zb[j]);
        y.push_back(sum);
      }
    return y;
  };
  EXPECT_EQ((*compute("MatMulInteger", {a, b}))[0].data, oracle({0, 0}, {0, 0}));
  EXPECT_EQ((*compute("MatMulInteger", {a, b, zeroA}))[0].data, oracle({12, 12}, {0, 0}));
  EXPECT_EQ((*compute("MatMulInteger", {a, b, rows, columns}))[0].data, oracle({12, 1}, {1, -2}));
  EXPECT_EQ((*compute("MatMulInteger", {a, b}))[0].element, ElementType::int32);
  EXPECT_EQ(refusal("MatMulInteger", {a, b, columns}),
            "MatMulInteger node: its zero point (input 2) is 2 int8; it must be one uint8 or 2 of them");
  EXPECT_EQ(refusal("MatMulInteger", {noise({1, 1}, 1), noise({1, 1}, 1)}),
            "MatMulInteger node: cannot compute in float64; there are kernels for int8 and uint8");
}

TEST(ConvIntegerOp, TakesZeroPoints) {
  const Value x = labels({1, 1, 3, 3}, {2, 3, 4, 5, 6, 7, 8, 9, 10}, ElementType::uint8);
  const Value w = labels({2, 1, 2, 2}, {1, 1, 1, 1, 2, 3, 4, 5}, ElementType::uint8);
  const Value zero = labels({}, {1}, ElementType::uint8), perFilter = labels({2}, {0, 2}, ElementType::uint8);
  List expected;
  for (int f = 0; f < 2; ++f)
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j) {
        double sum = 0;
        for (int p = 0; p < 2; ++p)
          for (int q = 0; q < 2; ++q)
            sum += (x.data[transposedAndSumsAt((i + p) * 3 + j + q)] - 1) *
                   (w.data[transposedAndSumsAt(f * 4 + p * 2 + q)] - (f ? 2 : 0));
        expected.push_back(sum);
      }
  EXPECT_EQ((*compute("ConvInteger", {x, w, zero, perFilter}))[0].data, expected);
  EXPECT_EQ(refusal("ConvInteger", {x, w, perFilter}),
            "ConvInteger node: its zero point (input 2) is 2 uint8; it must be one uint8");
  EXPECT_EQ(refusal("ConvInteger", {x, w, zero, labels({3}, {0, 0, 0}, ElementType::uint8)}),
            "ConvInteger node: its zero point (input 3) is 3 uint8; it must be one uint8 or 2 of them");
  EXPECT_EQ(refusal("ConvInteger", {noise({1, 1, 3}, 1), noise({1, 1, 3}, 1)}),
            "ConvInteger node: cannot compute in float64; there are kernels for int8 and uint8");
}

// --- Einsum
// ------------------------------------------------------------------------------------------------------

Attributes equation(std::string text) {
  return {{"equation", std::move(text)}};
}

TEST(EinsumOp, EqualsTheSumsItStandsFor) {
  const Value a = noise({2, 3}, 1), b = noise({3, 4}, 2), s = noise({3, 3}, 3), t = noise({2, 3, 4}, 4);
  List product;
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t k = 0; k < 4; ++k) {
      double sum = 0;
      for (std::size_t j = 0; j < 3; ++j) sum += a.data[i * 3 + j] * b.data[j * 4 + k];
      product.push_back(sum);
    }
  expectNear((*compute("Einsum", {a, b}, equation("ij,jk->ik")))[0], product, 1e-15);
  expectNear((*compute("Einsum", {a, b}, equation(" ij , jk ")))[0], product, 1e-15);
  expectNear((*compute("Einsum", {s}, equation("ii")))[0], {s.data[0] + s.data[4] + s.data[8]}, 1e-15);
  expectNear((*compute("Einsum", {s}, equation("ii->i")))[0], {s.data[0], s.data[4], s.data[8]}, 0);
  expectNear((*compute("Einsum", {a}, equation("ij->ji")))[0],
             {a.data[0], a.data[3], a.data[1], a.data[4], a.data[2], a.data[5]}, 0);
  EXPECT_EQ((*compute("Einsum", {t, b}, equation("...ij,ij->...")))[0].shape, (Shape{2}));
  EXPECT_EQ((*compute("Einsum", {t, noise({1, 4, 5}, 5)}, equation("...ij,...jk")))[0].shape,
            (Shape{2, 3, 5}));
  for (const char* text : {"ij,jk->ik", "ij,jk->k", "ij,jk->"})
    GradientCheck("Einsum", {a, b}, equation(text)).run();
  for (const char* text : {"ii", "ii->i", "ij->j", "ij->ji"})
    GradientCheck("Einsum", {s}, equation(text)).run();
  GradientCheck("Einsum", {t, noise({1, 4, 5}, 5)}, equation("...ij,...jk")).run();
  GradientCheck("Einsum", {a, b, noise({4}, 6)}, equation("ij,jk,k->i")).run();
}

TEST(EinsumOp, RefusesWithNodeAndEquation) {
  const Value a = noise({2, 3}, 1);
  const auto refused = [&](const std::string& text) { return refusal("Einsum", {a}, equation(text)); };
  EXPECT_EQ(refused("ij,jk"), "Einsum node: its equation has 2 terms, but there are 1 inputs");
  EXPECT_EQ(refused("ijk"), "Einsum node: its equation gives input 0 3 axes, but it is 2x3");
  EXPECT_EQ(refused("i-"), "Einsum node: its equation's term 'i-' may hold letters and one '...' only");
  EXPECT_EQ(refused("ii"), "Einsum node: a label of its equation stands for 2 and for 3 elements");
  EXPECT_EQ(refused("ij->k"),
            "Einsum node: its equation's result 'k' names a label that no input has, or one twice");
  EXPECT_EQ(refused("ij->ii"),
            "Einsum node: its equation's result 'ii' names a label that no input has, or one twice");
  EXPECT_EQ(refusal("GradEinsum", {noise({3}, 1), a}, equation("ij->i")),
            "GradEinsum node: the gradient by its output is 3 float64, but the output is 2; or index 0 is no "
            "input");
}

// --- Det
// -----------------------------------------------------------------------------------------------------------

TEST(DetOp, EqualsTheLeibnizFormula) {
  const Value x = noise({2, 3, 3}, 5);
  List expected;
  for (std::size_t m = 0; m < 2; ++m) {
    const double* a = x.data.data() + m * 9;
    expected.push_back(a[0] * (a[4] * a[8] - a[5] * a[7]) - a[1] * (a[3] * a[8] - a[5] * a[6]) +
                       a[2] * (a[3] * a[7] - a[4] * a[6]));
  }
  expectNear((*compute("Det", {x}))[0], expected, 1e-13);
  expectNear((*compute("Det", {Value{{2, 2}, {1, 2, 2, 4}}}))[0], {0}, 0);
  GradientCheck("Det", {x}, {}).run();
  EXPECT_EQ(refusal("Det", {noise({2, 3}, 1)}),
            "Det node: its input is 2x3 float64; it needs square matrices");
  EXPECT_EQ(refusal("GradDet", {x, noise({3}, 1), noise({3}, 1)}),
            "GradDet node: the determinants are 3 float64; they must be 2 float64");
}

// --- Normalisations
// ------------------------------------------------------------------------------------------------

TEST(InstanceNormalizationOp, EqualsItsDefinition) {
  const Value x = noise({2, 3, 4, 5}, 1), scale = noise({3}, 2), bias = noise({3}, 3);
  List expected;
  for (std::size_t p = 0; p < 6; ++p) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < 20; ++i) mean += x.data[p * 20 + i] / 20;
    for (std::size_t i = 0; i < 20; ++i) variance += std::pow(x.data[p * 20 + i] - mean, 2) / 20;
    for (std::size_t i = 0; i < 20; ++i)
      expected.push_back((x.data[p * 20 + i] - mean) / std::sqrt(variance + 1e-3) * scale.data[p % 3] +
                         bias.data[p % 3]);
  }
  const Attributes attributes{{"epsilon", 1e-3}};
  expectNear((*compute("InstanceNormalization", {x, scale, bias}, attributes))[0], expected, 1e-12);
  GradientCheck("InstanceNormalization", {noise({2, 3, 2, 3}, 1), scale, bias}, attributes).run();
  EXPECT_EQ(refusal("InstanceNormalization", {noise({2, 3}, 1), scale, bias}),
            "InstanceNormalization node: its input is 2x3 float64; it needs a batch, channels and at least "
            "one spatial axis");
  EXPECT_EQ(refusal("InstanceNormalization", {x, noise({2}, 1), noise({2}, 1)}),
            "InstanceNormalization node: its scale is 2 float64; it must be 3 float64");
}

TEST(LpNormalizationOp, DividesByTheLength) {
  const Value x = noise({3, 4}, 1);
  List squares(12), sums(12);
  for (std::size_t r = 0; r < 3; ++r) {
    double square = 0;
    for (std::size_t c = 0; c < 4; ++c) square += x.data[r * 4 + c] * x.data[r * 4 + c];
    for (std::size_t c = 0; c < 4; ++c) squares[r * 4 + c] = x.data[r * 4 + c] / std::sqrt(square);
  }
  for (std::size_t c = 0; c < 4; ++c) {
    double sum = 0;
    for (std::size_t r = 0; r < 3; ++r) sum += std::abs(x.data[r * 4 + c]);
    for (std::size_t r = 0; r < 3; ++r) sums[r * 4 + c] = x.data[r * 4 + c] / sum;
  }
  expectNear((*compute("LpNormalization", {x}))[0], squares, 1e-14);
  const Attributes first{{"p", std::int64_t{1}}, {"axis", std::int64_t{0}}};
  expectNear((*compute("LpNormalization", {x}, first))[0], sums, 1e-14);
  GradientCheck("LpNormalization", {x}, {}).run();
  GradientCheck("LpNormalization", {x}, first).run();
  EXPECT_EQ(refusal("LpNormalization", {x}, {{"p", std::int64_t{3}}}),
            "LpNormalization node: p is 3; it must be 1 or 2");
}

TEST(MeanVarianceNormalizationOp, EqualsItsDefinition) {
  const Value x = noise({2, 3, 2, 2}, 1);
  List expected(x.data.size());
  for (std::size_t c = 0; c < 3; ++c) {
    double mean = 0, variance = 0;
    const auto place = [&](std::size_t i) { return (i / 4 * 3 + c) * 4 + i % 4; };
    for (std::size_t i = 0; i < 8; ++i) mean += x.data[place(i)] / 8;
    for (std::size_t i = 0; i < 8; ++i) variance += std::pow(x.data[place(i)] - mean, 2) / 8;
    for (std::size_t i = 0; i < 8; ++i)
      expected[place(i)] = (x.data[place(i)] - mean) / (std::sqrt(variance) + 1e-9);
  }
  expectNear((*compute("MeanVarianceNormalization", {x}))[0], expected, 1e-12);
  GradientCheck("MeanVarianceNormalization", {x}, {}).run();
  GradientCheck("MeanVarianceNormalization", {noise({3, 5}, 2)}, {{"axes", Ints{-1}}}).run();
  EXPECT_EQ(refusal("MeanVarianceNormalization", {noise({3, 5}, 2)}),
            "MeanVarianceNormalization node: axis 2 is not one of the 2 axes of 3x5 float64");
}

TEST(LrnOp, EqualsItsDefinition) {
  const Value x = noise({2, 5, 2, 2}, 1);
  const Attributes attributes{{"size", std::int64_t{4}}, {"alpha", 0.3}, {"beta", 0.6}, {"bias", 1.5}};
  List expected;
  for (std::int64_t i = 0; i < 40; ++i) {
    const std::int64_t c = i / 4 % 5;
    double sum = 0;
    for (std::int64_t other = std::max<std::int64_t>(0, c - 1); other <= std::min<std::int64_t>(4, c + 2);
         ++other)
      sum += std::pow(x.data[transposedAndSumsAt(i + (other - c) * 4)], 2);
    expected.push_back(x.data[transposedAndSumsAt(i)] / std::pow(1.5 + 0.3 / 4 * sum, 0.6));
  }
  expectNear((*compute("LRN", {x}, attributes))[0], expected, 1e-14);
  GradientCheck("LRN", {x}, attributes).run();
  EXPECT_EQ(refusal("LRN", {x}),
            "LRN node: size is 0 and its input 2x5x2x2 float64; it needs a size of 1 or more, a batch and "
            "channels");
}

// --- Losses
// --------------------------------------------------------------------------------------------------------

TEST(NegativeLogLikelihoodLossOp, WeighsAndIgnores) {
  const Value x = noise({2, 3, 2}, 1), target = labels({2, 2}, {0, 2, 1, 2}), weight{{3}, {0.5, 2, 1}};
  const auto picked = [&](std::size_t n, std::size_t c, std::size_t d) {
    return x.data[(n * 3 + c) * 2 + d];
  };
  const List own{-0.5 * picked(0, 0, 0), -picked(0, 2, 1), -2 * picked(1, 1, 0), -picked(1, 2, 1)};
  const std::string op = "NegativeLogLikelihoodLoss";
  const auto loss = [&](Attributes attributes) {
    return (*compute(op, {x, target, weight}, attributes))[0].data;
  };
  const std::string none = "none", sum = "sum";
  expectNear((*compute(op, {x, target, weight}, {{"reduction", none}}))[0], own, 1e-15);
  EXPECT_NEAR(loss({{"reduction", sum}})[0], own[0] + own[1] + own[2] + own[3], 1e-14);
  EXPECT_NEAR(loss({})[0], (own[0] + own[1] + own[2] + own[3]) / 4.5, 1e-14);
  EXPECT_NEAR(loss({{"ignore_index", std::int64_t{2}}})[0], (own[0] + own[2]) / 2.5, 1e-14);
  Value constant = weight;
  constant.role = Value::Role::constant;
  for (const std::string& reduction : {none, sum, std::string("mean")}) {
    GradientCheck(op, {x, target, constant}, {{"reduction", reduction}, {"ignore_index", std::int64_t{1}}})
        .run();
    GradientCheck(op, {x, target}, {{"reduction", reduction}}).run();
  }
  EXPECT_EQ(refusal(op, {x, labels({2, 2}, {0, 3, 1, 2})}),
            "NegativeLogLikelihoodLoss node: label 3 in row 0 is not one of the 3 classes (0 to 2); check "
            "the labels or the "
            "last layer");
  EXPECT_EQ(refusal("GradNegativeLogLikelihoodLoss", {noise({2}, 1), x, target}),
            "GradNegativeLogLikelihoodLoss node: the gradient by the loss is 2 float64; it must be float64");
}

TEST(PairLosses, EqualTheirFormulas) {
  Value x = noise({2, 3}, 1), t = noise({2, 3}, 2), p = x;
  for (double& each : p.data) each = each * 0.4 + 0.5;
  for (double& each : t.data) each = each * 0.5 + 0.5;
  Value fixed = t;
  fixed.role = Value::Role::constant;
  List squared, entropy, logits;
  for (std::size_t i = 0; i < 6; ++i) {
    squared.push_back((x.data[i] - t.data[i]) * (x.data[i] - t.data[i]));
    entropy.push_back(-(t.data[i] * std::log(p.data[i]) + (1 - t.data[i]) * std::log(1 - p.data[i])));
    const double s = 1 / (1 + std::exp(-x.data[i]));
    logits.push_back(-(t.data[i] * std::log(s) + (1 - t.data[i]) * std::log(1 - s)));
  }
  const std::tuple<std::string, Value, List> cases[] = {{"MeanSquaredErrorLoss", x, squared},
                                                        {"BinaryCrossEntropyLoss", p, entropy},
                                                        {"BinaryCrossEntropyWithLogitsLoss", x, logits}};
  for (const auto& [op, input, expected] : cases) {
    double sum = 0;
    for (const double each : expected) sum += each;
    expectNear((*compute(op, {input, t}, {{"reduction", std::string("none")}}))[0], expected, 1e-14);
    EXPECT_NEAR((*compute(op, {input, t}, {{"reduction", std::string("sum")}}))[0].data[0], sum, 1e-13);
    EXPECT_NEAR((*compute(op, {input, t}))[0].data[0], sum / 6, 1e-14);
    for (const char* reduction : {"none", "sum", "mean"})
      GradientCheck(op, {input, fixed}, {{"reduction", std::string(reduction)}}).run();
  }
  GradientCheck("MeanSquaredErrorLoss", {x, t}, {}).run();
  const Value certain{{2}, {0, 1}}, wrong{{2}, {1, 0}};
  EXPECT_EQ((*compute("BinaryCrossEntropyLoss", {certain, wrong}))[0].data[0], 100);
  EXPECT_EQ(refusal("MeanSquaredErrorLoss", {x, noise({2}, 1)}),
            "MeanSquaredErrorLoss node: input 0 is 2x3 float64 and input 1 is 2 float64; they must be alike");
  EXPECT_EQ(refusal("MeanSquaredErrorLoss", {x, t}, {{"reduction", std::string("most")}}),
            "MeanSquaredErrorLoss node: reduction is most; it must be none, sum or mean");
  EXPECT_EQ(refusal("GradPairLoss", {absent()}), "GradPairLoss node: it needs predictions and targets");
}

// --- Optimizers in a graph
// -----------------------------------------------------------------------------------------

TEST(OptimizerNodes, FollowTheirFormulas) {
  const Value rate{{}, {0.1}}, x{{2}, {1.2, 2.8}}, g{{2}, {-0.94, -2.5}}, v{{2}, {1.7, 3.6}},
      h{{2}, {0.1, 0.2}};
  const Value first = labels({}, {0}), later = labels({}, {3});
  const auto momentum = *compute("Momentum", {rate, first, x, g, v},
                                 {{"alpha", 0.95}, {"beta", 0.1}, {"norm_coefficient", 0.001}}, 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const double slope = 0.001 * x.data[i] + g.data[i], next = 0.95 * v.data[i] + slope;
    EXPECT_NEAR(momentum[1].data[i], next, 1e-14);
    EXPECT_NEAR(momentum[0].data[i], x.data[i] - 0.1 * next, 1e-14);
  }
  const auto nesterov = *compute("Momentum", {rate, later, x, g, v},
                                 {{"alpha", 0.95}, {"beta", 0.1}, {"mode", std::string("nesterov")}}, 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const double next = 0.95 * v.data[i] + 0.1 * g.data[i];
    EXPECT_NEAR(nesterov[0].data[i], x.data[i] - 0.1 * (g.data[i] + 0.95 * next), 1e-14);
  }
  const auto adagrad =
      *compute("Adagrad", {rate, later, x, g, h}, {{"decay_factor", 0.5}, {"epsilon", 1e-5}}, 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const double squares = h.data[i] + g.data[i] * g.data[i];
    EXPECT_NEAR(adagrad[1].data[i], squares, 1e-14);
    EXPECT_NEAR(adagrad[0].data[i], x.data[i] - 0.1 / 2.5 * g.data[i] / (std::sqrt(squares) + 1e-5), 1e-14);
  }
  const auto adam =
      *compute("Adam", {rate, later, x, g, v, h},
               {{"alpha", 0.9}, {"beta", 0.99}, {"epsilon", 1e-2}, {"norm_coefficient_post", 0.1}}, 3);
  for (std::size_t i = 0; i < 2; ++i) {
    const double m = 0.9 * v.data[i] + 0.1 * g.data[i], s = 0.99 * h.data[i] + 0.01 * g.data[i] * g.data[i];
    const double corrected = 0.1 * std::sqrt(1 - std::pow(0.99, 3)) / (1 - std::pow(0.9, 3));
    EXPECT_NEAR(adam[0].data[i], 0.9 * (x.data[i] - corrected * m / (std::sqrt(s) + 1e-2)), 1e-13);
    EXPECT_NEAR(adam[1].data[i], m, 1e-14);
    EXPECT_NEAR(adam[2].data[i], s, 1e-14);
  }
  EXPECT_EQ(refusal("Adam", {rate, later, x, g, v}), "Adam node has 5 inputs; it takes 6 to 1048576");
  EXPECT_EQ(refusal("Momentum", {rate, later, x, g, v, h}),
            "Momentum node: it has 6 inputs; beside rate and count it takes 3 for each tensor");
  EXPECT_EQ(refusal("Momentum", {rate, later, x, g, v}, {}, 3),
            "Momentum node: it has 3 outputs; it makes 2");
  EXPECT_EQ(refusal("Momentum", {rate, rate, x, g, v}),
            "Momentum node: rate and count are float64 and float64; they must be one float32 or float64 and "
            "one int64");
  EXPECT_EQ(refusal("Momentum", {rate, later, x, g, v}, {{"mode", std::string("fast")}}),
            "Momentum node: mode is fast; it must be standard or nesterov");
}

}  // namespace
}  // namespace pipescope::ops_test
