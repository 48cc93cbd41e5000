#include "engine/ops/standard_operators.h"
#include "model_maker.h"

#include <gmock/gmock.h>
#include <filesystem>
#include <fstream>

namespace pipescope::onnx_test {
namespace {

using ::testing::HasSubstr;

::onnx::ModelProto reluModel(std::int64_t opset = 17) {
  return makeModel(opset, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {-1, 3}).output("y");
    g.node("Relu", {"x"}, {"y"}, "/layer1/relu");
  });
}

TEST(Reader, KeepsNamesTypesAndSymbols) {
  const auto model = read(reluModel());
  ASSERT_TRUE(model.ok()) << model.error().message;
  ASSERT_EQ(model->graph.nodes.size(), 1U);
  EXPECT_EQ(model->graph.nodes[0].name, "layer1/relu");
  const onnx::ModelValue& x = model->graph.value(model->graph.inputs[0]);
  EXPECT_EQ(x.element, graph::ElementType::float32);
  EXPECT_EQ((*x.shape)[0].symbol, "n1");
  EXPECT_EQ((*x.shape)[1].extent, 3);
}

TEST(Reader, RefusesForeignAndCutBytes) {
  const std::string bytes = reluModel().SerializeAsString();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto cut = std::as_bytes(std::span(bytes).first(length));
    const auto model = onnx::parseModel(cut, {}, "model.onnx", ops::standardOperators());
    if (model.ok()) continue;
    EXPECT_THAT(model.error().message, HasSubstr("model.onnx"));
  }
  const std::string text = "This is no model at all.";
  const auto model = onnx::parseModel(std::as_bytes(std::span(text)), {}, "a.txt", ops::standardOperators());
  ASSERT_FALSE(model.ok());
  EXPECT_THAT(model.error().message, HasSubstr("a.txt is not an ONNX model, or it is cut or damaged"));
}

TEST(Reader, RefusesFilesThatCannotBeRead) {
  const auto missing = onnx::readModel("/nonexistent/m.onnx", ops::standardOperators());
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, HasSubstr("no such file"));
  const auto folder = onnx::readModel("/", ops::standardOperators());
  ASSERT_FALSE(folder.ok());
  EXPECT_THAT(folder.error().message, HasSubstr("not a plain file"));
}

TEST(Reader, RefusesFilesWithoutGraphOrOpset) {
  ::onnx::ModelProto empty;
  EXPECT_THAT(refusal(empty), HasSubstr("holds no graph"));
  ::onnx::ModelProto model = reluModel();
  model.clear_opset_import();
  EXPECT_THAT(refusal(model), HasSubstr("names no opset"));
}

TEST(Reader, RefusesOpsetsOutsideItsRange) {
  EXPECT_THAT(refusal(reluModel(18)), HasSubstr("opset 18; opsets 7 to 17"));
  EXPECT_THAT(refusal(reluModel(0)), HasSubstr("opset 0"));
  EXPECT_EQ(refusal(reluModel(7)), "");
}

TEST(Reader, OldOpsetsAreTakenForOperatorsThatHaveNotChangedOnly) {
  EXPECT_THAT(refusal(reluModel(5)), HasSubstr("Relu is supported only from opset 6 on"));
  EXPECT_EQ(refusal(reluModel(6)), "");
}

TEST(Reader, NamesEveryUnknownOperatorWithItsNode) {
  const auto model = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {2}).output("z");
    g.node("Relu", {"x"}, {"a"});
    g.node("SequenceConstruct", {"a"}, {"b"}, "pack");
    g.node("Frobnicate", {"b"}, {"z"}, "frob").set_domain("com.example");
  });
  EXPECT_THAT(refusal(model), HasSubstr("SequenceConstruct (node pack), com.example.Frobnicate (node frob)"));
}

TEST(Reader, GradientOperatorsAreNotForFiles) {
  const auto model = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {2}).output("z");
    g.node("GradRelu", {"x", "x"}, {"z"}, "own");
  });
  EXPECT_THAT(refusal(model), HasSubstr("ai.onnx.GradRelu (node own)"));
}

TEST(Reader, LooksForUnknownOperatorsInBodies) {
  const auto model = makeModel(17, [](GraphMaker& g) {
    g.input("c", Proto::BOOL, {}).output("z");
    auto& node = g.node("If", {"c"}, {"z"});
    GraphMaker then = setGraph(node, "then_branch");
    then.output("t");
    then.node("StringNormalizer", {}, {"t"}, "inner");
  });
  EXPECT_THAT(refusal(model), HasSubstr("StringNormalizer (node inner)"));
}

