#include "app/run/request/model_choice.h"

#include <fmt/format.h>

#include <numeric>

#include "app/run/request/onnx_choice.h"
#include "engine/builders/builder.h"
#include "engine/builders/layers.h"
#include "engine/compile/multi_conv.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::app {
namespace {

using config::Configuration;
using config::Settings;

builders::Setting settingOf(const config::Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::get<std::string>(value);
}

std::int64_t microBatchOf(const Configuration& c, bool training) {
  return c.integer(training ? "training.micro_batch_size" : "inference.micro_batch_size");
}

/// The value of a number of the chosen builder; nullopt if it has no such setting.
std::optional<std::int64_t> builderNumber(const Configuration& c, const std::string& name) {
  const auto& all = builders::builderRegistry().definitions();
  const auto model = all.find(c.text("model.builder"));
  if (model == all.end()) return std::nullopt;
  for (const builders::BuilderKey& key : model->second.keys) {
    if (key.name != name || !std::holds_alternative<std::int64_t>(key.fallback)) continue;
    const std::string path = "model." + name;
    return c.given(path) ? c.integer(path) : std::get<std::int64_t>(key.fallback);
  }
  return std::nullopt;
}

/// True for a step of a generation whose caches stay on the device. It returns the next token, as generating
/// software does, because the scores of many samples would take longer to copy than the step.
bool decodesOnDevice(const Configuration& c) {
  return c.given("model.phase") && c.text("model.phase") == "decode" &&
         !(c.given("model.cache_at") && c.text("model.cache_at") == "host");
}

builders::BuilderRequest builderRequest(const Configuration& c, bool training) {
  builders::BuilderRequest request;
  request.builder = c.text("model.builder");
  request.microBatch = microBatchOf(c, training);
  request.training = training;
  for (const config::Key& key : c.keys().all()) {
    if (key.chooser == "model.builder" && c.given(key.path))
      request.settings[std::string(config::lastPart(key.path))] = settingOf(c.value(key.path));
  }
  if (decodesOnDevice(c) && !c.given("model.next_token")) request.settings["next_token"] = true;
  return request;
}

base::Result<graph::Graph> buildByName(const Configuration& c, bool training) {
  return builders::buildModel(builderRequest(c, training), ops::standardOperators());
}

base::Result<graph::Graph> buildFromLayers(const Configuration& c, bool training) {
  builders::LayersModel model;
  for (const Settings& layer : c.tables("model.layers")) {
    builders::LayerSpec spec{layer.text("type"), layer.text("name"), layer.text("block"), {}};
    for (const char* key :
         {"in_channels", "out_channels", "kernel_size", "stride", "padding", "in_features", "out_features"}) {
      if (layer.given(key)) spec.parameters[key] = layer.integer(key);
    }
    model.layers.push_back(std::move(spec));
  }
  // The loss belongs to the last layer's block, as in the PopTorch tutorial.
  if (training) model.layers.push_back({c.text("training.loss"), "loss", model.layers.back().block, {}});
  model.sample = c.integers("model.input");
  if (model.sample.empty()) {
    if (c.text("data.dataset") != "mnist")
      return base::badInput("model.input is missing: the data set does not say what shape its samples have.");
    model.sample = {1, 28, 28};
  }
  model.microBatch = microBatchOf(c, training);
  return builders::buildLayers(model, ops::standardOperators());
}

/// Checks the keys that only ONNX models use.
base::Status checkOnnxKeys(const Configuration& c) {
  if (!c.text("model.onnx").empty()) {
    if (c.given("training.loss_output") && c.text("training.loss") != "model")
      return base::badInput(
          "training.loss_output is given, but training.loss is not \"model\": set it, or leave out the "
          "name.");
    if (!c.given("model.input")) return {};
    return base::badInput(
        "model.input is given, but the ONNX file decides the shape of its samples: leave it out.");
  }
  for (const char* key : {"model.assume", "model.frozen", "model.scalar_weights", "training.ignore_index",
                          "training.loss_output"}) {
    if (c.given(key))
      return base::badInput(fmt::format("{} belongs to an ONNX model, but model.onnx is not given.", key));
  }
  if (!c.tables("model.blocks").empty())
    return base::badInput("[[model.blocks]] belong to an ONNX model, but model.onnx is not given.");
  const std::string& loss = c.text("training.loss");
  if (loss != "cross_entropy")
    return base::badInput(
        fmt::format("training.loss = \"{}\" is for ONNX models, but model.onnx is not given.", loss));
  return {};
}

base::Result<graph::Graph> buildPlain(const Configuration& c, bool training) {
  if (!c.text("model.onnx").empty()) return buildFromOnnx(c, training);
  return c.text("model.builder").empty() ? buildFromLayers(c, training) : buildByName(c, training);
}

}  // namespace

