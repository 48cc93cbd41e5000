// Tests the refusals of If, Loop and Scan, both when they run and when they are unrolled.
#include <gmock/gmock.h>

#include "engine/ops/standard_operators.h"
#include "model_maker.h"

namespace pipescope::onnx_test {
namespace {

using ::testing::HasSubstr;

std::string unrolled(const ::onnx::ModelProto& proto) {
  const auto model = read(proto);
  if (!model.ok()) return model.error().message;
  const auto instance = onnx::instantiate(*model, ops::standardOperators(), {});
  return instance.ok() ? "" : instance.error().message;
}
std::string interpreted(const ::onnx::ModelProto& proto, const Tensors& inputs) {
  const auto outputs = interpret(proto, inputs);
  return outputs.ok() ? "" : outputs.error().message;
}

/// Sums the rows of x (2 × 3) and passes those of y through.
::onnx::ModelProto scan(const std::function<void(::onnx::NodeProto&)>& change = [](auto&) {}) {
  return makeModel(17, [&](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {2, 3})
        .input("y", Proto::FLOAT, {2, 3})
        .output("last")
        .output("all")
        .floats("zero", {3}, {0, 0, 0});
    auto& node = g.node("Scan", {"zero", "x", "y"}, {"last", "all"}, "scan");
    GraphMaker body = setGraph(node, "body");
    body.input("sum", Proto::FLOAT, {3}).input("row", Proto::FLOAT, {3}).input("other", Proto::FLOAT, {3});
    body.output("next").output("other");
    body.node("Add", {"sum", "row"}, {"next"});
    setInt(node, "num_scan_inputs", 2);
    change(node);
  });
}
const Tensors kRows{floatTensor({2, 3}, {1, 2, 3, 4, 5, 6}), floatTensor({2, 3}, {0, 0, 0, 1, 1, 1})};

void expectBoth(const ::onnx::ModelProto& proto, const Tensors& inputs, const std::string& part) {
  EXPECT_THAT(interpreted(proto, inputs), HasSubstr(part));
  EXPECT_THAT(unrolled(proto), HasSubstr(part));
}

TEST(ControlFlow, ScanIsRefusedAlike) {
  EXPECT_EQ(interpreted(scan(), kRows), "");
  EXPECT_EQ(unrolled(scan()), "");
  const auto list = [](const char* name, const Ints& values) {
    return scan([&](::onnx::NodeProto& node) { setInts(node, name, values); });
  };
  expectBoth(list("scan_input_axes", {0}), kRows, "Scan scan: scan_input_axes must list 2 whole numbers");
  expectBoth(list("scan_input_axes", {0, 2}), kRows, "scan input 1 is 2x3 float32 and has no axis 2");
  expectBoth(list("scan_input_axes", {0, 1}), kRows,
             "its scan inputs have 2 and 3 steps; they must have the same number");
  expectBoth(list("scan_input_directions", {0, 2}), kRows,
             "scan_input_directions has the entry 2; 0 is forward, 1 is reverse");
  expectBoth(list("scan_output_axes", {2}), kRows, "a scan output axis is 2; it must lie in -2 … 1");
  expectBoth(list("scan_output_directions", {0, 0}), kRows,
             "scan_output_directions must list 1 whole numbers");
  expectBoth(scan([](auto& node) { node.mutable_attribute(1)->set_i(4); }), kRows,
             "num_scan_inputs must be given and lie in 1 … 3");
  expectBoth(scan([](auto& node) { node.set_input(1, ""); }), kRows, "Scan scan: an input is left out");
  expectBoth(scan([](auto& node) {
               node.mutable_attribute(0)->mutable_g()->mutable_input()->RemoveLast();
               node.mutable_attribute(0)->mutable_g()->mutable_output(1)->set_name("next");
             }),
             kRows, "its graph has 2 inputs and 2 outputs; it must have 3 and 2");
  expectBoth(scan([](auto& node) { node.mutable_attribute()->DeleteSubrange(0, 1); }), kRows,
             "its graph body is missing");
  // Only two of three carried values are outputs.
  ::onnx::ModelProto few = scan([](auto& node) {
    node.mutable_attribute(1)->set_i(1);
    node.mutable_output()->RemoveLast();
  });
  few.mutable_graph()->mutable_output()->RemoveLast();
  expectBoth(few, kRows, "has fewer outputs than carried values");
}

TEST(ControlFlow, ScanWithoutStepsGivesNothingToStack) {
  const auto empty = makeModel(17, [](GraphMaker& g) {
    g.input("zero", Proto::FLOAT, {3}).output("last").output("all").floats("x", {0, 3}, {});
    auto& node = g.node("Scan", {"zero", "x"}, {"last", "all"}, "scan");
    GraphMaker body = setGraph(node, "body");
    body.input("sum", Proto::FLOAT, {3}).input("row", Proto::FLOAT, {3});
    body.output("next").output("next");
    body.node("Add", {"sum", "row"}, {"next"});
    setInt(node, "num_scan_inputs", 1);
  });
  EXPECT_THAT(unrolled(empty), HasSubstr("Scan scan: a loop without iterations gives an empty result"));
  EXPECT_THAT(
      interpreted(empty, {floatTensor({3}, {1, 2, 3})}),
      HasSubstr("it runs no iteration, and the file does not say of what type the scan output next is"));
}

::onnx::ModelProto loop(const std::function<void(::onnx::NodeProto&)>& change, const Ints& trips = {2}) {
  return makeModel(17, [&](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {2}).output("y").output("all").ints("trips", {}, trips);
    auto& node = g.node("Loop", {"trips", "", "x"}, {"y", "all"}, "loop");
    GraphMaker body = setGraph(node, "body");
    body.input("i", Proto::INT64, {}).input("on", Proto::BOOL, {}).input("v", Proto::FLOAT, {2});
    body.output("on", Proto::BOOL).output("next").output("next");
    body.node("Neg", {"v"}, {"next"});
    change(node);
  });
}

