#include "engine/ops/core/broadcast.h"

#include <fmt/format.h>

#include <algorithm>

namespace pipescope::ops {
namespace {

const void* bytesBehind(const void* start, std::int64_t bytes) {
  return static_cast<const std::byte*>(start) + bytes;
}
void* bytesBehind(void* start, std::int64_t bytes) {
  return static_cast<std::byte*>(start) + bytes;
}

}  // namespace

using base::badInput;

Result<Shape> broadcastInputs(const OperatorCall& call) {
  Shape result;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.has(i))
      return badInput(fmt::format("{}: input {} is left out, but is needed", call.title(), i));
    const Shape& shape = call.input(i).shape;
    if (shape.size() > Broadcast::kMostAxes)
      return badInput(fmt::format("{}: input {} has {} axes; it may have {}", call.title(), i, shape.size(),
                                  Broadcast::kMostAxes));
    if (shape.size() > result.size()) result.insert(result.begin(), shape.size() - result.size(), 1);
    const std::size_t shift = result.size() - shape.size();
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      std::int64_t& extent = result[shift + axis];
      if (shape[axis] == extent || shape[axis] == 1) continue;
      if (extent != 1) {
        return badInput(fmt::format(
            "{}: input {} is {}, which does not spread over {} of the inputs before it on axis {}",
            call.title(), i, graph::toString(call.input(i)), extent, shift + axis));
      }
      extent = shape[axis];
    }
  }
  return result;
}

Broadcast::Broadcast(const Shape& result, const std::vector<Shape>& operands) {
  PIPESCOPE_CHECK(operands.size() <= kMostOperands && result.size() <= kMostAxes,
                  "too many operands or axes to broadcast");
  // The axes of the result with the strides of the operands, innermost first.
  std::vector<Axis> axes;
  std::array<std::int64_t, kMostOperands> below;
  below.fill(1);
  for (std::size_t back = 0; back < result.size(); ++back) {
    Axis axis;
    axis.extent = result[result.size() - 1 - back];
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Shape& shape = operands[i];
      const std::int64_t own = back < shape.size() ? shape[shape.size() - 1 - back] : 1;
      PIPESCOPE_CHECK(own == axis.extent || own == 1, "an operand does not spread over the result");
      axis.stride[i] = own == 1 ? 0 : below[i];
      below[i] *= own;
    }
    if (axis.extent == 1) continue;
    const bool merges = !axes.empty() && [&] {
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (axis.stride[i] != axes.back().stride[i] * axes.back().extent) return false;
      }
      return true;
    }();
    if (merges) {
      axes.back().extent *= axis.extent;
    } else {
      axes.push_back(axis);
    }
  }
  if (axes.empty()) {
    axes.push_back({});
    axes[0].stride.fill(1);  // scalars: runs of one element
  }
  run_ = axes[0].extent;
  steps_ = axes[0].stride;
  for (std::size_t i = axes.size(); i-- > 1;) {
    outer_.push_back(axes[i]);
    runs_ *= axes[i].extent;
  }
  if (graph::elementCount(result) == 0) runs_ = 0;
}

void forPairRuns(const Broadcast& setup, const PairLoop& loop, const void* a, const void* b, void* y) {
  const std::int64_t count = setup.run();
  setup.forRuns([&](std::int64_t first, const auto& place) {
    loop.run(loop.f, bytesBehind(a, place[0] * loop.sizeA), setup.step(0),
             bytesBehind(b, place[1] * loop.sizeB), setup.step(1), bytesBehind(y, first * loop.sizeY), count);
  });
}

void forPairRuns(const KernelArguments& arguments, const Broadcast& setup, const PairLoop& loop,
                 const void* a, const void* b, void* y) {
  const std::int64_t run = setup.run();
  const std::int64_t ofA = setup.rowsSharing(0, 1), ofB = setup.rowsSharing(1, 0);
  if (setup.isOneRun()) {
    const std::int64_t p = setup.step(0), q = setup.step(1);
    forRanges(arguments, run, [&](std::int64_t first, std::int64_t end) {
      loop.run(loop.f, bytesBehind(a, first * p * loop.sizeA), p, bytesBehind(b, first * q * loop.sizeB), q,
               bytesBehind(y, first * loop.sizeY), end - first);
    });
  } else if (ofA > 0 || ofB > 0) {
    forItems(arguments, ofA + ofB, run, [&](std::int64_t first, std::int64_t end) {
      for (std::int64_t row = first; row < end; ++row) {
        const std::int64_t at = row * run;
        loop.run(loop.f, bytesBehind(a, ofA > 0 ? at * loop.sizeA : 0), 1,
                 bytesBehind(b, ofB > 0 ? at * loop.sizeB : 0), 1, bytesBehind(y, at * loop.sizeY), run);
      }
    });
  } else {
    forPairRuns(setup, loop, a, b, y);
  }
}

Status addBroadcastGradient(GradientBuilder& builder, std::size_t input, graph::TensorId gradient,
                            const Shape& shape) {
  const Shape& own = builder.call().input(input).shape;
  std::vector<std::int64_t> axes;
  const std::size_t shift = shape.size() - own.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if ((axis < shift && shape[axis] != 1) || (axis >= shift && own[axis - shift] != shape[axis]))
      axes.push_back(static_cast<std::int64_t>(axis));
  }
  const std::string suffix = fmt::format("grad_{}", input);
  Shape reduced = shape;
  if (!axes.empty()) {
    for (const std::int64_t axis : axes) reduced[static_cast<std::size_t>(axis)] = 1;
    PIPESCOPE_ASSIGN(gradient, builder.add("ReduceSum", suffix + "_sum", {gradient},
                                           {{"axes", axes}, {"keepdims", std::int64_t{1}}}));
  }
  if (reduced != own) {
    PIPESCOPE_ASSIGN(gradient, builder.add("Reshape", suffix + "_shaped", {gradient},
                                           {{"shape", own}, {"allowzero", std::int64_t{1}}}));
  }
  builder.setInputGradient(input, gradient);
  return {};
}

}  // namespace pipescope::ops
