#pragma once
// Chips, products and small stages for the tests of the IPU family.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "engine/compile/ir.h"
#include "engine/devices/core/device_files.h"
#include "engine/devices/ipu/chip.h"
#include "engine/devices/ipu/lowered_work.h"
#include "engine/devices/ipu/products/planner.h"
#include "engine/devices/system_registry.h"

namespace pipescope::devices::testing {

using graph::ElementType;

/// A temporary folder for a test, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::temp_directory_path() /
            (std::string("pipescope-") + test->test_suite_name() + "-" + test->name());
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_ / "devices");
    std::filesystem::create_directories(path_ / "systems");
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& file, const std::string& text) const { std::ofstream(path_ / file) << text; }

 private:
  std::filesystem::path path_;
};

inline ipu::Chip chipOf(const std::string& name, const std::filesystem::path& userFolder = {}) {
  return ipu::readChip(DeviceFiles(userFolder).chip(name).value()).value();
}

inline std::shared_ptr<const System> systemOf(const std::string& name, const SystemOptions& options = {}) {
  auto system = makeSystem(name, options);
  EXPECT_TRUE(system.ok()) << (system.ok() ? "" : system.error().message);
  return system.ok() ? *system : nullptr;
}

/// The sentence with which makeSystem refuses a name.
inline std::string refusalOf(const std::string& name, const SystemOptions& options = {}) {
  const auto system = makeSystem(name, options);
  EXPECT_FALSE(system.ok());
  return system.ok() ? "" : system.error().message;
}

/// [m,k]·[k,n]
inline ops::Contraction product(std::int64_t m, std::int64_t k, std::int64_t n,
                                ElementType type = ElementType::float16) {
  ops::Contraction c;
  c.field = c.output = {m};
  c.kernel = c.stride = c.dilation = {1};
  c.padding = {0, 0};
  c.inputChannels = k;
  c.outputChannels = n;
  c.type = type;
  return c;
}

inline ops::Contraction convolution(std::int64_t batch, std::int64_t field, std::int64_t kernel,
                                    std::int64_t in, std::int64_t out, std::int64_t stride = 1,
                                    std::int64_t padding = 0, std::int64_t groups = 1,
                                    ElementType type = ElementType::float16) {
  ops::Contraction c;
  c.batch = batch;
  c.groups = groups;
  c.inputChannels = in;
  c.outputChannels = out;
  c.field = {field, field};
  c.kernel = {kernel, kernel};
  c.stride = {stride, stride};
  c.dilation = {1, 1};
  c.padding = {padding, padding, padding, padding};
  const std::int64_t output = (field + 2 * padding - kernel) / stride + 1;
  c.output = {output, output};
  c.type = type;
  return c;
}

inline ops::Contraction phase(ops::Contraction c, int index) {
  c.phase = static_cast<ops::Contraction::Phase>(index);
  return c;
}

/// Lowers one piece of Work on a chip.
class Lowering {
 public:
  explicit Lowering(ipu::Chip chip, double proportion = 0.6)
      : chip_(std::move(chip)), planner_(chip_), proportion_(proportion) {}
  base::Result<ipu::LoweredWork> tryLower(const ops::WorkItem& item) {
    return ipu::lowerWork(item, {.chip = chip_,
                                 .planner = planner_,
                                 .memoryProportion = proportion_,
                                 .hostBytesPerSecond = chip_.hostBytesPerSecond,
                                 .what = "layer"});
  }
  ipu::LoweredWork lower(const ops::WorkItem& item) {
    auto lowered = tryLower(item);
    EXPECT_TRUE(lowered.ok()) << (lowered.ok() ? "" : lowered.error().message);
    return lowered.ok() ? *lowered : ipu::LoweredWork{};
  }
  std::string refusal(const ops::WorkItem& item) {
    const auto lowered = tryLower(item);
    EXPECT_FALSE(lowered.ok());
    return lowered.ok() ? "" : lowered.error().message;
  }
  const ipu::Chip& chip() const { return chip_; }
  ipu::Planner& planner() { return planner_; }