TEST(Reader, RefusesCycles) {
  const auto model = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {2}).output("b");
    g.node("Add", {"x", "b"}, {"a"}, "first");
    g.node("Relu", {"a"}, {"b"}, "second");
  });
  EXPECT_THAT(refusal(model), HasSubstr("node first is part of a cycle"));
}

TEST(Reader, PutsNodesInOrder) {
  const auto model = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {2}).output("c");
    g.node("Relu", {"b"}, {"c"}, "last");
    g.node("Neg", {"x"}, {"a"}, "first");
    g.node("Abs", {"a"}, {"b"}, "middle");
  });
  const auto read_ = read(model);
  ASSERT_TRUE(read_.ok()) << read_.error().message;
  EXPECT_EQ(read_->graph.nodes[0].name, "first");
  EXPECT_EQ(read_->graph.nodes[2].name, "last");
}

TEST(Reader, RefusesValuesThatNothingMakes) {
  const auto node = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {2}).output("y");
    g.node("Add", {"x", "ghost"}, {"y"}, "add");
  });
  EXPECT_THAT(refusal(node), HasSubstr("Add add reads ghost, which nothing provides"));
  const auto output = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {2}).output("ghost");
    g.node("Relu", {"x"}, {"y"});
  });
  EXPECT_THAT(refusal(output), HasSubstr("nothing provides the output ghost"));
}

TEST(Reader, RefusesValuesThatAreMadeTwice) {
  const auto nodes = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {2}).output("y");
    g.node("Relu", {"x"}, {"y"});
    g.node("Neg", {"x"}, {"y"}, "again");
  });
  EXPECT_THAT(refusal(nodes), HasSubstr("the value y is made twice"));
  const auto input = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {2}).input("x", Proto::FLOAT, {2}).output("y");
    g.node("Relu", {"x"}, {"y"});
  });
  EXPECT_THAT(refusal(input), HasSubstr("the value x is made twice"));
}

TEST(Reader, RefusesOtherThanDenseTensorsByName) {
  const auto sequence = makeModel(17, [](GraphMaker& g) {
    auto* info = g->add_input();
    info->set_name("s");
    info->mutable_type()->mutable_sequence_type();
    g.output("s");
  });
  EXPECT_THAT(refusal(sequence), HasSubstr("value s is a sequence, which is not supported"));
  const auto optional = makeModel(17, [](GraphMaker& g) {
    auto* info = g->add_input();
    info->set_name("o");
    info->mutable_type()->mutable_optional_type();
  });
  EXPECT_THAT(refusal(optional), HasSubstr("value o is an optional"));
  const auto map = makeModel(17, [](GraphMaker& g) {
    auto* info = g->add_input();
    info->set_name("m");
    info->mutable_type()->mutable_map_type();
  });
  EXPECT_THAT(refusal(map), HasSubstr("value m is a map"));
  const auto sparse = makeModel(17, [](GraphMaker& g) {
    auto* info = g->add_input();
    info->set_name("p");
    info->mutable_type()->mutable_sparse_tensor_type();
  });
  EXPECT_THAT(refusal(sparse), HasSubstr("value p is not a dense tensor"));
  const auto initializer = makeModel(17, [](GraphMaker& g) { g->add_sparse_initializer(); });
  EXPECT_THAT(refusal(initializer), HasSubstr("sparse initializers"));
}

TEST(Reader, RefusesStringsAndComplexNumbersByName) {
  const auto text =
      makeModel(17, [](GraphMaker& g) { g.input("x", Proto::STRING, {2}).output("x", Proto::STRING); });
  EXPECT_THAT(refusal(text), HasSubstr("element type string"));
  const auto complex = makeModel(17, [](GraphMaker& g) { g.input("x", Proto::COMPLEX64, {2}); });
  EXPECT_THAT(refusal(complex), HasSubstr("element type complex64"));
  const auto cast = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {2}).output("y");
    setInt(g.node("Cast", {"x"}, {"m"}, "to_text"), "to", Proto::STRING);
    setInt(g.node("Cast", {"m"}, {"y"}), "to", Proto::FLOAT);
  });
  EXPECT_THAT(refusal(cast), HasSubstr("Cast to_text is of the element type string"));
}

