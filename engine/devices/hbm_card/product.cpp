#include "engine/devices/hbm_card/product.h"

#include <algorithm>

#include "engine/graph/tensor_type.h"

namespace pipescope::devices::hbm_card {

std::int64_t extents(const std::vector<std::int64_t>& list) {
  std::int64_t product = 1;
  for (const std::int64_t extent : list) product *= extent;
  return product;
}

Product productOf(const ops::Contraction& work) {
  Product p;
  const std::int64_t taps = extents(work.kernel);
  switch (work.phase) {
    case ops::Contraction::Phase::forward:
      p.m = work.batch * extents(work.output), p.n = work.outputChannels;
      break;
    case ops::Contraction::Phase::inputGradient:
      p.m = work.batch * extents(work.field), p.n = work.inputChannels;
      break;
    case ops::Contraction::Phase::weightGradient:
      p.m = work.inputChannels * taps, p.n = work.outputChannels;
      break;
  }
  p.batch = work.groups;
  p.k = std::max<std::int64_t>(1, work.multiplyAdds() / work.groups / p.m / p.n);
  p.groups = work.groups > 1 && (work.kernel.size() > 1 || work.batch > 1);
  return p;
}

Operands operandsOf(const ops::Contraction& work) {
  const auto size = static_cast<double>(graph::sizeOf(work.type));
  const auto groups = static_cast<double>(work.groups);
  const double input =
      groups * static_cast<double>(work.batch * extents(work.field) * work.inputChannels) * size;
  const double weight =
      groups * static_cast<double>(work.inputChannels * work.outputChannels * extents(work.kernel)) * size;
  const double output =
      groups * static_cast<double>(work.batch * extents(work.output) * work.outputChannels) * size;
  if (work.phase == ops::Contraction::Phase::forward) return {input, weight, output};
  if (work.phase == ops::Contraction::Phase::inputGradient) return {output, weight, input};
  return {input, output, weight};
}

}  // namespace pipescope::devices::hbm_card
