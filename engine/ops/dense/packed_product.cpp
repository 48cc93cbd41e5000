#include "engine/ops/dense/packed_product.h"

#include <algorithm>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/rounding.h"
#include "engine/ops/kernels/choose.h"

namespace pipescope::ops {
namespace {

using kernels::kPanel;

/// Multiplications of a task: about ten microseconds of work, so that handing it to a thread costs little.
constexpr std::int64_t kTaskWork = std::int64_t{1} << 19;
/// The rows and columns of blocks are multiples of these: of the block of every kernel, and of a panel.
constexpr std::int64_t kRowStep = 48, kColumnStep = 48;
/// The rows of a task that packs them itself, and how many such tasks there must be.
constexpr std::int64_t kOwnRows = 64, kOwnTasks = 16;
/// The elements that one task packs.
constexpr std::int64_t kPackWork = std::int64_t{1} << 15;

/// The number of tasks that pack equal shares of an operand. A task has at least four panels, whose rows are
/// packed together.
std::int64_t panelTasks(std::int64_t lanes, std::int64_t depth) {
  return std::clamp<std::int64_t>(ceilDiv(lanes * depth, kPackWork), 1,
                                  std::max<std::int64_t>(1, ceilDiv(lanes, 4 * kPanel)));
}

}  // namespace

PackedProduct::PackedProduct(const Product& product, std::int64_t count, bool apart)
    : product_(product), count_(count), apart_(apart) {
  const std::int64_t m = product.m, n = product.n, k = std::max<std::int64_t>(1, product.k);
  // Takes roughly square blocks of C with about kTaskWork multiplications each: splits rows first, then
  // columns if rows do not suffice.
  const std::int64_t wanted = std::max<std::int64_t>(1, m * n * k / kTaskWork);
  rowBlocks_ = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, ceilDiv(m, 2 * kRowStep)));
  const std::int64_t fewestColumns = rowBlocks_ > 1 ? 2 * kColumnStep : kColumnStep;
  columnBlocks_ =
      std::clamp<std::int64_t>(wanted / rowBlocks_, 1, std::max<std::int64_t>(1, ceilDiv(n, fewestColumns)));
  blockRows_ = std::max(kRowStep, roundUp(ceilDiv(m, rowBlocks_), kRowStep));
  blockColumns_ = std::max(kColumnStep, roundUp(ceilDiv(n, columnBlocks_), kColumnStep));
  packsRows_ = product.transposeA && wanted >= kOwnTasks && ceilDiv(m, kOwnRows) >= kOwnTasks;
  if (packsRows_) {
    blockRows_ = kOwnRows;
    blockColumns_ = roundUp(n, kColumnStep);
  }
  rowBlocks_ = ceilDiv(m, blockRows_);
  columnBlocks_ = ceilDiv(n, blockColumns_);
  packTasks_ = panelTasks(n, k) + (product.transposeA && !packsRows_ ? panelTasks(m, k) : 0);
}

/// A transposed A lies in panels of sixteen rows, as the columns of B do.
std::int64_t PackedProduct::leftElements() const {
  return product_.transposeA ? roundUp(product_.m, kPanel) * product_.k : 0;
}

std::int64_t PackedProduct::each() const {
  return roundUp(product_.n, kPanel) * product_.k + leftElements();
}

std::int64_t PackedProduct::scratchElements() const {
  return each() * (apart_ ? count_ : 1);
}

/// Packs the panels of B first, then those of a transposed A, because the elements of its rows lie far apart
/// in memory.
void PackedProduct::pack(std::int64_t task, const float* a, const float* b, float* scratch) const {
  const kernels::KernelTable& table = kernels::kernelTable();
  const std::int64_t ofB = panelTasks(product_.n, std::max<std::int64_t>(1, product_.k)), k = product_.k;
  const bool left = task >= ofB;
  const std::int64_t lanes = left ? product_.m : product_.n;
  const std::int64_t tasks = left ? packTasks_ - ofB : ofB, panels = ceilDiv(lanes, kPanel),
                     own = left ? task - ofB : task;
  const std::int64_t first = panels * own / tasks * kPanel,
                     end = std::min(lanes, panels * (own + 1) / tasks * kPanel);
  if (first >= end) return;
  if (left) {
    table.packRows(a + first, product_.lda, k, end - first,
                   scratch + (roundUp(product_.n, kPanel) + first) * k, k * kPanel);
    return;
  }
  float* to = scratch + first * k;
  if (product_.transposeB) {
    table.packColumns(b + first * product_.ldb, product_.ldb, k, end - first, to, k * kPanel);
  } else {
    table.packRows(b + first, product_.ldb, k, end - first, to, k * kPanel);
  }
}

void PackedProduct::multiply(std::int64_t block, float scale, const float* a, float* c, float* scratch,
                             const Finish& finish, bool accumulate) const {
  const std::int64_t row = block / columnBlocks_ * blockRows_, column = block % columnBlocks_ * blockColumns_;
  kernels::RowProduct p;
  if (product_.transposeA) {
    float* left = scratch + (roundUp(product_.n, kPanel) + row) * product_.k;
    if (packsRows_) {
      kernels::kernelTable().packRows(a + row, product_.lda, product_.k,
                                      std::min(blockRows_, product_.m - row), left, product_.k * kPanel);
    }
    p.a = left;
    p.rowStride = 1;
    p.step = kPanel;
    p.blockStride = kPanel * product_.k;
  } else {
    p.a = a + row * product_.lda;
    p.rowStride = product_.lda;
    p.blockStride = kPanel * p.rowStride;
  }
  p.length = p.last = product_.k;
  p.b = scratch + column * product_.k;
  p.panelStride = product_.k * kPanel;
  p.c = c + row * product_.ldc + column;
  p.ldc = product_.ldc;
  p.rows = std::min(blockRows_, product_.m - row);
  p.columns = std::min(blockColumns_, product_.n - column);
  p.scale = scale;
  p.accumulate = accumulate;
  p.bias = finish.bias ? finish.bias + column : nullptr;
  p.relu = finish.relu;
  kernels::kernelTable().multiplyRows(p);
}

}  // namespace pipescope::ops
