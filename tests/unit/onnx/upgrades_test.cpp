// A node of an older opset must compute what the same operation written in opset 17 computes. Each test
// writes both.
#include <gmock/gmock.h>

#include "model_maker.h"

namespace pipescope::onnx_test {
namespace {

using ::testing::HasSubstr;
using Fill = std::function<void(GraphMaker&)>;

/// Outputs of one node over x [2, 3, 2], or with the shape in `x`.
Floats compute(std::int64_t opset, const Fill& fill, Floats x = {}, Ints shape = {2, 3, 2}) {
  if (x.empty()) x = {1, -2, 3, 4, -5, 6, 0.5F, 8, -9, 1, 2, 3};
  const auto model = makeModel(opset, [&](GraphMaker& g) {
    g.input("x", Proto::FLOAT, shape).output("y");
    fill(g);
  });
  const auto outputs = interpret(model, {floatTensor(shape, x)});
  EXPECT_TRUE(outputs.ok()) << outputs.error().message;
  return outputs.ok() ? valuesOf<float>((*outputs)[0]) : Floats();
}

TEST(Upgrades, AxesOfSqueezeUnsqueezeAndReduceSum) {
  const Fill old = [](GraphMaker& g) {
    setInts(g.node("Unsqueeze", {"x"}, {"a"}), "axes", {0, 2});
    setInts(g.node("Squeeze", {"a"}, {"b"}), "axes", {0});
    setInts(g.node("ReduceSum", {"b"}, {"y"}), "axes", {2});
  };
  const Fill now = [](GraphMaker& g) {
    g.ints("axes", {1}, {1});
    g.node("ReduceSum", {"x", "axes"}, {"y"});
  };
  EXPECT_EQ(compute(11, old), compute(13, now));
}

TEST(Upgrades, SliceClipAndPad) {
  const Fill old = [](GraphMaker& g) {
    auto& slice = g.node("Slice", {"x"}, {"a"});
    setInts(slice, "axes", {1});
    setInts(slice, "starts", {1});
    setInts(slice, "ends", {3});
    auto& clip = g.node("Clip", {"a"}, {"b"});
    setFloat(clip, "min", -1);
    setFloat(clip, "max", 2);
    auto& pad = g.node("Pad", {"b"}, {"y"});
    setInts(pad, "pads", {0, 0, 1, 0, 0, 0});
    setFloat(pad, "value", 7);
  };
  const Floats expected{7, 2, 2, 7, -1, 2, 7, -1, 1, 7, 2, 2};
  EXPECT_EQ(compute(9, old), expected);
}

TEST(Upgrades, SplitAndTopK) {
  const Fill split = [](GraphMaker& g) {
    auto& node = g.node("Split", {"x"}, {"a", "y"});
    setInt(node, "axis", 1);
    setInts(node, "split", {1, 2});
  };
  EXPECT_EQ(compute(11, split), (Floats{3, 4, -5, 6, -9, 1, 2, 3}));
  const Fill topK = [](GraphMaker& g) {
    auto& node = g.node("TopK", {"x"}, {"y", "i"});
    setInt(node, "k", 1);
    setInt(node, "axis", 1);
  };
  EXPECT_EQ(compute(9, topK), (Floats{3, 6, 2, 8}));
}

/// The axes before axis 1 form the rows of a matrix, and each row is normalised as a whole.
TEST(Upgrades, SoftmaxSawAMatrix) {
  const Fill old = [](GraphMaker& g) { g.node("Softmax", {"x"}, {"y"}); };
  const Fill now = [](GraphMaker& g) {
    g.ints("matrix", {2}, {2, 6}).ints("back", {3}, {2, 3, 2});
    g.node("Reshape", {"x", "matrix"}, {"a"});
    g.node("Softmax", {"a"}, {"b"});
    g.node("Reshape", {"b", "back"}, {"y"});
  };
  const Floats was = compute(12, old), is = compute(13, now);
  ASSERT_EQ(was.size(), is.size());
  for (std::size_t i = 0; i < was.size(); ++i) EXPECT_FLOAT_EQ(was[i], is[i]);
  const Fill last = [](GraphMaker& g) { setInt(g.node("LogSoftmax", {"x"}, {"y"}), "axis", 2); };
  EXPECT_EQ(compute(11, last), compute(13, last));
}

TEST(Upgrades, UpsampleAndResize) {
  const Fill attribute = [](GraphMaker& g) {
    auto* scales = g.node("Upsample", {"x"}, {"y"}).add_attribute();
    scales->set_name("scales");
    scales->set_type(::onnx::AttributeProto::FLOATS);
    for (const float scale : {1.0F, 1.0F, 2.0F, 2.0F}) scales->add_floats(scale);
  };
  const Fill input = [](GraphMaker& g) {
    g.floats("scales", {4}, {1, 1, 2, 2});
    g.node("Upsample", {"x", "scales"}, {"y"});
  };
  const Fill resize = [](GraphMaker& g) {
    g.floats("scales", {4}, {1, 1, 2, 2});
    g.node("Resize", {"x", "scales"}, {"y"});
  };
  const Floats expected{1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4};
  const Floats x{1, 2, 3, 4};
  EXPECT_EQ(compute(8, attribute, x, {1, 1, 2, 2}), expected);
  EXPECT_EQ(compute(9, input, x, {1, 1, 2, 2}), expected);
  EXPECT_EQ(compute(10, resize, x, {1, 1, 2, 2}), expected);
  const auto missing = makeModel(8, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {1, 1, 2, 2}).output("y");
    g.node("Upsample", {"x"}, {"y"}, "up");
  });
  EXPECT_THAT(refusal(missing), HasSubstr("Upsample up: the attribute scales is missing"));
}