TEST(Reader, RefusesTensorsWhoseBytesDoNotFitTheirShape) {
  const auto few = makeModel(17, [](GraphMaker& g) { g.floats("w", {2, 3}, {1, 2}); });
  EXPECT_THAT(refusal(few), HasSubstr("initializer w (2x3 float32) needs 24 bytes, but the file holds 8"));
  const auto negative = makeModel(17, [](GraphMaker& g) { g.floats("w", {-2}, {1, 2}); });
  EXPECT_THAT(refusal(negative), HasSubstr("initializer w has the negative extent -2"));
  const auto huge = makeModel(17, [](GraphMaker& g) {
    g.floats("w", {std::int64_t{1} << 40, std::int64_t{1} << 40}, {1});
  });
  EXPECT_THAT(refusal(huge), HasSubstr("more elements than can be addressed"));
  const auto large = makeModel(17, [](GraphMaker& g) { g.floats("w", {std::int64_t{1} << 40}, {1}); });
  EXPECT_THAT(refusal(large), HasSubstr("it is damaged"));
  const auto segment = makeModel(17, [](GraphMaker& g) {
    g.floats("w", {1}, {1});
    g->mutable_initializer(0)->mutable_segment();
  });
  EXPECT_THAT(refusal(segment), HasSubstr("stored in segments"));
}

TEST(Reader, RefusesNegativeExtentsOfInputs) {
  const auto model = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {4});
    g->mutable_input(0)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(0)
        ->set_dim_value(-7);
  });
  EXPECT_THAT(refusal(model), HasSubstr("value x has the negative extent -7"));
}

TEST(Reader, RefusesAttributesOfOtherKinds) {
  const auto twice = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {4}).output("y");
    auto& node = g.node("Softmax", {"x"}, {"y"}, "soft");
    setInt(node, "axis", 0);
    setInt(node, "axis", 0);
  });
  EXPECT_THAT(refusal(twice), HasSubstr("Softmax soft: attribute axis is given twice"));
  const auto kind = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {4}).output("y");
    auto* attribute = g.node("Softmax", {"x"}, {"y"}, "soft").add_attribute();
    attribute->set_name("axis");
    attribute->set_type(::onnx::AttributeProto::SPARSE_TENSOR);
  });
  EXPECT_THAT(refusal(kind), HasSubstr("of the kind SPARSE_TENSOR, which is not supported"));
  const auto reference = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {4}).output("y");
    auto* attribute = g.node("Softmax", {"x"}, {"y"}, "soft").add_attribute();
    attribute->set_name("axis");
    attribute->set_ref_attr_name("axis");
  });
  EXPECT_THAT(refusal(reference), HasSubstr("refers to an attribute of a function"));
  const auto graph = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {4}).output("y");
    auto& node = g.node("Softmax", {"x"}, {"y"}, "soft");
    setGraph(node, "axis");
  });
  EXPECT_THAT(refusal(graph), HasSubstr("has a graph as attribute axis"));
}

TEST(Reader, ConstantsOfEveryKind) {
  const auto model = makeModel(13, [](GraphMaker& g) {
    g.output("i", Proto::INT64).output("f").output("is", Proto::INT64).output("fs");
    setInt(g.node("Constant", {}, {"i"}), "value_int", 5);
    setFloat(g.node("Constant", {}, {"f"}), "value_float", 1.5F);
    setInts(g.node("Constant", {}, {"is"}), "value_ints", {1, 2});
    auto* attribute = g.node("Constant", {}, {"fs"}).add_attribute();
    attribute->set_name("value_floats");
    attribute->set_type(::onnx::AttributeProto::FLOATS);
    attribute->add_floats(0.5F);
  });
  const auto outputs = interpret(model, {});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  EXPECT_EQ(valuesOf<std::int64_t>((*outputs)[0]), Ints{5});
  EXPECT_EQ(valuesOf<float>((*outputs)[1]), Floats{1.5F});
  EXPECT_EQ((*outputs)[2].type.shape, Ints{2});
  EXPECT_EQ(valuesOf<float>((*outputs)[3]), Floats{0.5F});
}

TEST(Reader, RefusesConstantsOfTexts) {
  const auto model = makeModel(13, [](GraphMaker& g) {
    auto* attribute = g.node("Constant", {}, {"s"}, "text").add_attribute();
    attribute->set_name("value_string");
    attribute->set_type(::onnx::AttributeProto::STRING);
    attribute->set_s("a");
  });
  EXPECT_THAT(refusal(model),
              HasSubstr("Constant text: a constant of the kind value_string is not supported"));
  const auto none = makeModel(13, [](GraphMaker& g) { g.node("Constant", {}, {"s"}, "bare"); });
  EXPECT_THAT(refusal(none), HasSubstr("Constant bare must have one output and one attribute"));
}

