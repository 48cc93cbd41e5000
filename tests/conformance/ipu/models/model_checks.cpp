#include "model_checks.h"
#include "app/run/request/configuration_keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/devices/core/device_files.h"
#include "engine/devices/ipu/chip.h"
#include "engine/emulate/emulator.h"
#include "profiler/record/memory_profile.h"

namespace pipescope::conformance {
namespace {

using compile::Compilation;
using devices::LoweredDevice;
using devices::LoweredMemory;
using devices::MemorySpaceInfo;

Compilation compile(base::Result<config::Configuration> read,
                    const std::map<std::string, std::string>& changes) {
  EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().message);
  if (!read.ok()) return {};
  config::Configuration configuration = std::move(read).value();
  for (const auto& [key, value] : changes) {
    const base::Status set = configuration.setText(key, value, config::Origin::flag);
    EXPECT_TRUE(set.ok()) << set.error().message;
  }
  auto compiled = app::compileRun(configuration);
  EXPECT_TRUE(compiled.ok()) << (compiled.ok() ? "" : compiled.error().message);
  return compiled.ok() ? std::move(compiled).value() : Compilation{};
}

template <class F>
void forEachDevice(const Compilation& compilation, F f) {
  for (const compile::CompiledExecutable& executable : compilation.executables) {
    for (const LoweredDevice& device : executable.lowered)
      f(device, compilation.system->devices()[static_cast<std::size_t>(device.device)]);
  }
}

void expectLivesReplay(const LoweredMemory& memory) {
  std::vector<std::int64_t> change(memory.steps.size() + 1);
  for (const devices::LoweredVariable& variable : memory.variables) {
    for (const devices::LifeSteps life : variable.lives) {
      change.at(static_cast<std::size_t>(life.first)) += variable.bytes.count;
      change.at(static_cast<std::size_t>(life.end)) -= variable.bytes.count;
    }
  }
  std::int64_t live = 0;
  for (std::size_t step = 0; step < memory.steps.size(); ++step) {
    live += change[step];
    ASSERT_EQ(memory.steps[step].notAlwaysLive.count, live) << memory.steps[step].name;
  }
}

std::vector<std::int64_t> bytesPerTile(const LoweredMemory& memory, const MemorySpaceInfo& space) {
  std::vector<std::int64_t> tiles(static_cast<std::size_t>(space.units));
  for (const devices::UnitBytesRun& run : memory.units) {
    for (std::int64_t tile = run.firstUnit; tile < run.firstUnit + run.unitCount; ++tile)
      tiles.at(static_cast<std::size_t>(tile)) += run.bytes.count;
  }
  return tiles;
}

const MemorySpaceInfo& spaceOf(const devices::DeviceInfo& info, const LoweredMemory& memory) {
  return info.memory.at(static_cast<std::size_t>(memory.space));
}

}  // namespace

Compilation compileModel(const std::string& toml, const std::map<std::string, std::string>& changes) {
  return compile(app::parseConfiguration(toml, "model.toml"), changes);
}

Compilation compileFile(const std::string& file, const std::map<std::string, std::string>& changes) {
  return compile(app::readConfiguration(file), changes);
}

double emulatedRate(const Compilation& compilation) {
  if (compilation.executables.empty()) return 0;
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  const auto recorded = compile::recordCompilation(recorder, compilation, emulate::RecordLevel::off);
  emulate::Emulator emulator(recorder, *compilation.system, recorded.ids, emulate::RecordLevel::off);
  const emulate::EmulatedExecutable& executable = recorded.executables.front();
  model::Run run;
  for (int call = 0; call < 2; ++call) run = emulator.call(executable, {});
  const auto ticksPerSecond = static_cast<double>(compilation.system->devices().front().ticksPerSecond);
  const auto samples = static_cast<double>(executable.facts.rows() * executable.facts.iterations);
  return samples * ticksPerSecond / static_cast<double>((run.end - run.start).count);
}

std::int64_t overflowBytes(const Compilation& compilation) {
  std::int64_t sum = 0;
  forEachDevice(compilation, [&](const LoweredDevice& device, const devices::DeviceInfo& info) {
    const LoweredMemory& memory = device.memory.front();
    const std::int64_t room = spaceOf(info, memory).bytesPerUnit.count;
    for (const std::int64_t bytes : bytesPerTile(memory, spaceOf(info, memory)))
      sum += std::max<std::int64_t>(0, bytes - room);
  });
  return sum;
}

std::int64_t largestOverflow(const Compilation& compilation) {
  std::int64_t largest = 0;
  forEachDevice(compilation, [&](const LoweredDevice& device, const devices::DeviceInfo& info) {
    const LoweredMemory& memory = device.memory.front();
    const std::int64_t room = spaceOf(info, memory).bytesPerUnit.count;
    for (const std::int64_t bytes : bytesPerTile(memory, spaceOf(info, memory)))
      largest = std::max(largest, bytes - room);
  });
  return largest;
}

