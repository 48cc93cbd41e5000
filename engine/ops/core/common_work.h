#pragma once
// The Work that operators of several groups share.
#include <vector>

#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// y[i] (m×n) = a[i] (m×k) · b[i] (k×n) for each of `matrices`, or one of its gradients.
inline Contraction productsOf(std::int64_t matrices, std::int64_t m, std::int64_t k, std::int64_t n,
                              Contraction::Phase phase, ElementType type) {
  Contraction c;
  c.phase = phase;
  c.groups = matrices;
  c.inputChannels = k;
  c.outputChannels = n;
  c.field = c.output = {m};
  c.kernel = c.stride = c.dilation = {1};
  c.padding = {0, 0};
  c.type = type;
  return c;
}

/// The Work of operators that compute nothing on a device: they rename memory, or shapes alone decide their
/// result.
inline std::vector<Work> noWork(const OperatorCall&) {
  return {};
}

}  // namespace pipescope::ops
