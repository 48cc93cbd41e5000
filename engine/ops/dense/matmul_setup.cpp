#include "engine/ops/dense/matmul_setup.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/ops/core/broadcast.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {

using base::badInput;

Result<MatMulSetup> matMulSetup(const OperatorCall& call, Shape a, Shape b) {
  const auto refused = [&] {
    return badInput(
        fmt::format("{}: cannot multiply {} by {}", call.title(), extentsText(a), extentsText(b)));
  };
  if (a.empty() || b.empty() || a.size() > Broadcast::kMostAxes || b.size() > Broadcast::kMostAxes)
    return refused();
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  MatMulSetup setup;
  setup.m = a[a.size() - 2];
  setup.k = a.back();
  setup.n = b.back();
  if (b[b.size() - 2] != setup.k) return refused();
  const Shape stackA(a.begin(), a.end() - 2), stackB(b.begin(), b.end() - 2);
  Shape stack(std::max(stackA.size(), stackB.size()), 1);
  for (const Shape* each : {&stackA, &stackB}) {
    for (std::size_t i = 0; i < each->size(); ++i) {
      std::int64_t& extent = stack[stack.size() - each->size() + i];
      if ((*each)[i] == 1 || (*each)[i] == extent) continue;
      if (extent != 1) return refused();
      extent = (*each)[i];
    }
  }
  setup.matrices = graph::elementCount(stack);
  setup.result = stack;
  if (!row) setup.result.push_back(setup.m);
  if (!column) setup.result.push_back(setup.n);
  PIPESCOPE_TRY(requireSize(call, setup.result));
  if (graph::elementCount(stackB) == 1) {
    // All rows of all left matrices form one product if there is a single right matrix.
    setup.m *= setup.matrices;
    setup.matrices = 1;
    setup.left = setup.right = {0};
    return setup;
  }
  const Broadcast places(stack, {stackA, stackB});
  places.forRuns([&](std::int64_t, const auto& place) {
    for (std::int64_t i = 0; i < places.run(); ++i) {
      setup.left.push_back(place[0] + i * places.step(0));
      setup.right.push_back(place[1] + i * places.step(1));
    }
  });
  return setup;
}

}  // namespace pipescope::ops
