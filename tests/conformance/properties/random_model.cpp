#include "random_model.h"

#include <fmt/format.h>

#include "app/run/request/configuration_keys.h"
#include "engine/compiler/record_compilation.h"
#include "engine/config/configuration.h"
#include "engine/emulate/emulator.h"

namespace pipescope::conformance {
namespace {

using Keys = std::map<std::string, std::string>;

void addTransformer(ModelDice& dice, const std::string& builder, std::int64_t layers, Keys& keys) {
  const std::int64_t heads = dice.oneOf({2, 4, 8}), width = heads * dice.oneOf({32, 64, 96});
  keys["model.builder"] = builder;
  keys["model.layers"] = std::to_string(layers);
  keys["model.hidden"] = std::to_string(width);
  keys["model.heads"] = std::to_string(heads);
  keys["model.feed_forward"] = std::to_string(width * dice.oneOf({2, 4}));
  keys["model.sequence"] = std::to_string(dice.oneOf({16, 64, 200}));
  keys["model.vocabulary"] = std::to_string(dice.oneOf({1000, 30522}));
  keys["model.dropout"] = dice.coin() ? "0.1" : "0.0";
  if (builder == "bert") keys["model.head"] = dice.coin() ? "mlm" : "squad";
  if (builder == "decoder" && dice.coin()) {
    keys["model.gated"] = "true";
    keys["model.norm"] = "rms";
  }
}

/// [[stages]] that divide the layers evenly; the first also has the embeddings, the last the head.
std::string stagesOf(const std::string& prefix, std::int64_t layers, std::int64_t stages) {
  std::string text;
  for (std::int64_t s = 0; s < stages; ++s) {
    std::string blocks = s == 0 ? "\"embeddings\"" : "";
    for (std::int64_t l = layers * s / stages; l < layers * (s + 1) / stages; ++l)
      blocks += fmt::format("{}\"{}/layer{}\"", blocks.empty() ? "" : ", ", prefix, l);
    if (s + 1 == stages) blocks += ", \"head\"";
    text += fmt::format("[[stages]]\nblocks = [{}]\n", blocks);
  }
  return text;
}

}  // namespace

std::string RandomModel::describe() const {
  std::string text;
  for (const auto& [key, value] : keys) text += key + "=" + value + " ";
  return text + "\n" + tables;
}

RandomModel RandomModel::with(const std::string& key, const std::string& value) const {
  RandomModel changed = *this;
  changed.keys[key] = value;
  return changed;
}

RandomModel randomModel(ModelDice& dice, const std::string& system, int mostStages) {
  RandomModel model;
  const std::int64_t stages = dice.upTo(mostStages), layers = stages * dice.upTo(2);
  if (stages == 1 && dice.upTo(3) == 1) {
    model.keys = {{"model.builder", "resnet"},
                  {"model.depth", dice.coin() ? "18" : "50"},
                  {"model.stem", "cifar"},
                  {"model.image_size", std::to_string(dice.oneOf({16, 32}))}};
    model.tables = "[[stages]]\nblocks = [\"*\"]\n";
  } else {
    const bool bert = dice.coin();
    addTransformer(dice, bert ? "bert" : "decoder", layers, model.keys);
    model.tables = stagesOf(bert ? "encoder" : "decoder", layers, stages);
  }
  model.keys["system.name"] = system;
  model.keys["execution.numerics"] = "false";
  model.keys["data.dataset"] = "synthetic";
  model.keys["execution.schedule"] = dice.coin() ? "gpipe" : "1f1b";
  model.keys["execution.recompute"] = dice.coin() ? "none" : "auto";
  const bool training = dice.upTo(3) > 1;
  model.keys["execution.mode"] = training ? "training" : "inference";
  model.keys["execution.precision"] = dice.oneOf<const char*>({"float32", "bfloat16"});
  model.keys[training ? "training.micro_batch_size" : "inference.micro_batch_size"] =
      std::to_string(dice.oneOf({1, 2, 8}));
  if (training) {
    model.keys["training.gradient_accumulation"] = std::to_string(dice.upTo(4));
    model.keys["training.optimizer"] = dice.oneOf<const char*>({"sgd", "adamw"});
  }
  return model;
}

base::Result<Measured> measure(const RandomModel& model, record::MemoryProfile& profile,
                               plan::SharedStages* known) {
  using config::Origin;
  PIPESCOPE_ASSIGN(config::Configuration c, app::parseConfiguration(model.tables, "random model"));
  for (const auto& [key, value] : model.keys) PIPESCOPE_TRY(c.setText(key, value, Origin::flag));
  PIPESCOPE_ASSIGN(compile::Compilation compilation, app::compileRun(c, nullptr, known));
  Measured result{.compilation = std::move(compilation), .profile = &profile};
  record::Recorder recorder(profile);
  const auto recorded = compile::recordCompilation(recorder, result.compilation, emulate::RecordLevel::steps);
  const emulate::EmulatedExecutable& executable = recorded.executables.front();
  emulate::Emulator emulator(recorder, *result.compilation.system, recorded.ids, emulate::RecordLevel::steps);
  model::Run run;
  for (result.calls = 0; result.calls < 2; ++result.calls) run = emulator.call(executable, {});
  PIPESCOPE_TRY(recorder.finish(model::ProfileState::complete));
  result.seconds =
      base::toSeconds(run.end - run.start, {result.compilation.system->devices().front().ticksPerSecond});
  result.abovePeak = executable.abovePeak;
  const compile::CompiledExecutable& compiled = result.compilation.executables.front();
  for (const devices::LoweredDevice& device : compiled.lowered) {
    std::int64_t bytes = 0;
    for (const devices::UnitBytesRun& unit : device.memory.front().units)
      bytes += unit.bytes.count * unit.unitCount;
    result.memory = std::max(result.memory, bytes);
  }
  for (const compile::BoundaryTensor& tensor : compiled.ir.boundaries)
    result.sent += tensor.type.bytes().count;
  result.sent *= executable.facts.microBatches * executable.facts.iterations * result.calls;
  return result;
}

}  // namespace pipescope::conformance
