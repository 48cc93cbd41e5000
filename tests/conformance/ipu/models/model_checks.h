#pragma once
// Models compiled for their devices, and what must hold of each.
#include <map>
#include <string>

#include "app/run/request/compilation.h"

namespace pipescope::conformance {

/// From TOML text, with keys changed; a refusal fails the test.
app::Compilation compileModel(const std::string& toml,
                              const std::map<std::string, std::string>& changes = {});
app::Compilation compileFile(const std::string& file, const std::map<std::string, std::string>& changes = {});

/// Bytes past the ends of tiles, over all devices.
std::int64_t overflowBytes(const app::Compilation& compilation);

/// A unit's busy and idle ticks make up each step, steps their segment; what is sent on a chip is received.
void expectTimeAddsUp(const app::Compilation& compilation);
/// Replayed lives give the recorded bytes; a tile holds more than it has exactly where that is said.
void expectMemoryAddsUp(const app::Compilation& compilation);
/// No pass does more floating-point operations in its time than the chip can in its fastest type that is
/// used.
void expectNeverAbovePeak(const app::Compilation& compilation);

}  // namespace pipescope::conformance
