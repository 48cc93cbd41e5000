#include <fmt/format.h>

#include <algorithm>

#include "app/run/request/compile_run.h"
#include "app/run/request/configuration_keys.h"
#include "app/run/request/generation.h"
#include "engine/compiler/record_compilation.h"
#include "engine/config/configuration.h"
#include "engine/config/key.h"
#include "engine/devices/core/device_files.h"
#include "engine/devices/gaudi/card.h"
#include "engine/devices/gaudi/fabric.h"
#include "engine/devices/system_registry.h"
#include "engine/emulate/emulator.h"
#include "profiler/record/memory_profile.h"
#include "tests/conformance/gaudi/point.h"

namespace pipescope::conformance {
namespace {

using config::Configuration;

/// The system that the point names, or the standard box of its card.
std::string systemOf(const Point& point) {
  const bool chip = devices::DeviceFiles({}).hasChip(point.device);
  if (!chip || point.cards == 1) return point.device;
  const std::string box = point.device == "gaudi"    ? "hls-1"
                          : point.device == "gaudi2" ? "hls-gaudi2"
                                                     : "hls-3";
  return point.cards <= 8 ? box : fmt::format("{}x{}", box, (point.cards + 7) / 8);
}

base::Result<std::string> parameter(const Point& point, const std::string& key) {
  const auto found = point.parameters.find(key);
  if (found != point.parameters.end()) return found->second;
  return base::badInput(fmt::format("A {} point needs the parameter {}.", point.workload, key));
}
base::Result<std::int64_t> size(const Point& point, const std::string& key) {
  PIPESCOPE_ASSIGN(const std::string text, parameter(point, key));
  const std::int64_t value = std::atoll(text.c_str());
  if (value >= 1) return value;
  return base::badInput(fmt::format("{} is \"{}\", but must be a whole number from 1 on.", key, text));
}
base::Result<graph::ElementType> typeOf(const Point& point) {
  PIPESCOPE_ASSIGN(const std::string text, parameter(point, "type"));
  for (const auto type : {graph::ElementType::float32, graph::ElementType::float16,
                          graph::ElementType::bfloat16, graph::ElementType::float8_143}) {
    if (toString(type) == text) return type;
  }
  return base::badInput(
      fmt::format("type is \"{}\"; it may be float32, float16, bfloat16 or float8_143.", text));
}

/// The full path of a key, for example model.layers for layers.
base::Result<std::string> pathOf(const std::string& key, bool training) {
  for (const char* table :
       {"", "model.", training ? "training." : "inference.", "execution.", "training.", "data.", "host."}) {
    const std::string path = table + key;
    for (const config::Key& known : app::configurationKeys().all()) {
      if (known.path == path) return path;
    }
  }
  return base::badInput(fmt::format("There is no configuration key \"{}\".", key));
}

base::Result<Configuration> configurationOf(const Point& point, bool training) {
  using config::Origin;
  // All blocks form one stage, so each card holds the whole model.
  PIPESCOPE_ASSIGN(Configuration c, app::parseConfiguration("[[stages]]\nblocks = [\"*\"]\n", "point"));
  for (const auto& [key, value] : point.parameters) {
    PIPESCOPE_ASSIGN(const std::string path, pathOf(key, training));
    PIPESCOPE_TRY(c.setText(path, value, Origin::flag));
  }
  PIPESCOPE_TRY(c.setText("system.name", systemOf(point), Origin::flag));
  PIPESCOPE_TRY(c.setText("execution.mode", training ? "training" : "inference", Origin::flag));
  PIPESCOPE_TRY(c.setText("execution.numerics", "false", Origin::flag));
  if (!c.given("data.dataset")) PIPESCOPE_TRY(c.setText("data.dataset", "synthetic", Origin::flag));
  if (!c.given("execution.precision"))
    PIPESCOPE_TRY(c.setText("execution.precision", "bfloat16", Origin::flag));
  if (!c.given("execution.schedule")) PIPESCOPE_TRY(c.setText("execution.schedule", "gpipe", Origin::flag));
  if (point.cards > 1) {
    // Cards that are not tensor ranks of one model are replicas of it.
    const std::int64_t replicas = point.cards / c.integer("execution.tensor_parallel");
    PIPESCOPE_TRY(c.setText("system.devices", std::to_string(point.cards), Origin::flag));
    PIPESCOPE_TRY(c.setText(training ? "training.replication_factor" : "inference.replication_factor",
                            std::to_string(replicas), Origin::flag));
  }
  return c;
}

/// The seconds and samples of a call in steady state.
struct Call {
  double seconds = 0, samples = 0;
};

/// Calls of all executables, in the order in which they run.
base::Result<std::vector<Call>> runCalls(const Configuration& configuration) {
  PIPESCOPE_ASSIGN(const compile::Compilation compilation, app::compileRun(configuration));
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  const compile::RecordedCompilation recorded =
      compile::recordCompilation(recorder, compilation, emulate::RecordLevel::off);
  emulate::Emulator emulator(recorder, *compilation.system, recorded.ids, emulate::RecordLevel::off);
  const base::Timebase clock{compilation.system->devices().front().ticksPerSecond};
  std::vector<Call> calls;
  for (const emulate::EmulatedExecutable& executable : recorded.executables) {
    // The host has not prepared anything yet at the first call, so the second one is measured.
    emulator.call(executable, {});
    const model::Run run = emulator.call(executable, {});
    calls.push_back({base::toSeconds(run.end - run.start, clock),
                     static_cast<double>(executable.facts.rows() * executable.facts.iterations)});
  }
  return calls;
}

base::Result<double> gemm(const Point& point) {
  PIPESCOPE_ASSIGN(const std::int64_t m, size(point, "m"));
  PIPESCOPE_ASSIGN(const std::int64_t n, size(point, "n"));
  PIPESCOPE_ASSIGN(const std::int64_t k, size(point, "k"));
  PIPESCOPE_ASSIGN(const graph::ElementType type, typeOf(point));
  ops::Contraction product;
  product.field = product.output = {m};
  product.kernel = product.stride = product.dilation = {1};
  product.padding = {0, 0};
  product.inputChannels = k;
  product.outputChannels = n;
  product.type = type;
  compile::StageIr stage;
  const auto tensor = [&](const char* name, graph::ElementType element, graph::Shape shape) {
    stage.tensors.push_back({name, {element, std::move(shape)}, compile::TensorUse::activation, 1});
    return compile::IrTensorId(static_cast<int>(stage.tensors.size()) - 1);
  };
  // Products of float8 make 16-bit results.
  const graph::ElementType result = graph::isFloat8(type) ? graph::ElementType::bfloat16 : type;
  const auto a = tensor("a", type, {m, k}), b = tensor("b", type, {k, n}), c = tensor("c", result, {m, n});
  stage.passes.push_back({model::Pass::forward, {{"gemm", "MatMul", {{product, 1, ""}}, {a, b}, {c}}}});
  PIPESCOPE_ASSIGN(const auto system, devices::makeSystem(point.device));
  PIPESCOPE_ASSIGN(const devices::LoweredDevice lowered, system->lower({&stage}));
  // The benchmark runs many products one after another, so that each hides the launch of the next.
  base::Ticks ticks;
  for (const devices::LoweredStep& step : lowered.passes.front().segments.front().steps) {
    if (step.lane == model::LaneRole::matrix) ticks += step.ticks;
  }
  const double seconds = base::toSeconds(ticks, {system->devices().front().ticksPerSecond});
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) / seconds / 1e12;
}

base::Result<double> collective(const Point& point, ops::Collective::Kind kind) {
  if (point.cards < 2)
    return base::badInput(
        fmt::format("Points of {} need at least 2 cards, but this one has {}.", point.workload, point.cards));
  PIPESCOPE_ASSIGN(const std::int64_t bytes, size(point, "bytes"));
  PIPESCOPE_ASSIGN(const graph::ElementType type, typeOf(point));
  compile::StageIr stage;
  stage.mesh.replicas = point.cards;
  ops::Collective work;
  work.kind = kind;
  // An all-gather's point gives the bytes of one card's part. Its tensor holds the parts of all cards.
  const std::int64_t parts = kind == ops::Collective::Kind::allGather ? point.cards : 1;
  work.elements = parts * bytes / graph::sizeOf(type);
  work.type = type;
  work.ofModel = point.parameters.contains("waits");
  stage.tensors.push_back({"tensor", {type, {work.elements}}, compile::TensorUse::gradient, 1});
  const compile::IrTensorId tensor(0);
  stage.passes.push_back(
      {model::Pass::collective, {{"collective", "Collective", {{work, 1, ""}}, {tensor}, {tensor}}}});
  PIPESCOPE_ASSIGN(const auto system, devices::makeSystem(systemOf(point)));
  PIPESCOPE_ASSIGN(const devices::LoweredDevice lowered, system->lower({&stage}));
  return base::toSeconds(lowered.passes.front().segments.front().steps.front().ticks,
                         {system->devices().front().ticksPerSecond}) *
         1e3;
}

base::Result<double> samplesPerSecond(const Point& point, bool training) {
  PIPESCOPE_ASSIGN(const Configuration c, configurationOf(point, training));
  PIPESCOPE_ASSIGN(const std::vector<Call> calls, runCalls(c));
  return calls.front().samples / calls.front().seconds;
}

/// New tokens per second of a generation, prompts included. All cards share one model.
base::Result<double> tokensPerSecond(const Point& point) {
  PIPESCOPE_ASSIGN(const Configuration c, configurationOf(point, false));
  PIPESCOPE_ASSIGN(const std::optional<app::Generation> generation, app::generationOf(c));
  if (!generation) return base::badInput("A generate point needs the parameter new_tokens.");
  PIPESCOPE_ASSIGN(const std::vector<Call> calls, runCalls(c));
  double seconds = calls.front().seconds;
  for (std::size_t i = 0; i < generation->steps.size(); ++i)
    seconds += calls[i + 1].seconds * static_cast<double>(generation->steps[i].count);
  return calls.front().samples * static_cast<double>(generation->answer) / seconds;
}

}  // namespace

