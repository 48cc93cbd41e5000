#include "engine/numerics/thread_pool.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>

#include "engine/numerics/graph_program.h"
#include "engine/ops/standard_operators.h"
#include "model_maker.h"

namespace pipescope::onnx_test {
namespace {

using ::testing::HasSubstr;

std::string runRefusal(const ::onnx::ModelProto& proto, const Tensors& inputs,
                       numerics::InterpreterOptions options = {}) {
  const auto outputs = interpret(proto, inputs, options);
  return outputs.ok() ? "" : outputs.error().message;
}

graph::TensorValue truth(bool value) {
  return tensor<std::uint8_t>(graph::ElementType::boolean, {}, {static_cast<std::uint8_t>(value ? 1 : 0)});
}

TEST(Interpreter, ShapesMayDependOnValues) {
  const auto model = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {-1}).output("y");
    g.node("NonZero", {"x"}, {"where"});
    g.node("Squeeze", {"where", "axes"}, {"flat"});
    g.ints("axes", {1}, {0});
    g.node("Gather", {"x", "flat"}, {"y"});
  });
  const auto outputs = interpret(model, {floatTensor({5}, {0, 3, 0, -1, 2})});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  EXPECT_EQ(valuesOf<float>((*outputs)[0]), (Floats{3, -1, 2}));
  const auto none = interpret(model, {floatTensor({2}, {0, 0})});
  ASSERT_TRUE(none.ok()) << none.error().message;
  EXPECT_EQ((*none)[0].type.shape, Ints{0});
}

#if !defined(__SANITIZE_ADDRESS__)
// Runs in a process of its own, whose limited memory stands for a machine that has no more.
TEST(InterpreterDeathTest, MemoryThatTheMachineHasNotGotIsASentence) {
  const auto model = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {1}).output("y");
    g.ints("shape", {2}, {1 << 15, 1 << 14});
    g.node("Expand", {"x", "shape"}, {"y"}, "grow");
  });
  const auto inLittleMemory = [&model] {
    const rlimit limit{std::size_t{1} << 30, std::size_t{1} << 30};
    setrlimit(RLIMIT_AS, &limit);
    numerics::InterpreterOptions options;
    options.maxBytes = std::int64_t{1} << 40;
    std::fputs(runRefusal(model, {floatTensor({1}, {1})}, options).c_str(), stderr);
    std::exit(0);
  };
  EXPECT_EXIT(inLittleMemory(), ::testing::ExitedWithCode(0),
              "not enough memory to compute 32768x16384 float32");
  EXPECT_GT(numerics::affordableBytes(), 1 << 20);
}
#endif

TEST(Interpreter, InputsMustBeWhatTheModelDeclares) {
  const auto model = makeModel(17, [](GraphMaker& g) {
    g.input("a", Proto::FLOAT, {-1, 2}).input("b", Proto::FLOAT, {-1, 2}).output("y");
    g.node("Add", {"a", "b"}, {"y"});
  });
  const graph::TensorValue two = floatTensor({1, 2}, {1, 2});
  EXPECT_THAT(runRefusal(model, {two}), HasSubstr("takes 2 inputs, but 1 are given"));
  EXPECT_THAT(runRefusal(model, {two, intTensor({1, 2}, {1, 2})}),
              HasSubstr("input 1 (b) is 1x2 int64, but the model takes float32"));
  EXPECT_THAT(runRefusal(model, {two, floatTensor({2}, {1, 2})}), HasSubstr("the model takes 2 axes"));
  EXPECT_THAT(runRefusal(model, {two, floatTensor({1, 3}, {1, 2, 3})}), HasSubstr("the extent 2 at axis 1"));
  EXPECT_THAT(runRefusal(model, {two, floatTensor({2, 2}, {1, 2, 3, 4})}),
              HasSubstr("the extent 1 at axis 0"));
}

::onnx::ModelProto branches() {
  return makeModel(17, [](GraphMaker& g) {
    g.input("c", Proto::BOOL, {}).input("x", Proto::FLOAT, {-1}).output("y");
    auto& node = g.node("If", {"c"}, {"y"}, "choose");
    GraphMaker yes = setGraph(node, "then_branch");
    yes.output("t").node("Neg", {"x"}, {"t"});
    GraphMaker no = setGraph(node, "else_branch");
    no.output("e").node("Concat", {"x", "x"}, {"e"});
    setInt(*no->mutable_node(0), "axis", 0);
  });
}

