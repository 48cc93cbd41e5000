#pragma once
// Lowered devices in tests: how they are made, found and checked.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ipu_fixtures.h"

namespace pipescope::devices::testing {

inline LoweredDevice lowerStages(const System& system, const std::vector<compile::StageIr>& stages) {
  std::vector<const compile::StageIr*> pointers;
  for (const compile::StageIr& stage : stages) pointers.push_back(&stage);
  auto lowered = system.lower(pointers);
  EXPECT_TRUE(lowered.ok()) << (lowered.ok() ? "" : lowered.error().message);
  return lowered.ok() ? *lowered : LoweredDevice{};
}

inline const LoweredVariable* find(const LoweredMemory& memory, const std::string& name,
                                   const std::string& category = {}) {
  for (const LoweredVariable& variable : memory.variables) {
    if (variable.name == name && (category.empty() || variable.category == category)) return &variable;
  }
  return nullptr;
}

/// Index of the first liveness step of that name in that pass.
inline std::int32_t stepOf(const LoweredMemory& memory, const std::string& name, model::Pass pass) {
  for (std::size_t i = 0; i < memory.steps.size(); ++i) {
    if (memory.steps[i].name == name && memory.steps[i].pass == pass) return static_cast<std::int32_t>(i);
  }
  ADD_FAILURE() << "no step " << name;
  return -1;
}

inline ops::Work map(ops::MapFunction function, std::int64_t elements, bool inPlace = false) {
  return {ops::Map{function, elements, 1, graph::ElementType::float32, inPlace}, 1, ""};
}

/// Checks properties that hold of any lowered device.
inline void expectDeviceSound(const System& system, const LoweredDevice& device) {
  const DeviceInfo& info = system.devices()[static_cast<std::size_t>(device.device)];
  for (const LoweredPass& pass : device.passes) {
    for (const LoweredSegment& segment : pass.segments) {
      EXPECT_NE(std::find(info.lanes.begin(), info.lanes.end(), segment.lane), info.lanes.end());
      Ticks at;
      for (const LoweredStep& step : segment.steps) {
        EXPECT_EQ(step.offset, at) << step.name;
        at += step.ticks;
        EXPECT_NE(std::find(info.lanes.begin(), info.lanes.end(), step.lane), info.lanes.end());
        EXPECT_GT(step.ticks.count, 0);
        EXPECT_LE(step.minTicks, step.maxTicks);
        EXPECT_EQ(step.maxTicks, step.ticks);
        EXPECT_LE(step.meanTicks, static_cast<double>(step.maxTicks.count) + 1e-9);
        EXPECT_LE(step.activeUnits, info.units);
        EXPECT_GE(step.op, 0);
        EXPECT_LT(step.op, static_cast<int>(pass.operators.size()));
      }
      EXPECT_EQ(segment.ticks, at);
    }
  }
}

inline void expectMemorySound(const LoweredMemory& memory, const MemorySpaceInfo& space) {
  // Replaying the life intervals gives the recorded bytes.
  std::vector<std::int64_t> live(memory.steps.size() + 1);
  std::int64_t alwaysLive = 0;
  for (const LoweredVariable& variable : memory.variables) {
    EXPECT_LE(variable.maxUnitBytes, variable.bytes);
    if (variable.alwaysLive) {
      alwaysLive += variable.bytes.count;
      EXPECT_TRUE(variable.lives.empty());
    }
    std::int32_t before = 0;
    for (const LifeSteps life : variable.lives) {
      EXPECT_LT(life.first, life.end) << variable.name;
      EXPECT_GE(life.first, before) << variable.name;
      EXPECT_LE(life.end, static_cast<std::int32_t>(memory.steps.size())) << variable.name;
      before = life.end;
      for (std::int32_t step = life.first; step < life.end; ++step)
        live[static_cast<std::size_t>(step)] += variable.bytes.count;
    }
  }
  for (std::size_t i = 0; i < memory.steps.size(); ++i) {
    EXPECT_EQ(memory.steps[i].notAlwaysLive.count, live[i]) << memory.steps[i].name;
    EXPECT_LE(memory.steps[i].maxUnitNotAlwaysLive, memory.steps[i].notAlwaysLive);
  }
  // The bytes of the units add up to the variables, and to the overflow that is reported.
  std::int64_t alwaysLiveUnits = 0;
  std::vector<std::int64_t> low(static_cast<std::size_t>(space.units)), wide = low, over = low, shared = low;
  for (const UnitBytesRun& run : memory.units) {
    EXPECT_GT(run.bytes.count, 0);
    if (run.alwaysLive) alwaysLiveUnits += run.bytes.count * run.unitCount;
    for (std::int64_t unit = run.firstUnit; unit < run.firstUnit + run.unitCount; ++unit) {
      auto& region = run.region == "non_interleaved" ? low : run.region == "interleaved" ? wide : over;
      region.at(static_cast<std::size_t>(unit)) += run.bytes.count;
      if (!run.alwaysLive && run.category != "gap") shared[static_cast<std::size_t>(unit)] += run.bytes.count;
    }
  }
  EXPECT_EQ(alwaysLiveUnits, alwaysLive);
  Bytes mostShared;
  for (const LoweredStepMemory& step : memory.steps)
    mostShared = std::max(mostShared, step.maxUnitNotAlwaysLive);
  EXPECT_GE(*std::max_element(shared.begin(), shared.end()), mostShared.count);
  bool overflows = false;
  for (std::size_t unit = 0; unit < low.size(); ++unit) {
    EXPECT_LE(low[unit], space.interleavedStart.count);
    EXPECT_LE(wide[unit], space.bytesPerUnit.count - space.interleavedStart.count);
    // All memory below anything in interleaved memory is used or named a gap.
    if (wide[unit] + over[unit] > 0) {
      EXPECT_EQ(low[unit], space.interleavedStart.count);
    }
    if (over[unit] > 0) {
      EXPECT_EQ(wide[unit], space.bytesPerUnit.count - space.interleavedStart.count);
    }
    overflows = overflows || over[unit] > 0;
  }
  EXPECT_EQ(overflows, !memory.overflow.empty());
}

}  // namespace pipescope::devices::testing
