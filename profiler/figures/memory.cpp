// Figures of the devices' memory that a model needs.
#include "profiler/analysis/memory/memory.h"

#include <algorithm>

#include "profiler/figures/figure.h"

namespace pipescope::figures {

bool fitsInMemory(const analysis::Memory& memory) {
  const auto holds = [](const analysis::DeviceMemory& device) { return device.fits; };
  return std::ranges::all_of(memory.devices, holds) && std::ranges::all_of(memory.others, holds);
}

namespace {

using analysis::Memory;

/// A system without a memory model has no figures.
template <class Value>
auto ofMemory(Value value) {
  return [value](const Analyses& from) {
    return from.memory == nullptr || from.memory->devices.empty() ? Cell() : Cell(value(*from.memory));
  };
}

auto bytesOf(base::Bytes Memory::*part) {
  return ofMemory([part](const Memory& memory) { return (memory.*part).count; });
}

std::int64_t fullestDevice(const Memory& memory) {
  std::int64_t most = 0;
  for (const analysis::DeviceMemory& device : memory.devices) most = std::max(most, device.total.count);
  return most;
}

Cell largestUse(const Analyses& from) {
  std::optional<double> most;
  if (from.memory == nullptr) return {};
  for (const analysis::DeviceMemory& device : from.memory->devices) {
    if (device.bytesPerUnit.count <= 0) continue;
    most = std::max(most.value_or(0), static_cast<double>(device.maxUnitIncludingGaps.count) /
                                          static_cast<double>(device.bytesPerUnit.count));
  }
  return cellOf(most);
}

}  // namespace

PIPESCOPE_REGISTER_FIGURES(memory) {
  registry.add({"fits", "Fits", "", Format::truth, Better::more,
                "Whether every tile or card has as much memory as it needs, gaps included; empty without a "
                "memory model.",
                ofMemory(fitsInMemory)});
  registry.add(
      {"hypothetical", "Hypothetical", "", Format::truth, Better::neither,
       "True if the model does not fit in memory: no real device could run it, so its times and rates "
       "are hypothetical.",
       ofMemory([](const Memory& memory) { return !fitsInMemory(memory); })});
  registry.add({"total_bytes", "Memory of all devices", "", Format::bytes, Better::less,
                "What variables and code take, without the gaps between them; sum over the devices of a "
                "replica.",
                bytesOf(&Memory::total)});
  registry.add({"max_tile_bytes", "Fullest tile or device", "on the fullest tile or device", Format::bytes,
                Better::less, "Bytes used on the tile, or on the device without tiles, that holds most.",
                bytesOf(&Memory::maxUnit)});
  registry.add({"max_tile_bytes_including_gaps", "Largest address span", "", Format::bytes, Better::less,
                "Bytes of a tile, or of a device without tiles, with the gaps between variables. It decides "
                "whether the model fits.",
                bytesOf(&Memory::maxUnitIncludingGaps)});
  registry.add({"always_live_bytes", "Always live memory", "", Format::bytes, Better::less,
                "Bytes of variables that are live in every program step; sum over the devices of a replica.",
                bytesOf(&Memory::alwaysLive)});
  registry.add({"not_always_live_peak_bytes", "Peak of not always live memory", "", Format::bytes,
                Better::less,
                "Largest over program steps of each device, summed over the devices of a replica.",
                bytesOf(&Memory::notAlwaysLivePeak)});
  registry.add({"memory_bytes", "Memory", "", Format::bytes, Better::less,
                "Bytes used on the fullest device, the largest over all executables.",
                ofMemory(fullestDevice), "memory"});
  registry.add({"memory_use", "Span ÷ capacity", "", Format::fraction, Better::less,
                "Largest address span of a tile or card ÷ its capacity; above 1 it does not fit.",
                largestUse});
}

}  // namespace pipescope::figures
