// Figures of the devices' memory that a model needs.
#include "profiler/analysis/memory/memory.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "profiler/base/number_text.h"
#include "profiler/figures/figure.h"
#include "profiler/figures/memory_interval.h"

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

/// Tokens that frameworks count and allocate as one block of a cache (vLLM on Gaudis).
constexpr std::int64_t kCacheBlock = 128;

/// Caches of keys and values on the devices, and what has room beside everything else.
struct CacheRoom {
  double bytesPerToken = 0;  ///< over all devices
  std::int64_t tokens = 0;   ///< of a sample
  std::int64_t blocks = 0;   ///< that fit on the device with the least room
  std::int64_t samples() const { return blocks / ((tokens + kCacheBlock - 1) / kCacheBlock); }
};
/// Nothing: there are no caches.
std::optional<CacheRoom> cacheRoom(const Analyses& from) {
  if (from.catalog == nullptr || from.memory == nullptr) return std::nullopt;
  const model::Executable* executable = from.catalog->executable(from.executable);
  const std::optional<std::int64_t> tokens = base::wholeNumberOf(
      from.catalog->property("cache_tokens_per_sample." + std::to_string(from.executable.value)));
  if (executable == nullptr || !tokens || *tokens <= 0) return std::nullopt;
  const std::int64_t held = *tokens * executable->microBatchSize * executable->microBatches;
  CacheRoom room;
  room.tokens = *tokens;
  std::optional<std::int64_t> least;
  for (const analysis::DeviceMemory& device : from.memory->devices) {
    const auto cache = device.byCategory.find("cache");
    if (cache == device.byCategory.end() || cache->second.count <= 0 || held <= 0) continue;
    const double ofToken = static_cast<double>(cache->second.count) / static_cast<double>(held);
    const std::int64_t free =
        device.bytesPerUnit.count * device.units - device.totalIncludingGaps.count + cache->second.count;
    const auto blocks = static_cast<std::int64_t>(static_cast<double>(std::max<std::int64_t>(free, 0)) /
                                                  (ofToken * static_cast<double>(kCacheBlock)));
    room.bytesPerToken += ofToken;
    least = std::min(least.value_or(blocks), blocks);
  }
  if (!least) return std::nullopt;
  room.blocks = *least;
  return room;
}

/// An end of the interval of a figure of memory.
auto endOf(Cell (*figure)(const Analyses&), double IntervalFactors::*end) {
  return [figure, end](const Analyses& from) {
    const auto bytes = numberIn(figure(from));
    const auto interval = bytes ? memoryInterval(from) : std::nullopt;
    return interval ? Cell(static_cast<std::int64_t>(std::llround(*bytes * (interval->factors.*end))))
                    : Cell();
  };
}

Cell maxTileBytes(const Analyses& from) {
  return ofMemory([](const Memory& memory) { return memory.maxUnit.count; })(from);
}
Cell memoryBytes(const Analyses& from) {
  return ofMemory(fullestDevice)(from);
}

template <class Value>
auto ofCache(Value value) {
  return [value](const Analyses& from) {
    const std::optional<CacheRoom> room = cacheRoom(from);
    return room ? Cell(value(*room)) : Cell();
  };
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
                maxTileBytes});
  registry.add(
      {"max_tile_least_bytes", "Fullest tile or device, 80 % from", "80 %", Format::bytes, Better::less,
       "The true bytes on the fullest tile or device lie between this and the other end with 80 %, judged "
       "by the errors of what was compared with measurements; empty where nothing is modelled.",
       endOf(maxTileBytes, &IntervalFactors::least)});
  registry.add({"max_tile_most_bytes", "Fullest tile or device, 80 % to", "80 % to", Format::bytes,
                Better::less, "The upper end of that interval.",
                endOf(maxTileBytes, &IntervalFactors::most)});
  registry.add({"memory_interval_basis", "Interval of memory from", "interval from", Format::plain,
                Better::neither, "The comparisons that the interval of memory is taken from.",
                [](const Analyses& from) {
                  const auto interval = memoryInterval(from);
                  return interval ? Cell(interval->basis) : Cell();
                }});
  registry.add({"fits_share", "Probability that it fits", "probability", Format::fraction, Better::more,
                "Probability that each tile or card has as much memory as it truly needs, by the interval of "
                "memory; empty where nothing is modelled.",
                [](const Analyses& from) { return cellOf(fitsShare(from)); }});
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
                "Bytes used on the fullest device, the largest over all executables.", memoryBytes,
                "memory"});
  registry.add({"memory_least_bytes", "Memory, 80 % from", "", Format::bytes, Better::less,
                "The true bytes on the fullest device lie between this and the other end with 80 %.",
                endOf(memoryBytes, &IntervalFactors::least)});
  registry.add({"memory_most_bytes", "Memory, 80 % to", "", Format::bytes, Better::less,
                "The upper end of that interval.", endOf(memoryBytes, &IntervalFactors::most)});
  registry.add({"memory_use", "Span ÷ capacity", "", Format::fraction, Better::less,
                "Largest address span of a tile or card ÷ its capacity; above 1 it does not fit.",
                largestUse});
  registry.add(
      {"cache_block_bytes", "Cache of 128 tokens", "", Format::bytes, Better::less,
       "Keys and values of a block of 128 tokens; sum over the devices of a replica, of ranks that do equal "
       "work one.",
       ofCache([](const CacheRoom& room) {
         return static_cast<std::int64_t>(std::llround(room.bytesPerToken * kCacheBlock));
       })});
  registry.add(
      {"cache_blocks", "Blocks of the cache that fit", "", Format::count, Better::more,
       "Blocks of 128 tokens for which the device with the least room has memory, beside all that is not "
       "cache. A larger batch needs more of that, too.",
       ofCache([](const CacheRoom& room) { return room.blocks; })});
  registry.add({"cache_samples", "Samples that the cache can hold", "", Format::count, Better::more,
                "Blocks that fit ÷ blocks of a sample of full length, in one replica.",
                ofCache([](const CacheRoom& room) { return room.samples(); })});
}

}  // namespace pipescope::figures
