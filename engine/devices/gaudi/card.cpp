#include "engine/devices/gaudi/card.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "engine/devices/core/float8_figures.h"

namespace pipescope::devices::gaudi {
namespace {

/// Geometries halve and double their sides, so sides and rates must be powers of two.
base::Status checkPowers(const FigureFile& file, const Card& card) {
  for (const auto& [figure, value] : {std::pair("mme_macs_bf16", card.macsBf16),
                                      {"mme_least_side", card.leastSide},
                                      {"mme_most_rows", card.mostRows},
                                      {"mme_products_per_engine", card.productsPerEngine},
                                      {"mme_least_packed_side", card.leastPackedSide},
                                      {"tpc_vector", card.vectorBytes},
                                      {"cache_line", card.cacheLine}}) {
    if (std::has_single_bit(static_cast<std::uint64_t>(value))) continue;
    return base::badInput(
        fmt::format("{}: figure \"{}\" is {}, but must be a power of two.", file.file, figure, value));
  }
  return {};
}

}  // namespace

std::int64_t Card::macs(ElementType type) const {
  switch (type) {
    case ElementType::bfloat16:
      return macsBf16;
    case ElementType::float32:
      return macsFp32;
    case ElementType::float16:
      return macsFp16;
    default:
      return graph::sizeOf(type) == 1 ? macsFp8 : 0;
  }
}

base::Result<Card> readCard(const FigureFile& file) {
  FigureReader read(file);
  Card card;
  card.name = file.name;
  card.description = file.description;
  constexpr std::int64_t kMacs = 1 << 26, kSide = 1 << 20, kMemory = std::int64_t{1} << 50;
  card.macsBf16 = read.count("mme_macs_bf16", "MAC/cycle", kMacs);
  card.macsFp32 = read.count("mme_macs_fp32", "MAC/cycle", kMacs);
  card.macsFp16 = read.countOr("mme_macs_fp16", "MAC/cycle", kMacs, 0);
  card.macsFp8 = read.countOr("mme_macs_fp8", "MAC/cycle", kMacs, 0);
  const Float8Figures float8 = readFloat8(read);
  card.engines = read.count("mme_engines", "engines", 1024);
  card.leastSide = read.count("mme_least_side", "MACs", kSide);
  card.mostRows = read.count("mme_most_rows", "MACs", kSide);
  card.productsPerEngine = read.count("mme_products_per_engine", "products", 64);
  card.leastPackedSide = read.count("mme_least_packed_side", "MACs", kSide);
  card.mmeHz = read.positive("mme_clock", "Hz");
  card.mmeSustainedHz = read.positiveOr("mme_sustained_clock", "Hz", card.mmeHz);
  card.rollUp = read.count("mme_rollup", "cycles", kSide);
  card.tpcs = read.count("tpcs", "TPCs", 4096);
  card.tpcHz = read.positive("tpc_clock", "Hz");
  // All engines share the clock that the card lowers while products run (C: hl-smi shows one clock of the
  // whole chip, clocks.current.soc, and stas00/ml-engineering, pull request 118, saw it drop).
  card.tpcSustainedHz = card.tpcHz * std::min(1.0, card.mmeSustainedHz / card.mmeHz);
  card.vectorBytes = read.count("tpc_vector", "B", kSide);
  card.localBytes = read.count("tpc_local_memory", "B", kMemory);
  card.accessInterval = read.positive("tpc_access_interval", "cycles");
  card.tpcLatency = read.positive("tpc_latency", "cycles");
  card.onChipBytes = read.count("sram", "B", kMemory);
  card.sramBytesPerSecond = read.positive("sram_bandwidth", "B/s");
  card.sramWriteBytesPerSecond = read.positiveOr("sram_write_bandwidth", "B/s", card.sramBytesPerSecond);
  card.sharedSramBytesPerSecond = read.positiveOr("shared_sram_bandwidth", "B/s", card.sramBytesPerSecond);
  card.sharedSramWriteBytesPerSecond =
      read.positiveOr("shared_sram_write_bandwidth", "B/s", card.sramWriteBytesPerSecond);
  card.sramGroups = read.countOr("sram_groups", "groups", 4096, 1);
  card.hbmBytes = read.count("hbm", "B", kMemory);
  card.hbmReserved = static_cast<std::int64_t>(read.notNegative("hbm_reserved", "B"));
  card.hbmBytesPerSecond = read.positive("hbm_bandwidth", "B/s");
  card.hbmEffective = card.hbmBytesPerSecond * read.positive("hbm_efficiency", "1", 1);
  card.cacheLine = read.count("cache_line", "B", kSide);
  card.dmaBytesPerSecond = read.positive("dma_bandwidth", "B/s");
  card.dmaLatency = read.notNegative("dma_latency", "s");
  card.dmaSliceFactor = read.positive("dma_slice_factor", "1", 16);
  card.operandsByCopy = read.notNegative("mme_operands_by_dma", "1") > 0;
  card.onChipIsCache = read.notNegative("sram_is_cache", "1") > 0;
  // C: NoAllocate is the default directive in node_cache_setter.cpp.
  card.resultsPassCache = card.onChipIsCache;
  card.mostOperands = 16;  // R: docs.habana.ai, tensor descriptors of a TPC kernel
  card.layeredBundles = read.notNegative("layered_bundles", "1") > 0;
  card.pipelinedBundles = read.notNegative("pipelined_bundles", "1") > 0;
  card.sliceBytes = read.count("slice_bytes", "B", kMemory);
  card.sliceExposure = read.notNegative("slice_exposure", "1");
  card.kernelOverhead = read.notNegative("kernel_overhead", "s");
  card.recipeLaunch = read.notNegative("recipe_launch", "s");
  card.callOverhead = read.notNegative("call_overhead", "s");
  card.hostBytesPerSecond = read.positive("host_bandwidth", "B/s");
  card.hostLatency = read.notNegative("host_latency", "s");
  card.portBytesPerSecond = read.positive("port_rate", "B/s");
  card.ports = read.count("ports", "ports", 4096);
  card.collectiveEfficiency = read.positive("collective_efficiency", "1", 1);
  card.collectiveLatency = read.notNegative("collective_latency", "s");
  card.sumBytesPerSecond = read.notNegative("sum_bandwidth", "B/s");
  card.collectiveSlice = read.count("collective_slice", "B", kMemory);
  PIPESCOPE_TRY(read.status());
  PIPESCOPE_TRY(checkPowers(file, card));
  if (card.macsFp8 > 0) {
    PIPESCOPE_ASSIGN(
        card.float8,
        float8Support(file, float8, {.beside = ElementType::bfloat16, .sums = ElementType::float32}));
  }
  if (card.hbmReserved >= card.hbmBytes)
    return base::badInput(fmt::format("{}: hbm_reserved ({} B) must be less than hbm ({} B).", file.file,
                                      card.hbmReserved, card.hbmBytes));
  if (card.leastSide > card.mostRows || card.mostRows * card.leastSide > card.macsBf16)
    return base::badInput(
        fmt::format("{}: mme_least_side ({}) must be at most mme_most_rows ({}), and both together at most "
                    "mme_macs_bf16 ({}).",
                    file.file, card.leastSide, card.mostRows, card.macsBf16));
  return card;
}

}  // namespace pipescope::devices::gaudi
