#include "engine/ops/core/work.h"

#include <utility>

namespace pipescope::ops {

std::int64_t Contraction::multiplyAdds() const {
  std::int64_t positions = batch * groups;
  for (const std::int64_t extent : transposed ? field : output) positions *= extent;
  std::int64_t taps = inputChannels * outputChannels;
  for (const std::int64_t extent : kernel) taps *= extent;
  return positions * taps;
}

Contraction transposedProduct(Contraction product) {
  using Phase = Contraction::Phase;
  const bool matrices = product.batch == 1 && product.field.size() == 1 && product.field == product.output &&
                        product.kernel.front() == 1 && product.stride.front() == 1 && !product.transposed;
  if (!matrices) return product;
  std::swap(product.field.front(), product.outputChannels);
  product.output = product.field;
  if (product.phase != Phase::forward) {
    product.phase = product.phase == Phase::inputGradient ? Phase::weightGradient : Phase::inputGradient;
  }
  return product;
}

const char* toString(Collective::Kind kind) {
  static constexpr const char* names[] = {"AllReduce", "ReduceScatter", "AllGather",
                                          "Broadcast", "AllToAll",      "RingSend"};
  return names[static_cast<std::size_t>(kind)];
}

std::int64_t sentBytes(Collective::Kind kind, std::int64_t bytes, std::int64_t chips) {
  using Kind = Collective::Kind;
  if (chips < 2) return 0;
  if (kind == Kind::ringSend) return bytes;
  const std::int64_t rounds = kind == Kind::allReduce || kind == Kind::broadcast ? 2 : 1;
  return rounds * (chips - 1) * bytes / chips;
}

std::string kindOf(const Work& work) {
  static constexpr const char* names[] = {"contraction", "map",        "reduce",    "pool",
                                          "gather",      "scatter",    "rearrange", "sort",
                                          "random",      "collective", "host_copy"};
  return names[work.item.index()];
}

namespace {
struct Flops {
  double operator()(const Contraction& c) const { return 2.0 * static_cast<double>(c.multiplyAdds()); }
  double operator()(const Map& m) const { return static_cast<double>(m.elements); }
  double operator()(const Reduce& r) const { return static_cast<double>(r.outputs * r.depth); }
  double operator()(const Pool& p) const {
    double count = static_cast<double>(p.batch * p.channels);
    for (const std::int64_t extent : p.output) count *= static_cast<double>(extent);
    for (const std::int64_t extent : p.kernel) count *= static_cast<double>(extent);
    return count;
  }
  double operator()(const Scatter& s) const {
    return s.accumulate ? static_cast<double>(s.rows * s.rowElements) : 0;
  }
  double operator()(const Collective& c) const { return static_cast<double>(c.elements); }
  double operator()(const auto&) const { return 0; }
};
}  // namespace

double flopsOf(const Work& work) {
  return static_cast<double>(work.repeat) * std::visit(Flops(), work.item);
}

}  // namespace pipescope::ops
