// Tests the model compiler with options set directly in C++, without a configuration file.
#include "engine/compiler/model_compiler.h"

#include <gtest/gtest.h>

#include "engine/builders/builder.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::compile {
namespace {

std::shared_ptr<const graph::Graph> smallVit(bool training) {
  using std::int64_t;
  builders::BuilderRequest model;
  model.builder = "vit";
  model.settings = {{"layers", int64_t{4}},        {"hidden", int64_t{8}},     {"heads", int64_t{2}},
                    {"feed_forward", int64_t{16}}, {"image_size", int64_t{8}}, {"patch_size", int64_t{4}},
                    {"channels", int64_t{1}},      {"classes", int64_t{10}}};
  model.training = training;
  auto graph = builders::buildModel(model, ops::standardOperators());
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  return std::make_shared<const graph::Graph>(std::move(graph).value());
}

/// A request to train a small model in two stages on a pod4.
ModelRequest twoStages() {
  ModelRequest request;
  ExecutableRequest training;
  training.forward = smallVit(true);
  training.microBatches = 4;
  request.executables = {training};
  request.update.optimizer = std::move(*optimizers::createOptimizer("sgd", {}));
  request.layout.stages = {{{"embeddings", "encoder/layer0..1"}}, {{"encoder/layer2..3", "head"}}};
  return request;
}

base::Result<Compilation> compiled(const ModelRequest& request) {
  base::SerialExecutor executor;
  return compileModel(request, executor);
}

std::string refusalOf(const ModelRequest& request) {
  const auto made = compiled(request);
  return made.ok() ? "" : made.error().message;
}

TEST(ModelCompiler, CountsOnlyDevicesWithAStage) {
  ModelRequest request = twoStages();
  request.layout.stages[1].place = 3;  // devices 1 and 2 stay free
  const auto made = compiled(request);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->devicesWithStages(), 2);
  EXPECT_EQ(made->notices,
            (std::vector<std::string>{"2 of the 4 devices of pod4 hold no stage and stay idle."}));
}

TEST(ModelCompiler, CompilesAPlainRequest) {
  const auto made = compiled(twoStages());
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->devicesUsed, 2);
  ASSERT_EQ(made->executables.size(), 1u);
  const CompiledExecutable& executable = made->executables.front();
  ASSERT_EQ(executable.ir.stages.size(), 2u);
  EXPECT_EQ(executable.ir.stages[1].place, 1);
  EXPECT_EQ(executable.lowered.size(), 2u);
  EXPECT_EQ(executable.facts.recompute, "pipeline");
  EXPECT_EQ(executable.facts.microBatches, 4);
  EXPECT_TRUE(made->overflow().empty());
  EXPECT_EQ(made->notices,
            (std::vector<std::string>{"2 of the 4 devices of pod4 hold no stage and stay idle."}));
}

TEST(ModelCompiler, ASearchChangesOneValueAndCompilesAgain) {
  ModelRequest request = twoStages();
  request.layout.stages[0].place = request.layout.stages[1].place = 3;
  request.layout.strategy = Strategy::sharded;
  request.recompute.mode = RecomputeRequest::Mode::never;
  request.passesOff = {"outline"};
  const auto made = compiled(request);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const CompiledExecutable& executable = made->executables.front();
  EXPECT_EQ(executable.lowered.size(), 1u);
  EXPECT_EQ(executable.facts.schedule, "sharded");
  EXPECT_EQ(executable.facts.recompute, "none");
  for (const PassReport& pass : executable.passes)
    EXPECT_EQ(pass.enabled, pass.name != "outline") << pass.name;
}

TEST(ModelCompiler, UpdatesCostMoreWithMoreState) {
  const auto stateBytes = [](ModelRequest request) {
    std::int64_t bytes = 0;
    const auto made = compiled(request);
    EXPECT_TRUE(made.ok()) << made.error().message;
    for (const StageIr& stage : made->executables.front().ir.stages) {
      for (const IrTensor& tensor : stage.tensors)
        bytes += tensor.use == TensorUse::optimizerState ? tensor.type.bytes().count : 0;
    }
    return bytes;
  };
  ModelRequest request = twoStages();
  EXPECT_EQ(stateBytes(request), 0);
  // Adam keeps two float32 numbers for each parameter.
  request.update.optimizer = std::move(*optimizers::createOptimizer("adam", {}));
  std::int64_t trained = 0;
  for (const graph::Tensor& tensor : request.executables.front().forward->tensors())
    trained += tensor.role == graph::TensorRole::parameter ? tensor.type.elements() : 0;
  EXPECT_EQ(stateBytes(request), trained * 2 * 4);
}

TEST(ModelCompiler, InferenceFillsNoDevicesUnlessAsked) {
  ModelRequest request = twoStages();
  request.devices = 4;
  request.executables.front().replicas.fillsDevices = true;
  ExecutableRequest inference;
  inference.kind = model::ExecutableKind::inference;
  inference.forward = smallVit(false);
  inference.deviceIterations = 8;
  request.executables.push_back(inference);
  const auto made = compiled(request);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->executables[0].facts.replicas, 2);
  EXPECT_EQ(made->executables[1].facts.replicas, 1);
  EXPECT_EQ(made->executables[1].facts.microBatches, 8);
  EXPECT_TRUE(made->notices.empty());
}

TEST(ModelCompiler, RefusesWhatDoesNotGoTogether) {
  ModelRequest request = twoStages();
  request.layout.layersPerStage = {2, 2};
  EXPECT_EQ(refusalOf(request),
            "execution.layers_per_stage and [[stages]] exclude each other: leave one out.");
  request = twoStages();
  request.executables.front().replicas.count = 65;
  EXPECT_EQ(refusalOf(request).find("One process computes at most 64 replicas, but there are 65"), 0u);
  request.computesNumbers = false;
  EXPECT_EQ(refusalOf(request).find("65 replicas of 2 devices use 130, but system pod4 has 4"), 0u);
  request = twoStages();
  request.scales = {{2, 0.5, 1}};
  EXPECT_EQ(refusalOf(request), "[[device_scale]] names device 2, but the run uses devices 0 to 1 only.");
}

}  // namespace
}  // namespace pipescope::compile