base::Status checkModelChoice(const Configuration& c) {
  const bool layers = !c.tables("model.layers").empty(), builder = !c.text("model.builder").empty(),
             file = !c.text("model.onnx").empty();
  if (!layers && !builder && !file) {
    return base::badInput(
        "The configuration has no model: add model.onnx, model.builder or [[model.layers]], or use "
        "system.name = "
        "\"fixed\" with [[fixed.stages]].");
  }
  if (layers + builder + file > 1) {
    return base::badInput(fmt::format(
        "{}{}{} exclude each other: leave all but one out.", file ? "model.onnx and " : "",
        builder ? "model.builder" : "[[model.layers]]", builder && layers ? " and [[model.layers]]" : ""));
  }
  PIPESCOPE_TRY(checkOnnxKeys(c));
  if (builder && c.given("model.input")) {
    return base::badInput(fmt::format(
        "model.input is given, but the builder {} decides the shape of its samples: leave it out.",
        c.text("model.builder")));
  }
  if (builder && decodesOnDevice(c) && c.boolean("execution.numerics") &&
      c.text("execution.mode") != "training") {
    return base::badInput(
        "model.phase = \"decode\" keeps keys and values of earlier tokens on the device, which no call has "
        "put there: the "
        "graph is one step at a fixed place. Run it with --no-numerics for time and memory, or set "
        "model.cache_at = "
        "\"host\", where caches are inputs and what a call adds to them are outputs.");
  }
  return {};
}

std::optional<RepeatedKeys> repeatedKeys(const Configuration& c) {
  const std::int64_t ranks = c.integer("execution.tensor_parallel");
  const auto heads = builderNumber(c, "heads"), keys = builderNumber(c, "key_heads");
  if (ranks < 2 || !heads || !keys || *keys == 0 || *keys >= ranks) return std::nullopt;
  if (ranks % *keys != 0 || *heads % ranks != 0) return std::nullopt;
  return RepeatedKeys{*keys, ranks / *keys};
}

std::optional<RepeatedHeads> repeatedHeads(const Configuration& c) {
  const std::int64_t ranks = c.integer("execution.tensor_parallel");
  const auto heads = builderNumber(c, "heads"), keys = builderNumber(c, "key_heads"),
             latent = builderNumber(c, "latent_width");
  if (ranks < 2 || !heads || !keys || c.text("execution.mode") != "inference") return std::nullopt;
  const std::int64_t parts = std::gcd(*heads, ranks);
  const bool grouped = *keys != 0 && *keys != *heads;
  if (parts == ranks || parts == 1 || grouped || latent.value_or(0) != 0) return std::nullopt;
  return RepeatedHeads{*heads, parts, ranks / parts};
}

base::Result<graph::Graph> buildGraphOfRanks(const Configuration& c, bool training) {
  builders::BuilderRequest request = builderRequest(c, training);
  if (const std::optional<RepeatedHeads> repeated = repeatedHeads(c)) {
    const std::int64_t size = builderNumber(c, "head_size").value_or(0);
    request.settings["head_size"] =
        size != 0 ? size : builderNumber(c, "hidden").value_or(0) / repeated->heads;
    for (const char* key : {"heads", "key_heads"})
      request.settings[key] = repeated->heads * repeated->repeats;
    return builders::buildModel(request, ops::standardOperators());
  }
  request.settings["key_heads"] = c.integer("execution.tensor_parallel");
  return builders::buildModel(request, ops::standardOperators());
}

base::Result<graph::Graph> buildGraph(const Configuration& c, bool training) {
  PIPESCOPE_ASSIGN(graph::Graph graph, buildPlain(c, training));
  std::vector<compile::MultiConvGroup> groups;
  for (const Settings& group : c.tables("model.multi_convs"))
    groups.push_back({group.text("name"), group.texts("operators")});
  if (groups.empty()) return graph;
  return compile::withMultiConvs(graph, groups, ops::standardOperators());
}

}  // namespace pipescope::app