TEST(Interpreter, IfRunsOneBranchWithOuterValues) {
  const graph::TensorValue x = floatTensor({2}, {1, 2});
  EXPECT_EQ(valuesOf<float>((*interpret(branches(), {truth(true), x}))[0]), (Floats{-1, -2}));
  EXPECT_EQ(valuesOf<float>((*interpret(branches(), {truth(false), x}))[0]), (Floats{1, 2, 1, 2}));
}

/// A loop that draws three times, and its unrolled graph.
::onnx::ModelProto drawingLoop() {
  return makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {4}).output("all");
    g.ints("trips", {}, {3});
    auto& loop = g.node("Loop", {"trips", ""}, {"all"}, "loop");
    GraphMaker body = setGraph(loop, "body");
    body.input("i", Proto::INT64, {}).input("go", Proto::BOOL, {}).output("on", Proto::BOOL).output("y");
    body.node("Identity", {"go"}, {"on"});
    body.node("RandomUniformLike", {"x"}, {"r"}, "draw");
    body.node("Add", {"x", "r"}, {"y"});
  });
}

TEST(Interpreter, IterationsDrawAnewAndAsWhereTheyAreUnrolled) {
  numerics::InterpreterOptions options;
  options.identity.seed = 5;
  const graph::TensorValue x = floatTensor({4}, {1, 2, 3, 4});
  const auto outputs = interpret(drawingLoop(), {x}, options);
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  const Floats all = valuesOf<float>((*outputs)[0]);
  ASSERT_EQ(all.size(), 12U);
  EXPECT_FALSE(std::equal(all.begin(), all.begin() + 4, all.begin() + 4));
  EXPECT_FALSE(std::equal(all.begin(), all.begin() + 4, all.begin() + 8));
  EXPECT_EQ(valuesOf<float>((*interpret(drawingLoop(), {x}, options))[0]), all) << "the same seed";
  const auto model = read(drawingLoop());
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto instance = onnx::instantiate(*model, ops::standardOperators(), {});
  ASSERT_TRUE(instance.ok()) << instance.error().message;
  const auto program = numerics::GraphProgram::create(instance->graph, ops::standardOperators());
  ASSERT_TRUE(program.ok()) << program.error().message;
  auto workspace = program->makeWorkspace();
  const std::vector<std::span<const std::byte>> given{x.bytes};
  const numerics::Bindings bindings{given, {}, {}, {5, 0, 0, 0, false}};
  ASSERT_TRUE(program->run(bindings, workspace).ok());
  const auto unrolled = program->output(workspace, bindings, 0);
  EXPECT_TRUE(std::ranges::equal(unrolled, (*outputs)[0].bytes));
}

TEST(Interpreter, TablesAreNotMadeBeforeTheResultsSizeIsKnown) {
  // A row of 2²⁴ elements would need tables of a quarter of a gigabyte.
  const auto model = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {1, 2}).output("y");
    g.ints("sizes", {2}, {1, 1 << 24});
    auto& node = g.node("Resize", {"x", "", "", "sizes"}, {"y"}, "wide");
    auto* mode = node.add_attribute();
    mode->set_name("mode");
    mode->set_type(::onnx::AttributeProto::STRING);
    mode->set_s("linear");
  });
  numerics::InterpreterOptions options;
  options.maxBytes = 1 << 20;
  EXPECT_THAT(runRefusal(model, {floatTensor({1, 2}, {1, 2})}, options),
              HasSubstr("Resize wide: its output would be 1x16777216 float32, more than the"));
}

