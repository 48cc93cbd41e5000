#include "engine/devices/card/card.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/devices/core/float8_figures.h"

namespace pipescope::devices::card {

double Card::peak(ElementType type) const {
  switch (type) {
    case ElementType::bfloat16:
      return peakBf16;
    case ElementType::float32:
      return peakFp32;
    case ElementType::float16:
      return peakFp16;
    case ElementType::float4_121:
      return peakFp4;
    default:
      return graph::isFloat8(type) ? peakFp8 : 0;
  }
}

double Card::reachable(ElementType type) const {
  return peak(type) * (type == ElementType::float4_121 ? productEfficiencyFp4
                       : graph::isFloat8(type)         ? productEfficiencyFp8
                                                       : productEfficiency);
}

void recordGraphs(Card& card, const std::string& text) {
  if (text == "auto") return;
  const bool all = text == "all";
  // Without a graph, the host issues kernel after kernel while the card works on earlier ones.
  card.kernelIssue = all ? 0 : card.kernelStart;
  card.productIssue = all ? 0 : card.productStart;
  card.recipeLaunch = all ? card.graphLaunch : 0;
  card.recorded.clear();
  if (all || text == "none") return;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string pattern = text.substr(at, end - at);
    const std::size_t first = pattern.find_first_not_of(' ');
    if (first != std::string::npos)
      card.recorded.push_back(pattern.substr(first, pattern.find_last_not_of(' ') + 1 - first));
    at = end + 1;
  }
}

base::Result<Card> readCard(const FigureFile& file) {
  FigureReader read(file);
  constexpr std::int64_t kSide = 1 << 20, kMemory = std::int64_t{1} << 50;
  Card card;
  card.name = file.name;
  card.description = file.description;
  card.peakBf16 = read.positive("peak_bf16", "FLOP/s");
  card.peakFp32 = read.positive("peak_fp32", "FLOP/s");
  card.peakFp16 = read.positiveOr("peak_fp16", "FLOP/s", 0);
  card.peakFp8 = read.positiveOr("peak_fp8", "FLOP/s", 0);
  card.peakFp4 = read.positiveOr("peak_fp4", "FLOP/s", 0);
  const bool blocks = read.has("float8_blocks") && read.notNegative("float8_blocks", "1") > 0;
  const Float8Figures float8 = readFloat8(read);
  card.productEfficiency = read.positive("product_efficiency", "1", 1);
  card.productEfficiencyFp8 = read.has("product_efficiency_fp8")
                                  ? read.positive("product_efficiency_fp8", "1", 1)
                                  : card.productEfficiency;
  card.productEfficiencyFp4 = read.has("product_efficiency_fp4")
                                  ? read.positive("product_efficiency_fp4", "1", 1)
                                  : card.productEfficiencyFp8;
  card.productHalfFlops = read.notNegative("product_half_size", "FLOP");
  card.productTile = read.count("product_tile", "elements", kSide);
  card.vectorFlops = read.positive("vector_fp32", "FLOP/s");
  card.onChipBytes = read.count("on_chip", "B", kMemory);
  card.onChipBytesPerSecond = read.positive("on_chip_bandwidth", "B/s");
  card.hbmBytes = read.count("hbm", "B", kMemory);
  card.hbmReserved = static_cast<std::int64_t>(read.notNegative("hbm_reserved", "B"));
  if (read.has("thread_workspace"))
    card.threadWorkspace = static_cast<std::int64_t>(read.notNegative("thread_workspace", "B"));
  if (read.has("shared_workspace"))
    card.sharedWorkspace = static_cast<std::int64_t>(read.notNegative("shared_workspace", "B"));
  if (read.has("group_streams"))
    card.groupStreams = static_cast<std::int64_t>(read.notNegative("group_streams", "1"));
  card.hbmBytesPerSecond = read.positive("hbm_bandwidth", "B/s");
  card.hbmEffective = card.hbmBytesPerSecond * read.positive("hbm_efficiency", "1", 1);
  card.cacheLine = read.count("cache_line", "B", kSide);
  const double start = read.positive("kernel_start", "s"),
               graphStart = read.positive("kernel_start_in_graph", "s");
  const bool graphs = read.notNegative("uses_graphs", "1") > 0;
  card.kernelStart = start;
  card.productStart = read.has("product_start") ? read.notNegative("product_start", "s") : start;
  card.graphLaunch = read.notNegative("graph_launch", "s");
  card.callOverhead = read.notNegative("call_overhead", "s");
  card.skipsMaskedAttention =
      !read.has("skips_masked_attention") || read.notNegative("skips_masked_attention", "1") > 0;
  card.fusesAttentionFrom = read.count("fuses_attention_from", "tokens", kSide);
  card.hostBytesPerSecond = read.positive("host_bandwidth", "B/s");
  card.hostLatency = read.notNegative("host_latency", "s");
  PIPESCOPE_TRY(read.status());
  if (graphStart > start)
    return base::badInput(fmt::format("{}: kernel_start_in_graph ({} s) must be at most kernel_start ({} s).",
                                      file.file, graphStart, start));
  if (card.hbmReserved >= card.hbmBytes)
    return base::badInput(fmt::format("{}: hbm_reserved ({} B) must be less than hbm ({} B).", file.file,
                                      card.hbmReserved, card.hbmBytes));
  card.oneStream = true;
  card.kernelOverhead = graphStart;
  recordGraphs(card, graphs ? "all" : "none");
  card.onChipIsCache = true;
  card.sumsInPlace = true;         // C: Megatron-LM, core/distributed/param_and_grad_buffer.py
  card.productsAccumulate = true;  // C: Megatron-LM: --no-gradient-accumulation-fusion is off by default
  card.keepsOperandsAlone = true;  // C: Megatron-LM, core/fusions/fused_bias_swiglu.py
  card.replacesOperands = true;    // C: Megatron-LM, core/tensor_parallel/cross_entropy.py
  card.sliceBytes = card.onChipBytes;
  card.mostOperands = 16;  // X: most inputs of a kernel into which a compiler fuses elementwise operators
  if (card.peakFp8 > 0) {
    PIPESCOPE_ASSIGN(card.float8, float8Support(file, float8,
                                                {.beside = ElementType::bfloat16,
                                                 .sums = ElementType::float32,
                                                 .blocks = blocks,
                                                 .float4 = card.peakFp4 > 0}));
  }
  return card;
}

}  // namespace pipescope::devices::card