void expectTimeAddsUp(const Compilation& compilation) {
  forEachDevice(compilation, [](const LoweredDevice& device, const devices::DeviceInfo& info) {
    for (const devices::LoweredPass& pass : device.passes) {
      for (const devices::LoweredSegment& segment : pass.segments) {
        base::Ticks at;
        for (const devices::LoweredStep& step : segment.steps) {
          ASSERT_EQ(step.offset, at) << step.name;
          at += step.ticks;
          ASSERT_EQ(step.maxTicks, step.ticks) << step.name;
          const double idle = static_cast<double>(step.ticks.count) - step.meanTicks;
          ASSERT_GE(idle, -1e-6 * static_cast<double>(step.ticks.count)) << step.name;
          ASSERT_LE(step.meanTicks * static_cast<double>(info.units),
                    static_cast<double>(step.activeUnits * step.maxTicks.count) * (1 + 1e-9))
              << step.name;
          if (step.kind == model::StepKind::exchange) {
            // Every received byte has a sender; a sent byte may have as many receivers as there are tiles.
            ASSERT_GE(step.bytesIn, step.bytesOut) << step.name;
            ASSERT_LE(step.bytesIn.count, step.bytesOut.count * info.units) << step.name;
          }
        }
        ASSERT_EQ(segment.ticks, at) << segment.name;
      }
    }
  });
}

void expectMemoryAddsUp(const Compilation& compilation) {
  forEachDevice(compilation, [](const LoweredDevice& device, const devices::DeviceInfo& info) {
    for (const LoweredMemory& memory : device.memory) {
      expectLivesReplay(memory);
      const MemorySpaceInfo& space = spaceOf(info, memory);
      if (space.kind != "tile_memory") continue;
      const std::vector<std::int64_t> tiles = bytesPerTile(memory, space);
      const bool over = std::any_of(tiles.begin(), tiles.end(),
                                    [&](std::int64_t bytes) { return bytes > space.bytesPerUnit.count; });
      EXPECT_EQ(over, !memory.overflow.empty()) << info.name;
    }
  });
}

void expectNeverAbovePeak(const Compilation& compilation) {
  forEachDevice(compilation, [&](const LoweredDevice& device, const devices::DeviceInfo& info) {
    const devices::ipu::Chip chip =
        devices::ipu::readChip(devices::DeviceFiles({}).chip(info.kind).value()).value();
    const double perTick = 2 * static_cast<double>(chip.ampHalf * chip.tiles);
    for (const devices::LoweredPass& pass : device.passes) {
      double flops = 0;
      for (const devices::LoweredOperator& op : pass.operators) flops += op.flops;
      EXPECT_LE(flops, perTick * static_cast<double>(pass.ticks().count)) << info.name;
    }
  });
}

compile::Compilation compileOneStage(const std::string& execution,
                                     const std::map<std::string, std::string>& changes) {
  const std::string stage =
      "[[model.blocks]]\nname = \"all\"\nnodes = [\"*\"]\n[[stages]]\nblocks = [\"*\"]\n";
  return compileModel(stage + "[execution]\nmode = \"inference\"\nnumerics = false\n" + execution, changes);
}

double comparePoint(const std::string& point, double ours, double theirs) {
  const double error = std::log(ours / theirs);
  std::printf("%-72s %13.1f measured %13.1f  ln %+.2f\n", point.c_str(), ours, theirs, error);
  return error;
}

MemoryOfTiles memoryOf(const devices::LoweredMemory& memory, std::int64_t tiles) {
  const std::map<std::string, std::string> kinds{{"variable", "variables"},
                                                 {"constant", "variables"},
                                                 {"vertexCode", "vertex code"},
                                                 {"vertexInstanceState", "vertex state"},
                                                 {"internalExchangeCode", "exchange code"},
                                                 {"globalExchangeCode", "exchange code"},
                                                 {"hostExchangeCode", "exchange code"},
                                                 {"controlCode", "control code"}};
  MemoryOfTiles result;
  std::vector<std::int64_t> perTile(static_cast<std::size_t>(tiles));
  for (const devices::UnitBytesRun& run : memory.units) {
    const auto kind = kinds.find(run.category);
    if (kind == kinds.end()) continue;
    const auto bytes = static_cast<double>(run.bytes.count * run.unitCount);
    result.byCategory[kind->second] += bytes;
    result.total += bytes;
    for (std::int64_t tile = run.firstUnit; tile < run.firstUnit + run.unitCount; ++tile)
      perTile[static_cast<std::size_t>(tile)] += run.bytes.count;
  }
  result.largestTile = static_cast<double>(*std::max_element(perTile.begin(), perTile.end()));
  return result;
}

}  // namespace pipescope::conformance