TEST(Upgrades, DropoutPassesOnWithAMaskOfItsTime) {
  const Fill nine = [](GraphMaker& g) {
    setFloat(g.node("Dropout", {"x"}, {"a", "mask"}), "ratio", 0.3F);
    g.node("Mul", {"a", "mask"}, {"y"});  // up to opset 9 the mask is a float
  };
  EXPECT_EQ(compute(9, nine, {1, -2}, {2}), (Floats{1, -2}));
  const Fill eleven = [](GraphMaker& g) { setFloat(g.node("Dropout", {"x"}, {"y"}), "ratio", 0.3F); };
  EXPECT_EQ(compute(11, eleven, {1, -2}, {2}), (Floats{1, -2}));
}

TEST(Upgrades, BatchNormalization) {
  const Fill one = [](GraphMaker& g) {
    g.floats("scale", {3}, {1, 2, 3})
        .floats("bias", {3}, {0, 1, 0})
        .floats("mean", {3}, {0, 1, 2})
        .floats("var", {3}, {1, 4, 9});
    setInt(g.node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y"}), "spatial", 1);
  };
  const Floats y = compute(7, one);
  EXPECT_NEAR(y[2], 1 + 2 * (3 - 1) / 2.0F, 1e-4);
  const auto spatial = makeModel(7, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {1, 1, 2}).output("y").floats("s", {1}, {1});
    setInt(g.node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"y"}, "bn"), "spatial", 0);
  });
  EXPECT_THAT(refusal(spatial), HasSubstr("BatchNormalization bn: spatial = 0"));
  const Fill training = [](GraphMaker& g) {
    g.floats("one", {3}, {1, 1, 1}).floats("zero", {3}, {0, 0, 0});
    g.node("BatchNormalization", {"x", "one", "zero", "zero", "one"},
           {"n", "y", "var", "saved", "saved_var"});
  };
  // The running mean: 0.9·0 + 0.1·mean of the channel.
  EXPECT_NEAR(compute(9, training)[0], 0.1F * (1 - 2 + 0.5F + 8) / 4, 1e-6);
}

TEST(Upgrades, ScatterAndScanOfOpset8) {
  const Fill scatter = [](GraphMaker& g) {
    g.ints("at", {1}, {1}).floats("with", {1}, {9});
    g.node("Scatter", {"x", "at", "with"}, {"y"});
  };
  EXPECT_EQ(compute(10, scatter, {1, 2, 3}, {3}), (Floats{1, 9, 3}));
  const auto scan = makeModel(8, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {2}).output("y");
    auto& node = g.node("Scan", {"", "x"}, {"y"}, "scan");
    setGraph(node, "body");
  });
  EXPECT_THAT(refusal(scan), HasSubstr("Scan scan: Scan of opset 8"));
}

}  // namespace
}  // namespace pipescope::onnx_test
