#include "engine/numerics/interpreter/slice_collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace pipescope::numerics {

using base::badInput;
using base::Result;
using base::Status;
using graph::TensorValue;

namespace {

/// A tensor seen from one axis: outer × extent × inner, where `inner` is in bytes.
struct AxisView {
  AxisView(const graph::TensorType& type, std::size_t axis) {
    for (std::size_t i = 0; i < type.shape.size(); ++i) {
      if (i < axis) outer *= static_cast<std::size_t>(type.shape[i]);
      if (i > axis) inner *= static_cast<std::size_t>(type.shape[i]);
    }
    extent = static_cast<std::size_t>(type.shape[axis]);
    inner *= static_cast<std::size_t>(graph::sizeOf(type.element));
  }
  std::size_t outer = 1, extent = 1, inner = 1;
};

}  // namespace

ValuePointer sliceAt(const TensorValue& whole, std::size_t axis, std::size_t index) {
  const AxisView view(whole.type, axis);
  auto part = std::make_shared<TensorValue>();
  part->type = whole.type;
  part->type.shape.erase(part->type.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  part->bytes.resize(view.outer * view.inner);
  for (std::size_t o = 0; o < view.outer && view.inner > 0; ++o) {
    std::memcpy(part->bytes.data() + o * view.inner,
                whole.bytes.data() + (o * view.extent + index) * view.inner, view.inner);
  }
  return part;
}

Status SliceCollector::add(const ControlFlowCall& call, ValuePointer slice) {
  if (!slices_.empty() && slices_.front()->type != slice->type) {
    return badInput(
        fmt::format("{}: a scan output is {} once and {} later; all iterations must give one shape.",
                    call.title(), graph::toString(slices_.front()->type), graph::toString(slice->type)));
  }
  slices_.push_back(std::move(slice));
  return {};
}

Result<ValuePointer> SliceCollector::join(const ControlFlowCall& call, const onnx::ModelValue& declared,
                                          Join how, GraphRunner& runner) {
  PIPESCOPE_ASSIGN(graph::TensorType type, sliceType(call, declared));
  const auto rank = static_cast<std::int64_t>(type.shape.size()) + 1;
  if (how.axis < -rank || how.axis >= rank)
    return badInput(fmt::format("{}: a scan output axis is {}; it must lie in {} … {}.", call.title(),
                                how.axis, -rank, rank - 1));
  const auto axis = static_cast<std::size_t>(how.axis < 0 ? how.axis + rank : how.axis);
  type.shape.insert(type.shape.begin() + static_cast<std::ptrdiff_t>(axis),
                    static_cast<std::int64_t>(slices_.size()));
  PIPESCOPE_ASSIGN(const std::int64_t bytes, onnx::checkedBytes(type, call.title() + ": a scan output"));
  if (bytes > runner.bytesLeft())
    return badInput(fmt::format("{}: a scan output would be {}, more than the {} bytes of memory left to it.",
                                call.title(), graph::toString(type), runner.bytesLeft()));
  if (how.reverse) std::ranges::reverse(slices_);
  auto joined = std::make_shared<TensorValue>();
  joined->type = type;
  joined->bytes.resize(static_cast<std::size_t>(bytes));
  const AxisView view(type, axis);
  for (std::size_t o = 0; o < view.outer && view.inner > 0; ++o) {
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      std::memcpy(joined->bytes.data() + (o * view.extent + i) * view.inner,
                  slices_[i]->bytes.data() + o * view.inner, view.inner);
    }
  }
  return runner.counted(std::move(joined));
}

Result<graph::TensorType> SliceCollector::sliceType(const ControlFlowCall& call,
                                                    const onnx::ModelValue& declared) const {
  if (!slices_.empty()) return slices_.front()->type;
  if (!declared.element || !declared.shape) {
    return badInput(
        fmt::format("{}: it runs no iteration, and the file does not say of what type the scan output {} is.",
                    call.title(), declared.name));
  }
  graph::TensorType type{*declared.element, {}};
  for (const onnx::Dimension& dimension : *declared.shape) type.shape.push_back(dimension.extent.value_or(0));
  return type;
}

}  // namespace pipescope::numerics