TEST(Interpreter, IfRefusesWhatIsNoBranch) {
  ::onnx::ModelProto missing = branches();
  missing.mutable_graph()->mutable_node(0)->mutable_attribute()->DeleteSubrange(1, 1);
  EXPECT_THAT(runRefusal(missing, {truth(false), floatTensor({1}, {1})}),
              HasSubstr("If choose: its graph else_branch is missing"));
  ::onnx::ModelProto wide = branches();
  wide.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->add_dim()
      ->set_dim_value(2);
  EXPECT_THAT(runRefusal(wide, {tensor<std::uint8_t>(graph::ElementType::boolean, {2}, {1, 1}),
                                floatTensor({1}, {1})}),
              HasSubstr("its condition must be one bool"));
  // A number of one byte is no bool either.
  ::onnx::ModelProto number = branches();
  number.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(Proto::INT8);
  EXPECT_THAT(
      runRefusal(number, {tensor<std::int8_t>(graph::ElementType::int8, {}, {1}), floatTensor({1}, {1})}),
      HasSubstr("its condition must be one bool"));
  ::onnx::ModelProto more = branches();
  more.mutable_graph()->mutable_node(0)->add_output("z");
  EXPECT_THAT(runRefusal(more, {truth(true), floatTensor({1}, {1})}), HasSubstr("it must have 0 and 2"));
}

/// sum ← sum + x. y collects the sums as long as sum < limit and trips are left.
::onnx::ModelProto summing() {
  return makeModel(17, [](GraphMaker& g) {
    g.input("trips", Proto::INT64, {}).input("x", Proto::FLOAT, {1}).input("limit", Proto::FLOAT, {1});
    g.output("last").output("all").floats("zero", {1}, {0});
    auto& node = g.node("Loop", {"trips", "", "zero"}, {"last", "all"}, "loop");
    GraphMaker body = setGraph(node, "body");
    body.input("i", Proto::INT64, {}).input("on", Proto::BOOL, {}).input("sum", Proto::FLOAT, {1});
    body.output("more", Proto::BOOL, {}, true).output("next").output("slice", Proto::FLOAT, {1}, true);
    body.node("Add", {"sum", "x"}, {"next"});
    body.node("Less", {"next", "limit"}, {"less"});
    body.node("Squeeze", {"less"}, {"more"});
    body.node("Identity", {"next"}, {"slice"});
  });
}

TEST(Interpreter, LoopCarriesAndCollects) {
  const graph::TensorValue x = floatTensor({1}, {2});
  const auto byCount = interpret(summing(), {intTensor({}, {3}), x, floatTensor({1}, {100})});
  ASSERT_TRUE(byCount.ok()) << byCount.error().message;
  EXPECT_EQ(valuesOf<float>((*byCount)[0]), Floats{6});
  EXPECT_EQ(valuesOf<float>((*byCount)[1]), (Floats{2, 4, 6}));
  EXPECT_EQ((*byCount)[1].type.shape, (Ints{3, 1}));
  const auto byCondition = interpret(summing(), {intTensor({}, {50}), x, floatTensor({1}, {5})});
  EXPECT_EQ(valuesOf<float>((*byCondition)[1]), (Floats{2, 4, 6}));
  const auto never = interpret(summing(), {intTensor({}, {0}), x, floatTensor({1}, {5})});
  ASSERT_TRUE(never.ok()) << never.error().message;
  EXPECT_EQ(valuesOf<float>((*never)[0]), Floats{0});
  EXPECT_EQ((*never)[1].type.shape, (Ints{0, 1}));
}

TEST(Interpreter, LoopsThatDoNotEndAreEnded) {
  numerics::InterpreterOptions options;
  options.maxSteps = 1000;
  const Tensors inputs{intTensor({}, {std::int64_t{1} << 60}), floatTensor({1}, {0}), floatTensor({1}, {5})};
  EXPECT_THAT(runRefusal(summing(), inputs, options), HasSubstr("more than 1000 nodes have run"));
  ::onnx::ModelProto empty = makeModel(17, [](GraphMaker& g) {
    g.ints("trips", {}, {std::int64_t{1} << 60}).ints("v", {}, {1}).output("last", Proto::INT64);
    auto& node = g.node("Loop", {"trips", "", "v"}, {"last"}, "idle");
    GraphMaker body = setGraph(node, "body");
    body.input("i", Proto::INT64, {}).input("on", Proto::BOOL, {}).input("w", Proto::INT64, {});
    body.output("on", Proto::BOOL).output("w", Proto::INT64);
  });
  EXPECT_THAT(runRefusal(empty, {}, options),
              HasSubstr("Loop idle: more than 1000 nodes have run; a loop of the model does not end"));
}