TEST(Reader, NamesAreMadeShowable) {
  const auto model = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {2}).output("y");
    g.node("Relu", {"x"}, {"m"}, "a\nb\xff");
    g.node("Relu", {"m"}, {"y"}, "a\nb\xff");
  });
  const auto read_ = read(model);
  ASSERT_TRUE(read_.ok());
  EXPECT_EQ(read_->graph.nodes[0].name, "a_b_");
  EXPECT_EQ(read_->graph.nodes[1].name, "a_b__2");
}

TEST(Reader, BodiesDeeperThanProtobufReadsAreRefused) {
  ::onnx::ModelProto model = makeModel(17, [](GraphMaker& g) { g.input("c", Proto::BOOL, {}).output("z"); });
  ::onnx::GraphProto* graph = model.mutable_graph();
  for (int depth = 0; depth < 60; ++depth) {
    GraphMaker maker(graph);
    auto& node = maker.node("If", {"c"}, {"z"});
    auto* attribute = node.add_attribute();
    attribute->set_name("then_branch");
    attribute->set_type(::onnx::AttributeProto::GRAPH);
    graph = attribute->mutable_g();
    graph->add_output()->set_name("z");
  }
  EXPECT_THAT(refusal(model), HasSubstr("is not an ONNX model, or it is cut or damaged"));
}

/// Tests of external data, each in a folder of its own.
class ExternalData : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/pipescope_onnx_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
    std::filesystem::create_directories(root_ / "model" / "sub");
    write(root_ / "model" / "weights.bin");
    write(root_ / "secret.bin");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  static void write(const std::filesystem::path& file) {
    const Floats values{1, 2, 3, 4};
    std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(values.data()), 16);
  }
  std::string refusalFor(const std::string& location, const std::string& offset = "",
                         const std::string& length = "") {
    const auto model = read(modelFor(location, offset, length), root_ / "model");
    return model.ok() ? "" : model.error().message;
  }
  static ::onnx::ModelProto modelFor(const std::string& location, const std::string& offset,
                                     const std::string& length) {
    return makeModel(17, [&](GraphMaker& g) {
      g.floats("w", {2}, {}).output("w");
      Proto* tensor = g->mutable_initializer(0);
      tensor->set_data_location(Proto::EXTERNAL);
      const auto add = [&](const std::string& key, const std::string& value) {
        if (value.empty() && key != "location") return;
        auto* entry = tensor->add_external_data();
        entry->set_key(key);
        entry->set_value(value);
      };
      add("location", location);
      add("offset", offset);
      add("length", length);
    });
  }
  std::filesystem::path root_;
};

TEST_F(ExternalData, IsReadFromTheModelsFolder) {
  const auto model = read(modelFor("weights.bin", "4", "8"), root_ / "model");
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(valuesOf<float>(*model->graph.constants.begin()->second), (Floats{2, 3}));
}

TEST_F(ExternalData, IsNotReadWhereOnlySmallWeightsAre) {
  const auto proto = makeModel(17, [&](GraphMaker& g) {
    g.floats("small", {2}, {5, 6}).floats("large", {16385}, {}).output("small").output("large");
    Proto* large = g->mutable_initializer(1);
    large->set_data_location(Proto::EXTERNAL);
    auto* entry = large->add_external_data();
    entry->set_key("location");
    entry->set_value("absent.bin");
  });
  const std::string bytes = proto.SerializeAsString();
  const auto parsed = [&](onnx::Weights weights) {
    return onnx::parseModel(std::as_bytes(std::span(bytes)), root_ / "model", "m.onnx",
                            ops::standardOperators(), weights);
  };
  EXPECT_FALSE(parsed(onnx::Weights::all).ok());
  const auto model = parsed(onnx::Weights::small);
  ASSERT_TRUE(model.ok()) << model.error().message;
  ASSERT_EQ(model->graph.weights.size(), 2U);
  const auto& constants = model->graph.constants;
  EXPECT_EQ(valuesOf<float>(*constants.at(model->graph.weights[0])), (Floats{5, 6}));
  EXPECT_FALSE(constants.contains(model->graph.weights[1]));
  const auto& shape = model->graph.value(model->graph.weights[1]).shape;
  ASSERT_TRUE(shape && shape->size() == 1);
  EXPECT_EQ(shape->front().extent, 16385);
}

