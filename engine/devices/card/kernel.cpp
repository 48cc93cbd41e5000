#include "engine/devices/card/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "engine/devices/card/expert_exchange.h"
#include "engine/devices/core/titles.h"
#include "engine/devices/hbm_card/host_copy.h"
#include "engine/devices/hbm_card/map_instructions.h"
#include "engine/devices/hbm_card/product.h"

namespace pipescope::devices::card {
namespace {

using hbm_card::checkElements;
using hbm_card::extents;

/// (R: special functions, which vector engines look up and interpolate.)
constexpr hbm_card::SpecialFunctions kSpecialFunctions{.reciprocal = 8,
                                                       .divide = 9,
                                                       .sqrt = 8,
                                                       .rsqrt = 8,
                                                       .exp = 10,
                                                       .fastExp = 10,
                                                       .log = 12,
                                                       .pow = 24,
                                                       .remainder = 12,
                                                       .tanh = 12,
                                                       .sigmoid = 12,
                                                       .erf = 14,
                                                       .sin = 14,
                                                       .cos = 14,
                                                       .tan = 37,
                                                       .asin = 14,
                                                       .atan = 14,
                                                       .cast = 2};

EngineKernel vectorKernel(const CardContext& context, const std::string& name, std::int64_t elements,
                          double instructions) {
  EngineKernel kernel;
  kernel.engine = Engine::vector;
  kernel.name = name;
  kernel.arithmetic = vectorSeconds(context.card, elements, instructions);
  return kernel;
}

base::Status checkType(ElementType type, const CardContext& context) {
  const bool missing = type == ElementType::float64 ||
                       (type == ElementType::float16 && context.card.peakFp16 <= 0) ||
                       (graph::isFloat8(type) && context.card.peakFp8 <= 0) ||
                       (type == ElementType::float4_121 && context.card.peakFp4 <= 0);
  if (!missing) return {};
  return base::badInput(fmt::format("{}: {} does not compute in {}; use --precision bfloat16 or float32.",
                                    context.what, context.card.name, toString(type)));
}

/// Bytes that move besides those of a row that lies anywhere, because memory is read in whole cache lines.
std::int64_t wastedOf(const Card& card, std::int64_t rowBytes) {
  return (rowBytes + card.cacheLine - 1) / card.cacheLine * card.cacheLine - rowBytes;
}

base::Result<EngineKernel> lower(const ops::Contraction& work, const CardContext& context) {
  PIPESCOPE_TRY(checkElements("number of channels", {work.groups, work.inputChannels, work.outputChannels},
                              context.what));
  PIPESCOPE_TRY(checkElements("number of positions", {work.batch, extents(work.field)}, context.what));
  PIPESCOPE_TRY(checkElements("number of outputs", {work.batch, extents(work.output)}, context.what));
  PIPESCOPE_TRY(checkElements("size of the kernel", work.kernel, context.what));
  PIPESCOPE_TRY(checkType(work.type, context));
  if (context.card.peak(work.type) <= 0)
    return base::badInput(fmt::format("{}: {} does not multiply {}; use --precision bfloat16 or float32.",
                                      context.what, context.card.name, toString(work.type)));
  EngineKernel kernel;
  kernel.engine = Engine::matrix;
  kernel.name = work.kernel.size() > 1 ? "Convolve" : work.groups > 1 ? "BatchGemm" : "Gemm";
  kernel.arithmetic = productSeconds(context.card, work);
  return kernel;
}

base::Result<EngineKernel> lower(const ops::Map& work, const CardContext& context) {
  PIPESCOPE_TRY(checkType(work.type, context));
  PIPESCOPE_TRY(checkElements("number of elements", {work.elements}, context.what));
  PIPESCOPE_TRY(checkElements("number of operands", {work.operands}, context.what));
  const auto more = static_cast<double>(std::max<std::int64_t>(0, work.operands - 2));
  EngineKernel kernel = vectorKernel(context, titleOf(work.function), work.elements,
                                     hbm_card::instructionsOf(work, kSpecialFunctions).instructions + more);
  kernel.elementwise = true;
  return kernel;
}

base::Result<EngineKernel> lower(const ops::Reduce& work, const CardContext& context) {
  PIPESCOPE_TRY(checkType(work.type, context));
  PIPESCOPE_TRY(checkElements("number of elements", {work.outputs, work.depth}, context.what));
  EngineKernel kernel = vectorKernel(context, "Reduce", work.outputs * work.depth, 1);
  // X: a block of threads keeps a row of up to 64 KB in its registers and shared memory, and uses the result
  // in the same kernel.
  constexpr std::int64_t kRow = 65536;
  kernel.barrier = !work.contiguous || work.depth * graph::sizeOf(work.type) > kRow;
  return kernel;
}

base::Result<EngineKernel> lower(const ops::Pool& work, const CardContext& context) {
  PIPESCOPE_TRY(checkType(work.type, context));
  PIPESCOPE_TRY(checkElements("number of channels", {work.batch, work.channels}, context.what));
  PIPESCOPE_TRY(checkElements("number of outputs", work.output, context.what));
  PIPESCOPE_TRY(checkElements("size of the kernel", work.kernel, context.what));
  PIPESCOPE_TRY(checkElements("number of positions", work.field, context.what));
  const std::int64_t outputs = work.batch * work.channels * extents(work.output);
  const std::int64_t inputs = work.batch * work.channels * extents(work.field);
  const std::int64_t window = extents(work.kernel);
  // R: the gradient also compares with the maximum, or multiplies by the share.
  EngineKernel kernel = vectorKernel(context, work.backward ? "PoolGradient" : "Pool", outputs,
                                     static_cast<double>(window) * (work.backward ? 2 : 1));
  kernel.onChipBytes = std::max<std::int64_t>(0, outputs * window - inputs) * graph::sizeOf(work.type);
  return kernel;
}

base::Result<EngineKernel> lower(const ops::Gather& work, const CardContext& context) {
  PIPESCOPE_TRY(checkElements("number of elements", {work.rows, work.rowElements}, context.what));
  EngineKernel kernel = vectorKernel(context, "Gather", work.rows * work.rowElements, 2);
  const std::int64_t row = work.rowElements * graph::sizeOf(work.type);
  kernel.wastedBytes = work.rows * wastedOf(context.card, row);
  kernel.tableBytes = work.tableRows * row;
  kernel.pickedBytes = work.rows * row;
  return kernel;
}

base::Result<EngineKernel> lower(const ops::Scatter& work, const CardContext& context) {
  PIPESCOPE_TRY(checkElements("number of elements", {work.rows, work.rowElements}, context.what));
  const std::int64_t row = work.rowElements * graph::sizeOf(work.type);
  EngineKernel kernel =
      vectorKernel(context, "Scatter", work.rows * work.rowElements, work.accumulate ? 4 : 2);
  // A line is read before a part of it is written.
  kernel.wastedBytes = 2 * work.rows * wastedOf(context.card, row);
  if (work.accumulate) kernel.againBytes = work.rows * row;
  return kernel;
}

base::Result<EngineKernel> lower(const ops::Rearrange& work, const CardContext& context) {
  PIPESCOPE_TRY(checkElements("number of elements", {work.elements}, context.what));
  PIPESCOPE_TRY(checkElements("length of a run", {work.runElements}, context.what));
  const std::int64_t run = std::min(work.runElements, work.elements) * graph::sizeOf(work.type);
  // Tiles of a transposition are turned on the chip, so each line comes from HBM once.
  const bool whole = run >= context.card.cacheLine;
  EngineKernel kernel = vectorKernel(context, whole ? "Copy" : "Transpose", work.elements, whole ? 1 : 2);
  kernel.elementwise = whole;
  return kernel;
}

base::Result<EngineKernel> lower(const ops::Sort& work, const CardContext& context) {
  PIPESCOPE_TRY(checkElements("number of elements", {work.rows, work.rowElements}, context.what));
  const double levels =
      std::ceil(std::log2(static_cast<double>(std::max<std::int64_t>(2, work.rowElements))));
  const std::int64_t elements = work.rows * work.rowElements;
  EngineKernel kernel = vectorKernel(context, "Sort", elements, 4 * levels * (levels + 1) / 2);
  kernel.workspace = 2 * elements * graph::sizeOf(work.type);
  return kernel;
}

base::Result<EngineKernel> lower(const ops::Random& work, const CardContext& context) {
  PIPESCOPE_TRY(checkElements("number of elements", {work.elements}, context.what));
  EngineKernel kernel = vectorKernel(context, "Random", work.elements, 10);  // R: a counter-based generator
  kernel.elementwise = true;
  return kernel;
}

bool forwards(const ops::Collective& work, const ExpertOptions& options, const Network::Spread& spread) {
  using enum ExpertOptions::Exchange;
  if (work.experts.experts <= 0 || spread.boxes * spread.mostInBox < 2) return false;
  return options.exchange == forwarded || (options.exchange == automatic && spread.boxes > 1);
}

/// Bytes of the tokens of a card that go to experts, each of them once.
double tokenBytes(const ops::Collective& work) {
  return static_cast<double>(work.elements * graph::sizeOf(work.type)) /
         static_cast<double>(work.experts.perToken);
}

base::Result<EngineKernel> lower(const ops::Collective& work, const CardContext& context) {
  PIPESCOPE_TRY(checkElements("number of elements", {work.elements}, context.what));
  const std::vector<int> group = context.mesh.group(context.device, work);
  const std::int64_t bytes = work.elements * graph::sizeOf(work.type);
  EngineKernel kernel;
  kernel.engine = Engine::network;
  kernel.name = ops::toString(work.kind);
  kernel.beside = work.experts.experts > 0 && context.experts.overlap;
  const bool divides =
      work.kind == ops::Collective::Kind::allGather || work.kind == ops::Collective::Kind::reduceScatter;
  if (context.experts.overlapTensor && divides && work.axis == model::MeshAxis::tensor)
    kernel.parts = static_cast<std::int64_t>(group.size());
  const Network::Spread spread = context.network.spreadOf(group);
  kernel.arithmetic = collectiveTime(work, context.experts, context.network, group).total;
  if (forwards(work, context.experts, spread)) {
    const ExpertTraffic traffic =
        expertTraffic(tokenBytes(work), work.experts, spread.boxes, spread.mostInBox);
    kernel.bytesIn = kernel.bytesOut = std::llround(traffic.outside + traffic.inside);
    return kernel;
  }
  kernel.bytesIn = kernel.bytesOut =
      ops::sentBytes(work.kind, bytes, static_cast<std::int64_t>(group.size()));
  return kernel;
}

base::Result<EngineKernel> lower(const ops::HostCopy& work, const CardContext& context) {
  return hbm_card::lowerHostCopy(work, context.card, context.what);
}

}  // namespace

hbm_card::CollectiveTime collectiveTime(const ops::Collective& work, const ExpertOptions& experts,
                                        const Network& network, const std::vector<int>& group) {
  if (forwards(work, experts, network.spreadOf(group)))
    return network.expertTime(tokenBytes(work), work.experts, group);
  return network.collectiveTime(work.kind, static_cast<double>(work.elements * graph::sizeOf(work.type)),
                                group);
}

base::Result<EngineKernel> lowerWork(const ops::WorkItem& item, const CardContext& context) {
  return std::visit([&](const auto& work) { return lower(work, context); }, item);
}

double vectorSeconds(const Card& card, std::int64_t elements, double instructions) {
  return 2 * static_cast<double>(elements) * instructions / card.vectorFlops;
}

double productSeconds(const Card& card, const ops::Contraction& work) {
  const hbm_card::Product product = hbm_card::productOf(work);
  const auto padded = [&](std::int64_t side) {
    return static_cast<double>((side + card.productTile - 1) / card.productTile * card.productTile);
  };
  const double flops = 2 * padded(product.m) * padded(product.n) * static_cast<double>(product.k) *
                       static_cast<double>(product.batch);
  return flops / card.reachable(work.type) + card.fillSeconds();
}

}  // namespace pipescope::devices::card