TEST(Interpreter, LoopRefusesWrongCountsAndTypes) {
  const graph::TensorValue x = floatTensor({1}, {2}), limit = floatTensor({1}, {5});
  ::onnx::ModelProto wide = summing();
  wide.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->add_dim()
      ->set_dim_value(2);
  EXPECT_THAT(runRefusal(wide, {intTensor({2}, {3, 3}), x, limit}),
              HasSubstr("its trip count must be one int64"));
  ::onnx::ModelProto fewer = summing();
  fewer.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g()->mutable_output()->RemoveLast();
  EXPECT_THAT(runRefusal(fewer, {intTensor({}, {3}), x, limit}),
              HasSubstr("has 3 inputs and 2 outputs; it must have 3 and 3"));
  ::onnx::ModelProto untyped = summing();
  untyped.mutable_graph()
      ->mutable_node(0)
      ->mutable_attribute(0)
      ->mutable_g()
      ->mutable_output(2)
      ->clear_type();
  EXPECT_THAT(runRefusal(untyped, {intTensor({}, {0}), x, limit}),
              HasSubstr("the file does not say of what type the scan output"));
  ::onnx::ModelProto few = summing();
  few.mutable_graph()->mutable_node(0)->mutable_output()->Clear();
  few.mutable_graph()->clear_output();
  EXPECT_THAT(runRefusal(few, {intTensor({}, {0}), x, limit}),
              HasSubstr("fewer outputs than carried values"));
  ::onnx::ModelProto left = summing();
  left.mutable_graph()->mutable_node(0)->set_input(2, "");
  EXPECT_THAT(runRefusal(left, {intTensor({}, {0}), x, limit}), HasSubstr("a carried value is left out"));
}

::onnx::ModelProto scanning(std::int64_t inputAxis, std::int64_t inputDirection,
                            std::int64_t outputDirection) {
  return makeModel(17, [&](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {2, 3}).output("last").output("all").floats("zero", {}, {0});
    const std::int64_t rows = inputAxis == 0 ? 3 : 2;
    auto& node = g.node("Scan", {"zero", "x"}, {"last", "all"}, "scan");
    setInt(node, "num_scan_inputs", 1);
    setInts(node, "scan_input_axes", {inputAxis});
    setInts(node, "scan_input_directions", {inputDirection});
    setInts(node, "scan_output_directions", {outputDirection});
    GraphMaker body = setGraph(node, "body");
    body.input("sum", Proto::FLOAT, {}).input("row", Proto::FLOAT, {rows});
    body.output("next").output("slice");
    body.node("ReduceSum", {"row"}, {"part"});
    setInt(*body->mutable_node(0), "keepdims", 0);
    body.node("Add", {"sum", "part"}, {"next"});
    body.node("Identity", {"next"}, {"slice"});
  });
}

TEST(Interpreter, ScanWalksAnyAxisInBothDirections) {
  const graph::TensorValue x = floatTensor({2, 3}, {1, 2, 3, 10, 20, 30});
  const auto all = [&](std::int64_t axis, std::int64_t in, std::int64_t out) {
    const auto outputs = interpret(scanning(axis, in, out), {x});
    EXPECT_TRUE(outputs.ok()) << outputs.error().message;
    return valuesOf<float>((*outputs)[1]);
  };
  EXPECT_EQ(all(0, 0, 0), (Floats{6, 66}));
  EXPECT_EQ(all(0, 1, 0), (Floats{60, 66}));
  EXPECT_EQ(all(1, 0, 0), (Floats{11, 33, 66}));
  EXPECT_EQ(all(-1, 0, 1), (Floats{66, 33, 11}));
}