 private:
  ipu::Chip chip_;
  ipu::Planner planner_;
  double proportion_;
};

/// A stage under construction.
class StageMaker {
 public:
  explicit StageMaker(int index, int device) {
    stage_.index = index;
    stage_.place = device;
  }
  compile::IrTensorId tensor(const std::string& name, graph::Shape shape, compile::TensorUse use,
                             ElementType type = ElementType::float32, std::int64_t copies = 1) {
    stage_.tensors.push_back({name, {type, std::move(shape)}, use, copies});
    return compile::IrTensorId(static_cast<std::int64_t>(stage_.tensors.size()) - 1);
  }
  void add(model::Pass pass, const std::string& name, const std::string& kind, std::vector<ops::Work> work,
           std::vector<compile::IrTensorId> inputs, std::vector<compile::IrTensorId> outputs) {
    if (stage_.passes.empty() || stage_.passes.back().pass != pass) stage_.passes.push_back({pass, {}});
    stage_.passes.back().operators.push_back(
        {name, kind, std::move(work), std::move(inputs), std::move(outputs)});
  }
  const compile::StageIr& stage() const { return stage_; }

 private:
  compile::StageIr stage_;
};

/// A linear layer batch×in→out with relu, its gradients and an update like Adam's. Inputs come from the host
/// or another device.
inline compile::StageIr linearStage(int index, int device, std::int64_t batch, std::int64_t in,
                                    std::int64_t out, bool fromHost,
                                    ElementType type = ElementType::float32) {
  using compile::TensorUse;
  using model::Pass;
  StageMaker make(index, device);
  const auto x = make.tensor("x", {batch, in}, TensorUse::input, type);
  const auto weight = make.tensor("fc/weight", {in, out}, TensorUse::weight, type);
  const auto moment = make.tensor("fc/weight/moment", {in, out}, TensorUse::optimizerState, type);
  const auto sum = make.tensor("fc/weight/accumulator", {in, out}, TensorUse::accumulator, type);
  const auto z = make.tensor("fc/z", {batch, out}, TensorUse::activation, type);
  const auto y = make.tensor("relu/y", {batch, out}, TensorUse::activation, type);
  const auto dy = make.tensor("relu/dy", {batch, out}, TensorUse::input, type);
  const auto dz = make.tensor("fc/dz", {batch, out}, TensorUse::gradient, type);
  const auto dw = make.tensor("fc/dw", {in, out}, TensorUse::gradient, type);
  const auto dx = make.tensor("x/dx", {batch, in}, TensorUse::gradient, type);
  ops::Contraction c = product(batch, in, out, type);
  const auto map = [&](ops::MapFunction function, std::int64_t n, std::int64_t operands, bool inPlace) {
    return ops::Work{ops::Map{function, n, operands, type, inPlace}, 1, ""};
  };
  if (fromHost)
    make.add(Pass::hostIn, "x", "HostLoad",
             {{ops::HostCopy{true, base::Bytes(batch * in * graph::sizeOf(type))}, 1, ""}}, {}, {x});
  make.add(Pass::forward, "fc", "Gemm", {{c, 1, ""}}, {x, weight}, {z});
  make.add(Pass::forward, "relu", "Relu", {map(ops::MapFunction::relu, batch * out, 1, true)}, {z}, {y});
  make.add(Pass::backward, "relu", "GradRelu", {map(ops::MapFunction::reluGradient, batch * out, 2, true)},
           {dy, y}, {dz});
  make.add(Pass::backward, "fc", "GradGemm", {{phase(c, 2), 1, "Weight"}, {phase(c, 1), 1, "Input"}},
           {dz, x, weight}, {dw, dx});
  make.add(Pass::backward, "fc/weight/accumulate", "Accumulate",
           {map(ops::MapFunction::add, in * out, 2, true)}, {dw, sum}, {sum});
  make.add(Pass::update, "fc/weight/update", "adamw", {map(ops::MapFunction::adam, in * out, 3, true)},
           {sum, weight, moment}, {weight});
  return make.stage();
}

}  // namespace pipescope::devices::testing
