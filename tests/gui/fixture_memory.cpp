#include <fmt/format.h>

#include <algorithm>

#include "fixture_writer.h"

namespace pipescope::testing {
namespace {

constexpr std::int64_t kTilesOfChip = 1472;
constexpr std::int64_t kCodeBytes = 31'600'000;  ///< of the vertices on a device

struct Category {
  const char* name;
  bool alwaysLive;
  std::int64_t bytes;  ///< approximate bytes per tile
};
constexpr Category kCategories[] = {{"variable", true, 46'000},
                                    {"variable", false, 118'000},
                                    {"vertexCode", true, 21'500},
                                    {"controlCode", true, 9'200},
                                    {"internalExchangeCode", true, 14'300},
                                    {"vertexInstanceState", true, 7'800},
                                    {"globalExchangeCode", true, 2'600},
                                    {"constant", true, 900},
                                    {"stack", true, 1'100},
                                    {"copyDescriptor", true, 640}};

}  // namespace

void ProfileFixture::Writer::addMemory(const FixtureExecutable& executable, int device) {
  addUnits(executable, device);
  const model::MemorySpaceId space = memory_[static_cast<std::size_t>(device)];
  const auto add = [&](const std::string& path, const char* category, const char* shape, std::int64_t bytes,
                       bool always) {
    const model::VariableId id = recorder_.add(model::Variable{{},
                                                               executable.id,
                                                               space,
                                                               name(path),
                                                               category,
                                                               shape,
                                                               Bytes(bytes),
                                                               Bytes(bytes / 700),
                                                               always,
                                                               device});
    // Variables lie on the first 700 tiles. Always-live ones have 100 bytes more on each of the first ten.
    if (options_.unitMaps) {
      recorder_.add(model::VariableUnits{id, 0, 10, Bytes(bytes / 700 + (always ? 100 : 0))});
      recorder_.add(model::VariableUnits{id, 10, 690, Bytes(bytes / 700)});
    }
    return id;
  };
  const std::string layer = fmt::format("layer{}", device + 1);
  add(layer + "/weight", "weight", "20x10x5x5 float32", 2'000'000 + 900'000 * device, true);
  add(layer + "/bias", "weight", "20 float32", 8'000, true);
  if (executable.training) {
    add(layer + "/weight/adam_m", "optimizer_state", "20x10x5x5 float32", 2'000'000 + 900'000 * device, true);
    add(layer + "/weight/adam_v", "optimizer_state", "20x10x5x5 float32", 2'000'000 + 900'000 * device, true);
    add(layer + "/input/stash", "stash", "7x40x1x28x28 float32", 125'440 * (7 - 2 * device), true);
  }
  add(layer + "/code", "vertexCode", "", kCodeBytes, true);
  // Forward steps make activations and backward steps free them, so live bytes rise and then fall.
  const int steps = executable.training ? 132 : 40;
  std::vector<std::int64_t> live(static_cast<std::size_t>(steps), 0);
  for (int v = 0; v < steps; ++v) {
    const int first = v, end = std::min(steps, v < steps / 2 && v % 3 != 0 ? steps - v : v + 2 + v % 5);
    const std::int64_t bytes = 180'000 + static_cast<std::int64_t>(random_() % 2'400'000) / (1 + v % 4);
    const std::string path = fmt::format("{}/{}/activation{}", layer, v % 2 == 0 ? "conv" : "relu", v);
    const model::VariableId id =
        add(path, v % 5 == 4 ? "temporary" : "activation", "40x10x12x12 float32", bytes, false);
    recorder_.add(model::LifeInterval{id, first, std::max(first + 1, end)});
    for (int s = first; s < std::max(first + 1, end); ++s) live[static_cast<std::size_t>(s)] += bytes;
  }
  for (int s = 0; s < steps; ++s) {
    const model::Pass pass = !executable.training || s < steps / 3 ? model::Pass::forward
                             : s < steps / 2                       ? model::Pass::recompute
                             : s < steps - 8                       ? model::Pass::backward
                                                                   : model::Pass::update;
    const std::string path = fmt::format("{}/{}/step{}", layer, model::toString(pass), s);
    const model::ProgramId computeSet = program(executable.id, device, "OnTileExecute", path);
    recorder_.add(model::LivenessStep{executable.id, space, s, computeSet, pass,
                                      Bytes(live[static_cast<std::size_t>(s)]),
                                      Bytes(live[static_cast<std::size_t>(s)] / 900)});
    if (s == 0 && options_.unitMaps) addVertices(executable, space, computeSet);
  }
}

/// Vertices to which all code of the device belongs, three on each of its tiles.
void ProfileFixture::Writer::addVertices(const FixtureExecutable& executable, model::MemorySpaceId space,
                                         model::ProgramId computeSet) {
  const char* type = "poplin::ConvPartial1x1Out<half,float>";
  recorder_.add(model::VertexUse{executable.id, space, computeSet, type, 0, 10, 3,
                                 Bytes(kCodeBytes / 700 + 100), Bytes(), Bytes()});
  recorder_.add(model::VertexUse{executable.id, space, computeSet, type, 10, 690, 3, Bytes(kCodeBytes / 700),
                                 Bytes(), Bytes()});
}

void ProfileFixture::Writer::addUnits(const FixtureExecutable& executable, int device) {
  const model::MemorySpaceId space = memory_[static_cast<std::size_t>(device)];
  const double size = (executable.training ? 1.0 : 0.55) * (0.8 + 0.25 * device);
  for (const Category& category : kCategories) {
    std::int64_t tile = 0;
    while (tile < kTilesOfChip) {
      const std::int64_t run =
          std::min<std::int64_t>(kTilesOfChip - tile, 8 + static_cast<std::int64_t>(random_() % 56));
      auto bytes = static_cast<std::int64_t>(static_cast<double>(category.bytes) * size *
                                             (0.75 + 0.5 * static_cast<double>(random_() % 1000) / 1000));
      if (options_.overflow && device == 1 && tile < 64 && !category.alwaysLive) bytes = 620'000;
      const char* region = category.bytes > 100'000 ? "interleaved" : "non_interleaved";
      recorder_.add(model::UnitMemory{executable.id, space, category.name, region, category.alwaysLive, tile,
                                      run, Bytes(bytes)});
      if (category.bytes > 40'000) {
        recorder_.add(model::UnitMemory{executable.id, space, "gap", region, category.alwaysLive, tile, run,
                                        Bytes(bytes / 12)});
      }
      tile += run;
    }
  }
  if (options_.overflow && device == 1 && executable.training) {
    recorder_.add(model::Diagnostic{
        model::Severity::error, "out_of_memory",
        "IPU1 needs 741 KiB on tile 3, which has 624 KiB: move work off stage 1, or recompute more.",
        executable.id, devices_[static_cast<std::size_t>(device)]});
  }
}

}  // namespace pipescope::testing
