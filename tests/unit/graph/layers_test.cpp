#include "engine/builders/layers.h"
#include "engine/ops/standard_operators.h"

#include <cmath>

namespace pipescope::builders {
namespace {

LayersModel mnist(std::int64_t microBatch, bool withLoss) {
  LayersModel model;
  model.sample = {1, 28, 28};
  model.microBatch = microBatch;
  model.layers = {
      {"conv", "layer1/conv", "B1", {{"in_channels", 1}, {"out_channels", 10}, {"kernel_size", 5}}},
      {"maxpool", "layer1/pool", "B1", {{"kernel_size", 2}}},
      {"relu", "layer1/relu", "B1", {}},
      {"conv", "layer2/conv", "B2", {{"in_channels", 10}, {"out_channels", 20}, {"kernel_size", 5}}},
      {"maxpool", "layer2/pool", "B2", {{"kernel_size", 2}}},
      {"relu", "layer2/relu", "B2", {}},
      {"flatten", "layer3/flatten", "B3", {}},
      {"linear", "layer3/linear", "B3", {{"in_features", 320}, {"out_features", 256}}},
      {"relu", "layer3/relu", "B3", {}},
      {"linear", "layer4/linear", "B4", {{"in_features", 256}, {"out_features", 10}}}};
  if (withLoss) model.layers.push_back({"cross_entropy", "loss", "B4", {}});
  return model;
}

std::string layersRefusal(const LayersModel& model) {
  const auto graph = buildLayers(model, ops::standardOperators());
  return graph.ok() ? "" : graph.error().message;
}

/// The error for the MNIST model after one change.
template <class Change>
std::string refusalAfter(Change change) {
  LayersModel model = mnist(40, true);
  change(model);
  return layersRefusal(model);
}

TEST(Layers, BuildTheTutorialsNetwork) {
  const auto graph = buildLayers(mnist(40, true), ops::standardOperators());
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  std::map<std::string, std::string> types;
  for (const graph::Tensor& tensor : graph->tensors()) types[tensor.name] = graph::toString(tensor.type);
  const std::map<std::string, std::string> expected{{"samples", "40x1x28x28 float32"},
                                                    {"labels", "40 int32"},
                                                    {"layer1/conv/weight", "10x1x5x5 float32"},
                                                    {"layer1/conv/bias", "10 float32"},
                                                    {"layer1/conv/out", "40x10x24x24 float32"},
                                                    {"layer1/pool/out", "40x10x12x12 float32"},
                                                    {"layer1/relu/out", "40x10x12x12 float32"},
                                                    {"layer2/conv/weight", "20x10x5x5 float32"},
                                                    {"layer2/conv/bias", "20 float32"},
                                                    {"layer2/conv/out", "40x20x8x8 float32"},
                                                    {"layer2/pool/out", "40x20x4x4 float32"},
                                                    {"layer2/relu/out", "40x20x4x4 float32"},
                                                    {"layer3/flatten/out", "40x320 float32"},
                                                    {"layer3/linear/weight", "256x320 float32"},
                                                    {"layer3/linear/bias", "256 float32"},
                                                    {"layer3/linear/out", "40x256 float32"},
                                                    {"layer3/relu/out", "40x256 float32"},
                                                    {"layer4/linear/weight", "10x256 float32"},
                                                    {"layer4/linear/bias", "10 float32"},
                                                    {"layer4/linear/out", "40x10 float32"},
                                                    {"loss/out", "float32"}};
  EXPECT_EQ(types, expected);
  EXPECT_EQ(graph->tensor(*graph->loss).name, "loss/out");
  ASSERT_EQ(graph->outputs.size(), 1U);
  EXPECT_EQ(graph->tensor(graph->outputs[0]).name, "layer4/linear/out");
  ASSERT_EQ(graph->inputs.size(), 2U);
  EXPECT_EQ(graph->tensor(graph->inputs[0]).name, "samples");
  EXPECT_EQ(graph->tensor(graph->inputs[1]).name, "labels");
  EXPECT_EQ(graph->nodes()[7].op, "Gemm");
  EXPECT_EQ(graph->nodes()[7].name, "layer3/linear");
  EXPECT_EQ(graph->nodes()[7].block, "B3");
}

TEST(Layers, WeightsStartLikePyTorchs) {
  const auto graph = buildLayers(mnist(1, true), ops::standardOperators());
  const std::map<std::string, double> fanIn{
      {"layer1/conv", 25}, {"layer2/conv", 250}, {"layer3/linear", 320}, {"layer4/linear", 256}};
  int seen = 0;
  for (const graph::Tensor& tensor : graph->tensors()) {
    if (tensor.role != graph::TensorRole::parameter) continue;
    const std::string layer = tensor.name.substr(0, tensor.name.rfind('/'));
    EXPECT_EQ(graph->initializer(tensor.id).kind, graph::Initializer::Kind::uniform);
    EXPECT_DOUBLE_EQ(graph->initializer(tensor.id).bound, 1 / std::sqrt(fanIn.at(layer)));
    ++seen;
  }
  EXPECT_EQ(seen, 8);
}

TEST(Layers, WithoutLossForInference) {
  const auto graph = buildLayers(mnist(8, false), ops::standardOperators());
  ASSERT_TRUE(graph.ok());
  EXPECT_FALSE(graph->loss);
  EXPECT_EQ(graph->inputs.size(), 1U);
  EXPECT_EQ(graph::toString(graph->tensor(graph->outputs[0]).type), "8x10 float32");
}

TEST(Layers, ZeroAndLeftOutMeanTheSame) {
  LayersModel model = mnist(2, true);
  for (LayerSpec& layer : model.layers) {
    for (const char* key : {"in_channels", "in_features"}) {
      if (layer.parameters.contains(key)) layer.parameters[key] = 0;
    }
    if (layer.type == "maxpool" || layer.type == "conv") layer.parameters["stride"] = 0;
  }
  EXPECT_EQ(layersRefusal(model), "");
  for (LayerSpec& layer : model.layers)
    std::erase_if(layer.parameters, [](const auto& entry) { return entry.second == 0; });
  EXPECT_EQ(layersRefusal(model), "");
}

TEST(Layers, StrideAndPaddingReachTheOperator) {
  LayersModel model;
  model.sample = {3, 9, 9};
  model.layers = {
      {"conv", "c", "B", {{"out_channels", 4}, {"kernel_size", 3}, {"stride", 2}, {"padding", 1}}},
      {"maxpool", "p", "B", {{"kernel_size", 3}, {"stride", 1}, {"padding", 1}}}};
  const auto graph = buildLayers(model, ops::standardOperators());
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph::toString(graph->tensor(graph->outputs[0]).type), "1x4x5x5 float32");
}

TEST(Layers, UnknownTypeNamesTheNearest) {
  EXPECT_EQ(refusalAfter([](LayersModel& m) { m.layers[2].type = "rellu"; }),
            "layer layer1/relu: type rellu is not known; did you mean relu?");
  EXPECT_EQ(refusalAfter([](LayersModel& m) { m.layers[2].type = "transformer"; }),
            "layer layer1/relu: type transformer is not known; known are conv, cross_entropy, flatten, "
            "linear, maxpool, relu");
}

TEST(Layers, UnknownKeyNamesTheNearest) {
  EXPECT_EQ(refusalAfter([](LayersModel& m) { m.layers[0].parameters["kernel_sise"] = 5; }),
            "layer layer1/conv: conv has no key kernel_sise; did you mean kernel_size?");
  EXPECT_EQ(refusalAfter([](LayersModel& m) { m.layers[1].parameters["out_features"] = 5; }),
            "layer layer1/pool: maxpool has no key out_features; known are kernel_size, stride, padding");
  EXPECT_EQ(refusalAfter([](LayersModel& m) { m.layers[2].parameters["kernel_size"] = 5; }),
            "layer layer1/relu: relu has no key kernel_size; it takes none");
}

TEST(Layers, MissingAndImpossibleKeys) {
  EXPECT_EQ(refusalAfter([](LayersModel& m) { m.layers[0].parameters.erase("out_channels"); }),
            "layer layer1/conv: conv needs the key out_channels");
  EXPECT_EQ(refusalAfter([](LayersModel& m) { m.layers[0].parameters["kernel_size"] = 0; }),
            "layer layer1/conv: kernel_size is 0; it must be 1 to 1000000000");
  EXPECT_EQ(refusalAfter([](LayersModel& m) { m.layers[0].parameters["padding"] = -1; }),
            "layer layer1/conv: padding is -1; it must be 0 to 1000000000");
}

TEST(Layers, MismatchesNameBothFigures) {
  EXPECT_EQ(refusalAfter([](LayersModel& m) { m.layers[9].parameters["in_features"] = 320; }),
            "layer layer4/linear: linear expects 320 features, but layer3/relu gives 256; set in_features = "
            "256 or leave it out");
  EXPECT_EQ(refusalAfter([](LayersModel& m) { m.layers[3].parameters["in_channels"] = 20; }),
            "layer layer2/conv: conv expects 20 input channels, but layer1/relu gives 10 (10x12x12); set "
            "in_channels = 10 or leave it out");
  EXPECT_EQ(refusalAfter([](LayersModel& m) {
              m.sample = {3, 28, 28};
            }),
            "layer layer1/conv: conv expects 1 input channels, but the data set gives 3 (3x28x28); set "
            "in_channels = 3 or leave it out");
}

TEST(Layers, KernelLargerThanItsInput) {
  EXPECT_EQ(refusalAfter([](LayersModel& m) { m.layers[3].parameters["kernel_size"] = 13; }),
            "Conv layer2/conv: its kernel reaches over 13 on spatial axis 0, but the input has 12 there with "
            "padding 0 + 0; make the "
            "kernel smaller or the padding larger");
}

TEST(Layers, WrongKindOfSamples) {
  EXPECT_EQ(refusalAfter([](LayersModel& m) { m.layers.erase(m.layers.begin() + 6); }),
            "layer layer3/linear: linear needs flat samples, but layer2/relu gives 20x4x4; put a flatten "
            "layer before it");
  EXPECT_EQ(refusalAfter([](LayersModel& m) { m.sample = {784}; }),
            "layer layer1/conv: conv needs samples of channels x height x width, but the data set gives 784");
  EXPECT_EQ(layersRefusal({{{"cross_entropy", "loss", "B", {}}}, {}, 4}),
            "layer loss: cross_entropy needs scores per class, but the data set gives single numbers");
}

TEST(Layers, ModelsThatAreNone) {
  EXPECT_EQ(layersRefusal({{}, {1, 28, 28}, 40}), "the model has no layers; give at least one");
  EXPECT_EQ(refusalAfter([](LayersModel& m) { m.microBatch = 0; }),
            "the micro-batch size is 0; it must be at least 1");
  EXPECT_EQ(refusalAfter([](LayersModel& m) {
              m.sample = {1, 0, 28};
            }),
            "the shape of a sample holds 0; every extent must be at least 1");
  EXPECT_EQ(refusalAfter([](LayersModel& m) { m.layers[3].name = "layer1/conv"; }),
            "two layers are called layer1/conv; give each its own name");
  EXPECT_EQ(refusalAfter([](LayersModel& m) { m.layers[3].name.clear(); }),
            "a layer of type conv has no name; give each layer its own");
  EXPECT_EQ(refusalAfter([](LayersModel& m) {
              m.layers.insert(m.layers.begin() + 9, {"cross_entropy", "early", "B3", {}});
            }),
            "layer early: a loss must be the last layer, but layer4/linear follows");
  EXPECT_EQ(refusalAfter([](LayersModel& m) { m.microBatch = 1LL << 55; }),
            "tensor samples (36028797018963968x1x28x28 float32) is too large to address; check its extents");
}

}  // namespace
}  // namespace pipescope::builders
