#include "engine/ops/moves/strided_move.h"

#include "engine/ops/core/shape_tools.h"
#include "engine/ops/moves/element_move.h"

namespace pipescope::ops {

StridedView::StridedView(const Shape& dense) {
  const Shape strides = stridesOf(dense);
  for (std::size_t i = 0; i < dense.size(); ++i) axes_.push_back({{dense[i], strides[i]}});
}

void StridedView::permute(const std::vector<std::int64_t>& order) {
  std::vector<std::vector<Loop>> axes;
  for (const std::int64_t axis : order) axes.push_back(axes_[static_cast<std::size_t>(axis)]);
  axes_ = std::move(axes);
}

bool StridedView::cut(const Shape& extents, const std::vector<std::int64_t>& begin,
                      const std::vector<std::int64_t>& steps) {
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    std::int64_t whole = 1;
    for (const Loop& loop : axes_[i]) whole *= loop.extent;
    if (extents[i] == whole && steps[i] == 1) continue;
    if (axes_[i].size() != 1) return false;
    Loop& loop = axes_[i].front();
    start_ += begin[i] * loop.stride;
    loop = {extents[i], loop.stride * steps[i]};
  }
  return true;
}

bool StridedView::reshape(const Shape& extents) {
  // Deals the loops out to the new axes in order; a loop that belongs to two axes is split.
  std::vector<Loop> loops;
  for (const std::vector<Loop>& axis : axes_) {
    for (const Loop& loop : axis) {
      if (loop.extent != 1) loops.push_back(loop);
    }
  }
  std::vector<std::vector<Loop>> axes;
  std::size_t at = 0;
  for (const std::int64_t extent : extents) {
    std::vector<Loop>& axis = axes.emplace_back();
    for (std::int64_t left = extent; left > 1;) {
      if (at == loops.size()) return false;
      Loop& loop = loops[at];
      if (left % loop.extent == 0) {
        left /= loop.extent;
        axis.push_back(loop);
        ++at;
      } else if (loop.extent % left == 0) {
        axis.push_back({left, loop.stride * (loop.extent / left)});
        loop.extent /= left;
        left = 1;
      } else {
        return false;
      }
    }
    if (axis.empty()) axis.push_back({extent, 0});
  }
  if (at != loops.size()) return false;
  axes_ = std::move(axes);
  return true;
}

graph::Attributes StridedView::attributes() const {
  Shape extents, strides;
  for (const std::vector<Loop>& axis : axes_) {
    for (const Loop& loop : axis) {
      extents.push_back(loop.extent);
      strides.push_back(loop.stride);
    }
  }
  return {{"ranks", Shape{static_cast<std::int64_t>(extents.size())}},
          {"extents", extents},
          {"strides", strides},
          {"starts", Shape{start_}}};
}

namespace {

/// The moves of a node, between each dense tensor and its view.
std::vector<ElementMove> movesOf(const OperatorCall& call, bool reads) {
  const Shape extents = graph::intsAttribute(call.node, "extents", {}),
              strides = graph::intsAttribute(call.node, "strides", {}),
              starts = graph::intsAttribute(call.node, "starts", {}),
              ranks = graph::intsAttribute(call.node, "ranks", {});
  const std::int64_t bytes = graph::sizeOf(call.input(0).element);
  std::vector<ElementMove> moves;
  std::ptrdiff_t at = 0;
  for (std::size_t i = 0; i < ranks.size(); at += ranks[i++]) {
    const Shape own(extents.begin() + at, extents.begin() + at + ranks[i]);
    const Shape dense = stridesOf(own);
    std::vector<MoveAxis> axes;
    for (std::size_t axis = 0; axis < own.size(); ++axis) {
      const std::int64_t seen = strides[static_cast<std::size_t>(at) + axis];
      axes.push_back({own[axis], reads ? seen : dense[axis], reads ? dense[axis] : seen});
    }
    moves.emplace_back(std::move(axes), bytes, reads ? starts[i] : 0, reads ? 0 : starts[i]);
  }
  return moves;
}

template <bool kReads>
Result<Kernel> stridedMoveKernel(const OperatorCall& call) {
  return Kernel{[moves = movesOf(call, kReads)](const KernelArguments& a) -> Status {
                  for (std::size_t i = 0; i < moves.size(); ++i)
                    moves[i].run(a, a.inputs[i].data(), a.outputs[0].data());
                  return {};
                },
                0};
}

}  // namespace

const OperatorDefinition& stridedReadDefinition() {
  static const OperatorDefinition definition{.type = "StridedRead", .kernel = stridedMoveKernel<true>};
  return definition;
}

const OperatorDefinition& stridedWriteDefinition() {
  static const OperatorDefinition definition{.type = "StridedWrite", .kernel = stridedMoveKernel<false>};
  return definition;
}

}  // namespace pipescope::ops