std::string chipOf(const Point& point) {
  const auto system = devices::makeSystem(point.device);
  return system ? (*system)->devices().front().kind : point.device;
}

base::Result<double> emulate(const Point& point) {
  PIPESCOPE_ASSIGN(const auto system, devices::makeSystem(systemOf(point)));
  if (system->family() != "gaudi") {
    return base::badInput(fmt::format(
        "{} is no Gaudi; there are gaudi, gaudi2, gaudi3 and boxes such as hls-gaudi2.", point.device));
  }
  if (point.workload == "gemm") return gemm(point);
  if (point.workload == "all_reduce") return collective(point, ops::Collective::Kind::allReduce);
  if (point.workload == "all_gather") return collective(point, ops::Collective::Kind::allGather);
  if (point.workload == "reduce_scatter") return collective(point, ops::Collective::Kind::reduceScatter);
  if (point.workload == "train") return samplesPerSecond(point, true);
  if (point.workload == "generate") return tokensPerSecond(point);
  if (point.workload == "decode") {
    Point one = point;
    one.parameters.try_emplace("phase", "decode");
    one.parameters.try_emplace("inference.micro_batch_size", "1");
    return samplesPerSecond(one, false);
  }
  if (point.workload == "prefill") {
    Point one = point;
    one.parameters.try_emplace("phase", "prefill");
    one.parameters.try_emplace("inference.micro_batch_size", "1");
    PIPESCOPE_ASSIGN(const double rate, samplesPerSecond(one, false));
    return 1e3 * static_cast<double>(std::stoll(one.parameters.at("inference.micro_batch_size"))) / rate;
  }
  if (point.workload == "scaling") {
    Point one = point;
    one.cards = 1;
    PIPESCOPE_ASSIGN(const double all, samplesPerSecond(point, true));
    PIPESCOPE_ASSIGN(const double single, samplesPerSecond(one, true));
    return all / (point.cards * single);
  }
  return base::badInput(
      fmt::format("The workload \"{}\" is not known; there are gemm, all_reduce, all_gather, reduce_scatter, "
                  "train, prefill, decode, generate and scaling.",
                  point.workload));
}

}  // namespace pipescope::conformance
