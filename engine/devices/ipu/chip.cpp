#include "engine/devices/ipu/chip.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/devices/core/float8_figures.h"

namespace pipescope::devices::ipu {

std::int64_t Chip::vectorWidth(ElementType type) const {
  return std::max<std::int64_t>(1, vectorBytes / std::min<std::int64_t>(4, graph::sizeOf(type)));
}

bool isHalf(ElementType type) {
  return type == ElementType::float16;
}

double syncSeconds(const Chip& chip, int devices) {
  const int hops = 1 + devices / 4;
  return chip.syncHopSeconds * hops * 2;
}

base::Result<Chip> readChip(const FigureFile& file) {
  FigureReader read(file);
  Chip chip;
  chip.name = file.name;
  chip.description = file.description;
  chip.tiles = read.count("tiles", "tiles", 1 << 20);
  chip.workers = read.count("workers_per_tile", "workers", 64);
  chip.bytesPerTile = read.count("tile_memory", "B", std::int64_t{1} << 32);
  chip.interleavedStart = read.count("interleaved_start", "B", std::int64_t{1} << 32);
  chip.elementBytes = read.count("memory_element", "B", std::int64_t{1} << 32);
  chip.clockHz = read.count("clock", "Hz", 1'000'000'000'000);
  chip.ampHalf = read.count("amp_fp16", "MAC/cycle", 65536);
  chip.ampHalfFloat = read.count("amp_fp16_fp32", "MAC/cycle", 65536);
  chip.ampFloat = read.count("amp_fp32", "MAC/cycle", 65536);
  chip.ampQuarter = read.countOr("amp_fp8", "MAC/cycle", 65536, 0);
  const Float8Figures float8 = readFloat8(read);
  chip.vectorBytes = read.count("vector_width", "B", 4096);
  chip.wideLoadBytes = read.count("wide_load", "B", 4096);
  chip.weightLoadBytes = chip.vectorBytes;
  read.shown("memory_bandwidth", "B/s", {"vector_width", "wide_load", "clock", "tiles"});
  read.shown("exchange_bandwidth", "B/s", {"exchange_width", "clock", "tiles"});
  chip.exchangeBytesPerCycle = read.positive("exchange_width", "B/cycle");
  chip.exchangePairFactor = read.positive("exchange_pair_factor", "1", 16);
  chip.computeSetOverhead = static_cast<std::int64_t>(read.notNegative("compute_set_overhead", "cycles"));
  chip.exchangeOverhead = static_cast<std::int64_t>(read.notNegative("exchange_overhead", "cycles"));
  chip.syncHopSeconds = read.notNegative("sync_hop", "s");
  chip.hostBytesPerSecond = read.positive("host_bandwidth", "B/s");
  chip.hostLatencySeconds = read.notNegative("host_latency", "s");
  chip.callSeconds = read.notNegative("call_overhead", "s");
  chip.stackBytes = static_cast<std::int64_t>(read.notNegative("stack", "B"));
  PIPESCOPE_TRY(read.status());
  if (chip.ampQuarter > 0) {
    // (C: PopLibs has vertices for products of quarter numbers with half sums only.)
    PIPESCOPE_ASSIGN(
        chip.float8,
        float8Support(file, float8, {.beside = ElementType::float16, .sums = ElementType::float16}));
  }
  for (const auto& [figure, bytes] :
       {std::pair("vector_width", chip.vectorBytes), {"wide_load", chip.wideLoadBytes}}) {
    if (bytes >= 8 && std::has_single_bit(static_cast<std::uint64_t>(bytes))) continue;
    return base::badInput(fmt::format("{}: figure \"{}\" is {}, but must be a power of two from 8 B on.",
                                      file.file, figure, bytes));
  }
  if (chip.interleavedStart >= chip.bytesPerTile) {
    return base::badInput(fmt::format("{}: interleaved_start ({} B) must lie inside tile_memory ({} B).",
                                      file.file, chip.interleavedStart, chip.bytesPerTile));
  }
  return chip;
}

}  // namespace pipescope::devices::ipu
