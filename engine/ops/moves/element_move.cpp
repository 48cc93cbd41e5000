#include "engine/ops/moves/element_move.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "engine/ops/core/ranges.h"
#include "engine/ops/core/shape_tools.h"
#include "engine/ops/kernels/choose.h"

namespace pipescope::ops {
namespace {

/// The side of the tiles in which two axes change places: 16 × 16 elements of 8 bytes are 2 KB.
constexpr std::int64_t kTile = 16;

/// Merges two loops if the inner one continues the outer one on both sides.
void join(std::vector<MoveAxis>& axes) {
  std::vector<MoveAxis> joined;
  for (const MoveAxis& axis : axes) {
    if (axis.extent == 1) continue;
    if (!joined.empty() && joined.back().from == axis.extent * axis.from &&
        joined.back().to == axis.extent * axis.to) {
      joined.back() = {joined.back().extent * axis.extent, axis.from, axis.to};
    } else {
      joined.push_back(axis);
    }
  }
  axes = std::move(joined);
}

}  // namespace

ElementMove::ElementMove(std::vector<MoveAxis> axes, std::int64_t elementBytes, std::int64_t fromStart,
                         std::int64_t toStart)
    : axes_(std::move(axes)), elementBytes_(elementBytes), fromStart_(fromStart), toStart_(toStart) {
  for (const MoveAxis& axis : axes_) elements_ *= axis.extent;
  if (elements_ == 0) return;
  join(axes_);
  // Writes in order. If another axis is in order when reading, it becomes the other side of the tile.
  std::ranges::stable_sort(
      axes_, [](const MoveAxis& a, const MoveAxis& b) { return std::abs(a.to) > std::abs(b.to); });
  join(axes_);
  innerAxes_ = std::min<std::size_t>(axes_.size(), 1);
  if (axes_.empty()) return;
  const MoveAxis last = axes_.back();
  if (last.from == 1 && last.to == 1) run_ = last.extent;
  const auto contiguous = std::ranges::find_if(axes_, [](const MoveAxis& a) { return a.from == 1; });
  if (contiguous == axes_.end() || last.from == 1 || last.from == 0 || last.to != 1) return;
  if (contiguous->extent < 4 || last.extent < 4) return;
  const MoveAxis reading = *contiguous;
  axes_.erase(contiguous);
  axes_.insert(axes_.end() - 1, reading);
  innerAxes_ = 2;
}

template <class Element>
void ElementMove::inner(const Element* from, Element* to) const {
  const MoveAxis& line = axes_.back();
  if (innerAxes_ == 2) {  // line.to == 1, across.from == 1
    const MoveAxis& across = axes_[axes_.size() - 2];
    if constexpr (sizeof(Element) == sizeof(float)) {
      // Vectors only carry the bits.
      kernels::kernelTable().transpose(reinterpret_cast<const float*>(from), line.from, line.extent,
                                       across.extent, reinterpret_cast<float*>(to), across.to);
      return;
    }
    Element tile[kTile * kTile];
    for (std::int64_t i = 0; i < line.extent; i += kTile) {
      const std::int64_t lines = std::min(kTile, line.extent - i);
      for (std::int64_t j = 0; j < across.extent; j += kTile) {
        const std::int64_t columns = std::min(kTile, across.extent - j);
        for (std::int64_t a = 0; a < lines; ++a) {
          const Element* row = from + (i + a) * line.from + j;
          for (std::int64_t b = 0; b < columns; ++b) tile[b * kTile + a] = row[b];
        }
        for (std::int64_t b = 0; b < columns; ++b) {
          Element* row = to + (j + b) * across.to + i;
          for (std::int64_t a = 0; a < lines; ++a) row[a] = tile[b * kTile + a];
        }
      }
    }
    return;
  }
  if (line.from == 1 && line.to == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(line.extent) * sizeof(Element));
  } else if (line.from == 0 && line.to == 1) {
    std::fill_n(to, line.extent, *from);
  } else {
    for (std::int64_t i = 0; i < line.extent; ++i) to[i * line.to] = from[i * line.from];
  }
}

template <class Element>
void ElementMove::walk(std::size_t axis, const Element* from, Element* to) const {
  if (axis + innerAxes_ == axes_.size()) {
    if (innerAxes_ == 0) {
      *to = *from;
    } else {
      inner(from, to);
    }
    return;
  }
  const MoveAxis& loop = axes_[axis];
  for (std::int64_t i = 0; i < loop.extent; ++i) walk(axis + 1, from + i * loop.from, to + i * loop.to);
}

void ElementMove::run(const std::byte* from, std::byte* to) const {
  if (elements_ == 0) return;
  const auto start = [&]<class Element>(Element) {
    walk(0, reinterpret_cast<const Element*>(from) + fromStart_, reinterpret_cast<Element*>(to) + toStart_);
  };
  switch (elementBytes_) {
    case 1:
      return start(std::uint8_t{});
    case 2:
      return start(std::uint16_t{});
    case 4:
      return start(std::uint32_t{});
    default:
      return start(std::uint64_t{});
  }
}

void ElementMove::run(const KernelArguments& arguments, const std::byte* from, std::byte* to) const {
  if (axes_.size() <= innerAxes_ || elements_ == 0) return run(from, to);
  const MoveAxis& loop = axes_.front();
  const auto start = [&]<class Element>(Element) {
    const auto* source = reinterpret_cast<const Element*>(from) + fromStart_;
    auto* target = reinterpret_cast<Element*>(to) + toStart_;
    forItems(arguments, loop.extent, elements_ / loop.extent, [&](std::int64_t first, std::int64_t end) {
      for (std::int64_t i = first; i < end; ++i) walk(1, source + i * loop.from, target + i * loop.to);
    });
  };
  switch (elementBytes_) {
    case 1:
      return start(std::uint8_t{});
    case 2:
      return start(std::uint16_t{});
    case 4:
      return start(std::uint32_t{});
    default:
      return start(std::uint64_t{});
  }
}

ElementMove transposition(const Shape& shape, const std::vector<std::size_t>& order,
                          std::int64_t elementBytes) {
  Shape result;
  for (const std::size_t axis : order) result.push_back(shape[axis]);
  const Ints from = stridesOf(shape), to = stridesOf(result);
  std::vector<MoveAxis> axes;
  for (std::size_t i = 0; i < order.size(); ++i) axes.push_back({result[i], from[order[i]], to[i]});
  return {std::move(axes), elementBytes};
}

ElementMove blockMove(const Shape& extents, const Shape& from, const Ints& fromBegin, const Ints& fromStep,
                      const Shape& to, const Ints& toBegin, const Ints& toStep, std::int64_t elementBytes) {
  const Ints fromStrides = stridesOf(from), toStrides = stridesOf(to);
  std::vector<MoveAxis> axes;
  std::int64_t fromStart = 0, toStart = 0;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    axes.push_back({extents[i], fromStrides[i] * (fromStep.empty() ? 1 : fromStep[i]),
                    toStrides[i] * (toStep.empty() ? 1 : toStep[i])});
    if (!fromBegin.empty()) fromStart += fromBegin[i] * fromStrides[i];
    if (!toBegin.empty()) toStart += toBegin[i] * toStrides[i];
  }
  return {std::move(axes), elementBytes, fromStart, toStart};
}

Work moveWork(const ElementMove& setup, ElementType type, const std::string& label) {
  return {Rearrange{setup.elements(), setup.runElements(), type}, 1, label};
}

}  // namespace pipescope::ops