TEST_F(ExternalData, StaysInsideTheModelsFolder) {
  EXPECT_THAT(refusalFor("../secret.bin"), HasSubstr("leaves that folder"));
  EXPECT_THAT(refusalFor("sub/../../secret.bin"), HasSubstr("leaves that folder"));
  EXPECT_THAT(refusalFor((root_ / "secret.bin").string()), HasSubstr("absolute path"));
  std::filesystem::create_symlink(root_ / "secret.bin", root_ / "model" / "link.bin");
  EXPECT_THAT(refusalFor("link.bin"), HasSubstr("through a symbolic link"));
  std::filesystem::create_directory_symlink(root_, root_ / "model" / "up");
  EXPECT_THAT(refusalFor("up/secret.bin"), HasSubstr("through a symbolic link"));
  EXPECT_THAT(refusalFor(""), HasSubstr("no file name"));
  EXPECT_THAT(refusalFor("absent.bin"), HasSubstr("does not exist"));
  EXPECT_THAT(refusalFor("sub"), HasSubstr("not a plain file"));
  EXPECT_THAT(refusal(modelFor("weights.bin", "", "")),
              HasSubstr("cannot be found, because the model is no file"));
}

TEST_F(ExternalData, MustLieWithinItsFile) {
  EXPECT_THAT(refusalFor("weights.bin", "12"),
              HasSubstr("asks for 8 bytes from byte 12 of weights.bin, which has 16"));
  EXPECT_THAT(refusalFor("weights.bin", "-1"), HasSubstr("is not a valid offset or length"));
  EXPECT_THAT(refusalFor("weights.bin", "x"), HasSubstr("is not a valid offset or length"));
  EXPECT_THAT(refusalFor("weights.bin", "0", "99999999999999"), HasSubstr("but its shape needs 8"));
  EXPECT_THAT(refusalFor("weights.bin", "9223372036854775807"), HasSubstr("cut or belongs to another model"));
}

TEST_F(ExternalData, TrainedWeightsAreWrittenIntoTheFile) {
  const auto source = root_ / "model" / "m.onnx", target = root_ / "model" / "trained.onnx";
  std::ofstream(source, std::ios::binary) << modelFor("weights.bin", "", "").SerializeAsString();
  const Floats trained{7, 8};
  const graph::TensorType type{graph::ElementType::float32, {2}};
  ASSERT_TRUE(
      onnx::writeWithWeights(source, target, {{"w", {type, std::as_bytes(std::span(trained))}}}).ok());
  const auto model = onnx::readModel(target, ops::standardOperators());
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(valuesOf<float>(*model->graph.constants.begin()->second), trained);
  const auto missing =
      onnx::writeWithWeights(source, target, {{"v", {type, std::as_bytes(std::span(trained))}}});
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, HasSubstr("lacks 1 of the 1 weights"));
  const auto unwritable = onnx::writeWithWeights(source, root_ / "none" / "t.onnx", {});
  ASSERT_FALSE(unwritable.ok());
  EXPECT_THAT(unwritable.error().message, HasSubstr("cannot be written: No such file or directory"));
}

TEST_F(ExternalData, WeightsBehindAnIdentityTakeItsPlace) {
  const auto source = root_ / "model" / "two.onnx", target = root_ / "model" / "apart.onnx";
  const auto model = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {2}).output("y").floats("a", {2}, {0, 0});
    g.node("Identity", {"a"}, {"b"});
    g.node("Add", {"x", "a"}, {"h"});
    g.node("Mul", {"h", "b"}, {"y"});
  });
  std::ofstream(source, std::ios::binary) << model.SerializeAsString();
  const Floats one{1, 2}, other{10, 20};
  const graph::TensorType type{graph::ElementType::float32, {2}};
  ASSERT_TRUE(onnx::writeWithWeights(source, target,
                                     {{"a", {type, std::as_bytes(std::span(one))}},
                                      {"b", {type, std::as_bytes(std::span(other))}}})
                  .ok());
  ::onnx::ModelProto written;
  std::ifstream stream(target, std::ios::binary);
  ASSERT_TRUE(written.ParseFromIstream(&stream));
  EXPECT_EQ(written.graph().node_size(), 2);
  const auto outputs = interpret(written, {floatTensor({2}, {1, 1})});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  EXPECT_EQ(valuesOf<float>((*outputs)[0]), (Floats{20, 60}));
}

TEST_F(ExternalData, TensorFilesGoThereAndBack) {
  const graph::TensorValue value = intTensor({2, 1}, {3, -4});
  ASSERT_TRUE(onnx::writeTensorFile(root_ / "t.pb", "t", value).ok());
  const auto back = onnx::readTensorFile(root_ / "t.pb");
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->type, value.type);
  EXPECT_EQ(back->bytes, value.bytes);
  std::ofstream(root_ / "t.pb") << "no tensor";
  EXPECT_THAT(onnx::readTensorFile(root_ / "t.pb").error().message, HasSubstr("is not an ONNX tensor"));
}

}  // namespace
}  // namespace pipescope::onnx_test
