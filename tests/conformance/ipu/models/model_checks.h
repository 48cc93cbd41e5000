#pragma once
// Models compiled for their devices, and what must hold of each.
#include <map>
#include <string>

#include "app/run/request/compile_run.h"
#include "engine/compiler/record_compilation.h"

namespace pipescope::conformance {

/// Compiles a model from TOML text, with keys changed; a refusal fails the test.
compile::Compilation compileModel(const std::string& toml,
                                  const std::map<std::string, std::string>& changes = {});
compile::Compilation compileFile(const std::string& file,
                                 const std::map<std::string, std::string>& changes = {});

/// Compiles an ONNX file for inference as one stage. `execution` has further lines of [execution], and what
/// follows them.
compile::Compilation compileOneStage(const std::string& execution,
                                     const std::map<std::string, std::string>& changes);

/// Prints the point; returns ln(ours / theirs).
[[nodiscard]] double comparePoint(const std::string& point, double ours, double theirs);

/// Samples per second of the second call of the first executable, when loaders and pipelines have started.
double emulatedRate(const compile::Compilation& compilation);

/// Bytes past the ends of tiles, over all devices.
std::int64_t overflowBytes(const compile::Compilation& compilation);
/// Bytes past the end of the tile that lacks most.
std::int64_t largestOverflow(const compile::Compilation& compilation);

/// Memory of the categories that popliner adds up (popliner/stage.py), in bytes: its totals have no lists of
/// vertices, no descriptors, headers and stack.
struct MemoryOfTiles {
  std::map<std::string, double> byCategory;
  double total = 0, largestTile = 0;
};
MemoryOfTiles memoryOf(const devices::LoweredMemory& memory, std::int64_t tiles);

/// A unit's busy and idle ticks make up each step, steps their segment; what is sent on a chip is received.
void expectTimeAddsUp(const compile::Compilation& compilation);
/// Replayed lives give the recorded bytes; a tile holds more than it has exactly where that is said.
void expectMemoryAddsUp(const compile::Compilation& compilation);
/// No pass does more floating-point operations in its time than the chip can in its fastest type that is
/// used.
void expectNeverAbovePeak(const compile::Compilation& compilation);

}  // namespace pipescope::conformance