TEST(ControlFlow, LoopIsRefusedAlike) {
  const Tensors x{floatTensor({2}, {1, 2})};
  EXPECT_EQ(interpreted(loop([](auto&) {}), x), "");
  EXPECT_EQ(unrolled(loop([](auto&) {})), "");
  expectBoth(loop([](auto& node) { node.set_input(2, ""); }), x, "Loop loop: a carried value is left out");
  expectBoth(loop([](auto& node) {
               node.add_input("x");
               node.add_input("x");
             }),
             x, "has fewer outputs than carried values");
  expectBoth(loop([](auto& node) { node.mutable_attribute(0)->mutable_g()->mutable_output()->RemoveLast(); }),
             x, "its graph has 3 inputs and 2 outputs; it must have 3 and 3");
  expectBoth(loop([](auto& node) { node.clear_attribute(); }), x, "its graph body is missing");
  EXPECT_THAT(unrolled(loop([](auto&) {}, {0})),
              HasSubstr("Loop loop: a loop without iterations gives an empty result"));
  // The condition is not a bool.
  const auto numbers = loop([](auto& node) {
    auto* body = node.mutable_attribute(0)->mutable_g();
    body->mutable_output(0)->set_name("i");
  });
  EXPECT_THAT(interpreted(numbers, x), HasSubstr("the condition that its graph gives must be one bool"));
  EXPECT_THAT(unrolled(numbers), HasSubstr("its condition depends on the data"));
}

TEST(ControlFlow, ScanOutputsMustKeepTheirShape) {
  // The carried value doubles its length in each iteration.
  const auto growing = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {-1}).output("y").output("all").ints("trips", {}, {3});
    auto& node = g.node("Loop", {"trips", "", "x"}, {"y", "all"}, "loop");
    GraphMaker body = setGraph(node, "body");
    body.input("i", Proto::INT64, {}).input("on", Proto::BOOL, {}).input("v", Proto::FLOAT, {-1});
    body.output("on", Proto::BOOL).output("next").output("next");
    setInt(body.node("Concat", {"v", "v"}, {"next"}), "axis", 0);
  });
  EXPECT_THAT(
      interpreted(growing, {floatTensor({1}, {1})}),
      HasSubstr("a scan output is 2 float32 once and 4 float32 later; all iterations must give one shape"));
  EXPECT_NE(unrolled(growing), "");
}

TEST(ControlFlow, IfNeedsOneInput) {
  const auto branch = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {2}).output("y");
    auto& node = g.node("If", {}, {"y"}, "choose");
    setGraph(node, "then_branch").output("x");
    setGraph(node, "else_branch").output("x");
  });
  expectBoth(branch, {floatTensor({2}, {1, 2})}, "If choose must have one input, its condition");
}

}  // namespace
}  // namespace pipescope::onnx_test
