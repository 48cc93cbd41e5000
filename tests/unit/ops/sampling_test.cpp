// Resize, GridSample, RoiAlign and MaxUnpool: gradients, corner cases and sentences. ONNX's node cases check
// their values.
#include <gmock/gmock.h>

#include "index_oracle.h"

namespace pipescope::ops_test {
namespace {

using testing::HasSubstr;

Value reals(std::vector<double> data) {
  const auto count = static_cast<std::int64_t>(data.size());
  return {{count}, std::move(data), ElementType::float32, Value::Role::constant};
}

Attributes resizing(const std::string& mode, const std::string& coordinates) {
  return {{"mode", mode}, {"coordinate_transformation_mode", coordinates}};
}

TEST(Resize, HasTheGradientsOfItsDifferences) {
  const Value x = noise({1, 2, 3, 4}, 1);
  for (const std::string mode : {"nearest", "linear", "cubic"}) {
    for (const std::string coordinates :
         {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"}) {
      GradientCheck("Resize", {x, absent(), absent(), constantInts({1, 2, 5, 3})},
                    resizing(mode, coordinates))
          .run();
      GradientCheck("Resize", {x, absent(), reals({1, 1, 0.67, 2})}, resizing(mode, coordinates)).run();
    }
    Attributes crop = resizing(mode, "tf_crop_and_resize");
    crop["extrapolation_value"] = 3.0;
    GradientCheck("Resize",
                  {x, reals({0, 0, 0.2, 0.5, 1, 1, 1.3, 0.9}), absent(), constantInts({1, 2, 4, 3})}, crop)
        .run();
  }
  Attributes exclude = resizing("cubic", "half_pixel");
  exclude["exclude_outside"] = std::int64_t{1};
  exclude["cubic_coeff_a"] = -0.5;
  GradientCheck("Resize", {x, absent(), reals({1, 1, 2, 1.5})}, exclude).run();
  GradientCheck("Upsample", {x, reals({1, 1, 2, 3})}, {{"mode", std::string("linear")}}).run();
  GradientCheck("Resize", {x, absent(), reals({1, 1, 1, 1})}, {}).run();
}

TEST(Resize, MovesElementsOfEveryType) {
  const auto y = compute(
      "Resize", {labels({1, 1, 2, 2}, {1, 2, 3, 4}, ElementType::uint8), absent(), reals({1, 1, 1, 2})});
  ASSERT_TRUE(y.ok()) << y.error().message;
  EXPECT_EQ((*y)[0].data, (std::vector<double>{1, 1, 2, 2, 3, 3, 4, 4}));
  const auto crop = compute(
      "Resize", {noise({1, 4}, 1), reals({0, 2, 1, 3}), absent(), constantInts({1, 2})},
      {{"coordinate_transformation_mode", std::string("tf_crop_and_resize")}, {"extrapolation_value", 7.0}});
  ASSERT_TRUE(crop.ok()) << crop.error().message;
  EXPECT_EQ((*crop)[0].data, (std::vector<double>{7, 7}));
}

TEST(Resize, RefusesWhatDoesNotFit) {
  const Value x = noise({1, 2, 3, 4}, 1);
  EXPECT_THAT(refusal("Resize", {x}), HasSubstr("give either scales or sizes"));
  EXPECT_THAT(refusal("Resize", {x, absent(), reals({1, 1})}), HasSubstr("it has 2 scales"));
  EXPECT_THAT(refusal("Resize", {x, absent(), reals({1, 1, -1, 1})}),
              HasSubstr("a scale is -1; it must be above 0"));
  EXPECT_THAT(refusal("Resize", {x, absent(), reals({1, 1, 1, 1e30})}),
              HasSubstr("a scale is 1e+30; it must be above 0 and below 1.1e+12"));
  EXPECT_THAT(refusal("Resize", {x, absent(), absent(), constantInts({1, 2, -3, 4})}),
              HasSubstr("axis 2 of extent 3 would become -3"));
  EXPECT_THAT(refusal("Resize", {x, absent(), reals({1, 1, 2, 2})}, resizing("area", "half_pixel")),
              HasSubstr("mode is area; it must be one of nearest, linear, cubic"));
  EXPECT_THAT(
      refusal("Resize", {x, absent(), reals({1, 1, 2, 2})}, resizing("nearest", "tf_crop_and_resize")),
      HasSubstr("needs roi"));
  EXPECT_THAT(refusal("Resize", {x, absent(), {{4}, {1, 1, 2, 2}, ElementType::float32}}),
              HasSubstr("depends on the data of scales"));
  EXPECT_THAT(refusal("Resize", {x, absent(), absent(), constantInts({1, 2, 1 << 27, 4})}),
              HasSubstr("axis 2 of extent 3 would become"));
  EXPECT_THAT(refusal("Resize", {x, absent(), reals({1e6, 1e6, 1e6, 1})}),
              HasSubstr("more elements than any memory"));
  EXPECT_THAT(refusal("Resize", {x, absent(), constantInts({1, 1, 2, 2})}), HasSubstr("it must be float32"));
  EXPECT_THAT(refusal("GradResize", {noise({2}, 1), absent(), reals({2})}, {{"input_shape", Ints{3}}}),
              HasSubstr("but the output is 6"));
}

TEST(GridSample, HasTheGradientsOfItsDifferences) {
  const Value x = noise({2, 2, 3, 4}, 1);
  Value grid = noise({2, 3, 2, 2}, 2);
  for (double& at : grid.data) at *= 1.4;
  for (const std::string mode : {"bilinear", "nearest", "bicubic"}) {
    for (const std::string padding : {"zeros", "border", "reflection"}) {
      for (const std::int64_t align : {0, 1}) {
        // The cubic's neighbours beyond the edge move no more than their mirror images.
        GradientCheck("GridSample", {x, grid},
                      {{"mode", mode}, {"padding_mode", padding}, {"align_corners", align}})
            .run(1e-6);
      }
    }
  }
}

TEST(GridSample, RefusesWhatDoesNotFit) {
  const Value x = noise({1, 1, 2, 2}, 1), grid = noise({1, 2, 2, 2}, 2);
  EXPECT_THAT(refusal("GridSample", {x, grid}, {{"mode", std::string("cubic")}}), HasSubstr("mode is cubic"));
  EXPECT_THAT(refusal("GridSample", {x, noise({1, 2, 2, 3}, 1)}),
              HasSubstr("it needs batch, channels, height and width"));
  EXPECT_THAT(
      refusal("GradGridSampleInput", {noise({1, 1, 2, 1}, 1), grid}, {{"input_shape", Ints{1, 1, 2, 2}}}),
      HasSubstr("but the output is 1x1x2x2"));
  Value far = grid;
  far.data[0] = std::nan("");
  far.data[2] = 1e30;
  const auto y = compute("GridSample", {x, far});
  ASSERT_TRUE(y.ok()) << y.error().message;
  EXPECT_EQ((*y)[0].data[0], 0);
  EXPECT_EQ((*y)[0].data[1], 0);
}

TEST(RoiAlign, HasTheGradientsOfItsDifferences) {
  const Value x = noise({2, 2, 6, 5}, 1);
  Value rois{{3, 4}, {0, 0.5, 3, 4, 1, 1, 1.5, 9, -2, -1, 2, 2}, ElementType::float64, Value::Role::constant};
  for (const std::string transform : {"half_pixel", "output_half_pixel"}) {
    for (const std::int64_t samples : {0, 2}) {
      GradientCheck("RoiAlign", {x, rois, labels({3}, {0, 1, 1})},
                    {{"coordinate_transformation_mode", transform},
                     {"output_height", std::int64_t{2}},
                     {"output_width", std::int64_t{3}},
                     {"sampling_ratio", samples},
                     {"spatial_scale", 0.9}})
          .run();
    }
  }
}

TEST(RoiAlign, RefusesWhatDoesNotFit) {
  const Value x = noise({1, 1, 4, 4}, 1), roi{{1, 4}, {0, 0, 2, 2}};
  EXPECT_THAT(refusal("RoiAlign", {x, roi, labels({1}, {1})}),
              HasSubstr("region 0 belongs to image 1; there are 1"));
  EXPECT_THAT(refusal("RoiAlign", {x, Value{{1, 4}, {0, 0, 1e30, 2}}, labels({1}, {0})}),
              HasSubstr("too large to be sampled"));
  EXPECT_THAT(refusal("RoiAlign", {x, roi, labels({1}, {0})}, {{"mode", std::string("max")}}),
              HasSubstr("only avg is supported"));
  EXPECT_THAT(refusal("RoiAlign", {x, roi, labels({1}, {0})}, {{"output_height", std::int64_t{0}}}),
              HasSubstr("its output is 0x1"));
  EXPECT_THAT(
      refusal("RoiAlign", {x, roi, labels({1}, {0})}, {{"coordinate_transformation_mode", std::string("x")}}),
      HasSubstr("coordinate_transformation_mode is x"));
  EXPECT_THAT(refusal("RoiAlign", {x, roi, labels({2}, {0, 0})}), HasSubstr("an int64 for each"));
  EXPECT_THAT(refusal("GradRoiAlign", {noise({1, 1, 2, 2}, 1), roi, labels({1}, {0})},
                      {{"input_shape", Ints{1, 1, 4, 4}}}),
              HasSubstr("but the output is 1x1x1x1"));
}

TEST(MaxUnpool, PutsBackAndHasGradients) {
  const Value x = noise({1, 2, 2, 2}, 1), places = labels({1, 2, 2, 2}, {5, 7, 13, 15, 16, 18, 31, 24});
  const Attributes attributes{{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};
  std::vector<double> expected(32, 0);
  for (std::size_t i = 0; i < 8; ++i) expected[static_cast<std::size_t>(places.data[i])] = x.data[i];
  expectMoves("MaxUnpool", {x, places}, attributes, {1, 2, 4, 4}, expected);
  expectMoves("MaxUnpool", {x, places, constantInts({1, 2, 4, 4})}, attributes, {1, 2, 4, 4}, expected);
  GradientCheck("MaxUnpool", {x, places}, attributes).run();
  EXPECT_THAT(refusal("MaxUnpool", {x, places, constantInts({1, 2, 5, 5})}, attributes),
              HasSubstr("output_shape is 1x2x5x5"));
  EXPECT_THAT(refusal("MaxUnpool", {x, labels({1, 2, 2, 2}, {0, 0, 0, 32, 0, 0, 0, 0})}, attributes),
              HasSubstr("index 32 is outside its output of 32"));
  EXPECT_THAT(refusal("MaxUnpool", {x, places}, {{"kernel_shape", Ints{2}}}),
              HasSubstr("do not fit its input"));
  EXPECT_THAT(refusal("MaxUnpool", {x, labels({1}, {0})}, attributes),
              HasSubstr("must be int64 and like its input"));
}

}  // namespace
}  // namespace pipescope::ops_test