TEST(Interpreter, ScanRefusesAbsurdAttributes) {
  const graph::TensorValue x = floatTensor({2, 3}, {1, 2, 3, 10, 20, 30});
  EXPECT_THAT(runRefusal(scanning(5, 0, 0), {x}), HasSubstr("has no axis 5"));
  EXPECT_THAT(runRefusal(scanning(0, 7, 0), {x}), HasSubstr("has the entry 7; 0 is forward, 1 is reverse"));
  ::onnx::ModelProto none = scanning(0, 0, 0);
  none.mutable_graph()->mutable_node(0)->mutable_attribute(0)->set_i(0);
  EXPECT_THAT(runRefusal(none, {x}), HasSubstr("num_scan_inputs must be given and lie in 1 … 2"));
  ::onnx::ModelProto list = scanning(0, 0, 0);
  list.mutable_graph()->mutable_node(0)->mutable_attribute(1)->add_ints(0);
  EXPECT_THAT(runRefusal(list, {x}), HasSubstr("scan_input_axes must list 1 whole numbers"));
  ::onnx::ModelProto axis = scanning(0, 0, 0);
  setInts(*axis.mutable_graph()->mutable_node(0), "scan_output_axes", {4});
  EXPECT_THAT(runRefusal(axis, {x}), HasSubstr("a scan output axis is 4; it must lie in -1 … 0"));
}

TEST(Interpreter, MemoryIsBounded) {
  const auto model = makeModel(17, [](GraphMaker& g) {
    g.input("n", Proto::INT64, {2}).output("y");
    g.node("ConstantOfShape", {"n"}, {"y"}, "fill");
  });
  EXPECT_THAT(runRefusal(model, {intTensor({2}, {1 << 20, 1 << 20})}),
              HasSubstr("ConstantOfShape fill: its output would be 1048576x1048576 float32, more than"));
  EXPECT_NE(runRefusal(model, {intTensor({2}, {std::int64_t{1} << 40, std::int64_t{1} << 40})}), "");
  EXPECT_NE(runRefusal(model, {intTensor({2}, {-1, 5})}), "");
  numerics::InterpreterOptions options;
  options.maxBytes = 100;
  EXPECT_THAT(runRefusal(model, {intTensor({2}, {5, 5})}, options),
              HasSubstr("more than the 84 bytes of memory left"));
}

TEST(Interpreter, FreesWhatABranchHasRead) {
  // Every value has 400 bytes. The limit of 1000 holds two of them, so the value that the branch reads must
  // be gone when the nodes after the branch run.
  const auto model = makeModel(17, [](GraphMaker& g) {
    g.input("c", Proto::BOOL, {}).input("x", Proto::FLOAT, {100}).output("w");
    g.node("Neg", {"x"}, {"a"});
    auto& choose = g.node("If", {"c"}, {"y"}, "choose");
    setGraph(choose, "then_branch").output("t").node("Neg", {"a"}, {"t"});
    setGraph(choose, "else_branch").output("e").node("Exp", {"a"}, {"e"});
    g.node("Neg", {"y"}, {"z"});
    g.node("Neg", {"z"}, {"w"});
  });
  numerics::InterpreterOptions options;
  options.maxBytes = 1000;
  EXPECT_EQ(runRefusal(model, {truth(true), floatTensor({100}, Floats(100, 2))}, options), "");
  options.maxBytes = 700;
  EXPECT_THAT(runRefusal(model, {truth(true), floatTensor({100}, Floats(100, 2))}, options),
              HasSubstr("bytes of memory left"));
}

TEST(Interpreter, ThreadsDoNotChangeResults) {
  const auto proto = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {64}).output("y");
    Names parts;
    for (int i = 0; i < 12; ++i) {
      const std::string name = "p" + std::to_string(i);
      g.node(i % 2 == 0 ? "Exp" : "Tanh", {"x"}, {name});
      parts.push_back(name);
    }
    g.node("Sum", parts, {"y"});
  });
  Floats values;
  for (int i = 0; i < 64; ++i) values.push_back(static_cast<float>(i) / 64);
  const auto serial = interpret(proto, {floatTensor({64}, values)});
  numerics::ThreadPool pool(3);
  auto model = std::make_shared<const onnx::Model>(std::move(*read(proto)));
  const auto threaded =
      numerics::Interpreter(model, ops::standardOperators(), pool).run({floatTensor({64}, values)});
  ASSERT_TRUE(serial.ok() && threaded.ok());
  EXPECT_EQ((*serial)[0].bytes, (*threaded)[0].bytes);
}

}  // namespace
}  // namespace pipescope::onnx_test
