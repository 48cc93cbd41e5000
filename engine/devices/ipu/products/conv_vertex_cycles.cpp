// Cycles of the vertices that compute products, by the formulas of PopLibs' poplin (C).
#include <algorithm>

#include "engine/devices/ipu/products/conv_vertices.h"
#include "engine/ops/core/rounding.h"

namespace pipescope::devices::ipu {

using ops::ceilDiv;
namespace {

using Method = ConvVertex::Method;

// --- Work of six workers over the rows of a tile ---------------------------------------

/// Deals the positions of a tile, row after row, to the workers in equal contiguous runs. A run is a list of
/// pieces of rows, and `piece(n)` gives the cycles of a piece of n positions.
template <class Piece>
WorkerCycles dealRows(std::int64_t rows, std::int64_t width, std::int64_t workers, std::int64_t start,
                      Piece piece) {
  WorkerCycles result{0, INT64_MAX};
  const std::int64_t positions = rows * width;
  for (std::int64_t worker = 0; worker < workers; ++worker) {
    std::int64_t begin = worker * positions / workers;
    const std::int64_t end = (worker + 1) * positions / workers;
    std::int64_t cycles = start;
    if (begin < end && begin % width != 0) {
      const std::int64_t first = std::min(end - begin, width - begin % width);
      cycles += piece(first);
      begin += first;
    }
    const std::int64_t whole = (end - begin) / width;
    if (whole > 0) cycles += whole * piece(width);
    begin += whole * width;
    if (begin < end) cycles += piece(end - begin);
    result.slowest = std::max(result.slowest, cycles * workers);
    result.fastest = std::min(result.fastest, cycles * workers);
  }
  return result;
}

struct Rows {
  std::int64_t rows = 1, width = 1;
};

/// The output rows and their width, without those that input dilation leaves out.
Rows activeRows(const ConvShape& shape, const ConvTile& tile) {
  Rows active{tile.batch, 1};
  for (std::size_t i = 0; i < shape.dimCount; ++i) {
    const std::int64_t positions = ceilDiv(tile.output[i], shape.dims[i].outputStep());
    (i + 1 == shape.dimCount ? active.width : active.rows) *= positions;
  }
  return active;
}

/// Cycles in which all workers set the vertex's partial sums to zero, two float32 or four float16 at a time.
std::int64_t zeroCycles(const Chip& chip, const ConvVertex& vertex, const ConvTile& tile,
                        std::int64_t positions) {
  const std::int64_t perWorker = ceilDiv(positions * vertex.outGroup, chip.workers);
  return (ceilDiv(perWorker, 2) + 5) * chip.workers * tile.outGroups * tile.groups;
}

/// PopLibs loads weights 64 bits at a time unless use128BitConvUnitLoad is set, and always into filters of
/// height 4 (C).
std::int64_t weightLoadCycles(const Chip& chip, const ConvShape& shape, const ConvVertex& vertex) {
  const std::int64_t bytes = vertex.convUnits * weightsPerUnit(shape) * shape.operandBytes();
  return bytes / (vertex.filterHeight == 4 ? chip.vectorBytes : chip.weightLoadBytes);
}

// --- AMP -------------------------------------------------------------------------------

std::int64_t oneByOneInner(const Chip& chip, const ConvShape& shape, const ConvVertex& vertex, Rows rows,
                           bool zeroing) {
  // float16 with float32 partials, and pure float16 with 16 units, share a code path that keeps state between
  // calls.
  const bool common = shape.half && (!shape.halfPartials || vertex.convUnits == 16);
  const std::int64_t zeroCost = !shape.half && vertex.convUnits == 16 ? 8 : shape.halfPartials ? 2 : 4;
  const auto worker = [&](std::int64_t n) -> std::int64_t {
    if (common) {
      const std::int64_t first = zeroing ? 1 : 2;
      const std::int64_t core = n == 0 ? 20 : n == 1 ? 31 : n == 2 ? 40 : 36 + 4 * (n - 3);
      return core + first - 7;
    }
    if (n == 0) return 24;
    const std::int64_t zero = zeroing ? 2 + zeroCost * n : 0;
    if (!shape.half) return (n == 1 ? 47 : 46 + 8 * std::max<std::int64_t>(0, n - 3)) + zero;
    return (n == 1 ? 39 : n == 2 ? 40 : 41 + 4 * (n - 3)) + zero;
  };
  const std::int64_t positions = rows.rows * rows.width;
  const std::int64_t most = worker(ceilDiv(positions, chip.workers)),
                     least = worker(positions / chip.workers);
  return std::max(chip.workers * std::max(most, least), chip.workers * std::min(most, least) + 14);
}

std::int64_t oneByOneCycles(const Chip& chip, const ConvShape& shape, const ConvVertex& vertex,
                            const ConvTile& tile) {
  const Rows rows = activeRows(shape, tile);
  const bool common = shape.half && (!shape.halfPartials || vertex.convUnits == 16);
  const std::int64_t kept = common ? 7 + 3 * (tile.inGroups * tile.groups - 1) : 0;
  const std::int64_t load = weightLoadCycles(chip, shape, vertex);
  const std::int64_t passes = ceilDiv(vertex.outGroup, vertex.convUnits);
  const std::int64_t later =
      tile.inGroups < 2 ? 0 : 6 + load + oneByOneInner(chip, shape, vertex, rows, false);
  const std::int64_t first = 7 + load + oneByOneInner(chip, shape, vertex, rows, true);
  return 50 + chip.workers * kept +
         tile.groups * (13 + (tile.inGroups - 1) * (15 + tile.outGroups * (19 + passes * later)) + 11 +
                        tile.outGroups * (18 + passes * first));
}

std::int64_t nByOneCycles(const Chip& chip, const ConvShape& shape, const ConvVertex& vertex,
                          const ConvTile& tile, WorkerCache& cache) {
  const Rows rows = activeRows(shape, tile);
  const std::int64_t step = shape.half ? 4 : 8;
  const auto piece = [&](std::int64_t n) -> std::int64_t {
    const std::int64_t core = n == 1   ? (shape.half ? 29 : 33)
                              : n == 2 ? (shape.half ? 34 : 44)
                                       : (shape.half ? 34 : 45) + step * (n - 3);
    return 3 + core - 9;
  };
  const WorkerCycles workers = cache.get(rows.rows, rows.width, 0, [&] {
    return dealRows(rows.rows, rows.width, chip.workers, 17 + (shape.halfPartials ? 1 : 0), piece);
  });
  const std::int64_t passes = ceilDiv(vertex.outGroup, vertex.convUnits);
  const std::int64_t outer = ceilDiv(tile.kernel[0], vertex.filterHeight);
  std::int64_t inner = 1;
  for (std::size_t i = 1; i < shape.dimCount; ++i) inner *= tile.kernel[i];
  const std::int64_t height = vertex.filterHeight == 1   ? 15
                              : vertex.filterHeight == 2 ? 46
                              : vertex.filterHeight == 4 ? 60
                                                         : 20 * vertex.filterHeight;
  const std::int64_t setUp = weightLoadCycles(chip, shape, vertex) + height + 3;
  const std::int64_t loops = outer * (14 + inner * (12 + passes * setUp)) +
                             std::max(workers.slowest, workers.fastest + 9) * passes * outer * inner;
  // The terms are: 109 once, the state that workers keep, the loops that set zero, and the loops over groups.
  const std::int64_t fixed = 109 + chip.workers * (9 + (shape.halfPartials ? 10 : 9)) +
                             tile.groups * (tile.outGroups * 17 + (tile.outGroups - 1) * 6 + 1) +
                             (tile.groups - 1) * 6 + 1;
  return fixed + zeroCycles(chip, vertex, tile, rows.rows * rows.width) +
         tile.groups * (16 + tile.inGroups * (14 + tile.outGroups * (14 + loops)));
}

// --- Multiply-accumulate without AMP ---------------------------------------------------

/// Cycles of one dot product of `size` elements, with the widest vector that divides it, at 64 bits a cycle.
std::int64_t dotProductCycles(const Chip& chip, const ConvShape& shape, std::int64_t size) {
  const bool halfHalf = shape.halfPartials;
  const std::int64_t outputs = halfHalf ? 2 : 1, fullWidth = chip.vectorBytes / shape.operandBytes();
  const std::int64_t overhead = 3 * outputs + (halfHalf ? 1 : 0) + 4;
  std::int64_t width = fullWidth;
  while (size % width != 0) width /= 2;
  const bool full = width == fullWidth;
  return overhead + (full ? 0 : outputs) + size / width * (full ? 1 : 2);
}

std::int64_t horizontalMacCycles(const Chip& chip, const ConvShape& shape, const ConvVertex& vertex,
                                 const ConvTile& tile, WorkerCache& cache) {
  const Rows rows = activeRows(shape, tile);
  std::int64_t kernel = 1;
  for (std::size_t i = 0; i < shape.dimCount; ++i) kernel *= tile.kernel[i];
  const std::int64_t outputs = shape.halfPartials ? vertex.outGroup / 2 : vertex.outGroup;
  const std::int64_t each = 7 + outputs * dotProductCycles(chip, shape, vertex.inGroup);
  const auto piece = [&](std::int64_t n) { return 19 + n * each; };
  const std::int64_t perTap =
      cache
          .get(rows.rows, rows.width, 0,
               [&] { return dealRows(rows.rows, rows.width, chip.workers, 16, piece); })
          .slowest;
  const std::int64_t inner = kernel * perTap + 16 * chip.workers;
  const std::int64_t overhead = (shape.half ? 63 : 58) + chip.workers * (shape.halfPartials ? 10 : 9);
  return overhead + zeroCycles(chip, vertex, tile, rows.rows * rows.width) +
         tile.groups * (23 + tile.inGroups * (15 + tile.outGroups * (10 + inner)));
}

/// Cycles of one dot product along a row of the kernel, for all groups of a vertical MAC, and of storing and
/// loading the sums around it.
std::int64_t verticalDotProductCycles(const ConvShape& shape, std::int64_t groups, std::int64_t taps) {
  if (groups == 4) return 7 + (shape.halfPartials ? 3 : 5) + 3 + 2 * (taps - 1);
  return groups / 8 * (7 + 15 + 3 + 3 * (taps - 1));
}

/// Workers share the output positions and the taps of a row of the kernel. Each has sums of its own for all
/// positions, which they add up at the end.
std::int64_t verticalMacCycles(const Chip& chip, const ConvShape& shape, const ConvVertex& vertex,
                               const ConvTile& tile, WorkerCache& cache) {
  const std::size_t last = shape.dimCount - 1;
  std::int64_t kernelRows = 1, positions = tile.batch * tile.output[last], all = positions;
  for (std::size_t i = 0; i < last; ++i) {
    kernelRows *= tile.kernel[i];
    positions *= ceilDiv(tile.output[i], shape.dims[i].outputStep());
    all *= tile.output[i];
  }
  const std::int64_t taps = ceilDiv(tile.kernel[last], shape.dims[last].outputStep());
  const auto piece = [&](std::int64_t n) { return verticalDotProductCycles(shape, vertex.groupGroup, n); };
  const std::int64_t perRow =
      cache.get(positions, taps, 0, [&] { return dealRows(positions, taps, chip.workers, 0, piece); })
          .slowest;
  const std::int64_t start = vertex.groupGroup == 16  ? 25
                             : vertex.groupGroup == 8 ? 13
                             : shape.halfPartials     ? 18
                                                      : 19;
  const std::int64_t sums = all * vertex.groupGroup, perWorker = ceilDiv(sums, chip.workers);
  const std::int64_t zeroing = 4 + ceilDiv(sums, shape.halfPartials ? 4 : 2);
  const std::int64_t perVector = shape.halfPartials ? 7 + (chip.workers - 1) : 9 + 2 * (chip.workers - 1);
  const std::int64_t adding = (shape.halfPartials ? 10 : 9) + perVector * perWorker / vertex.groupGroup;
  return 76 + tile.groups *
                  (zeroing + 32 + adding + tile.inGroups * (24 + kernelRows * perRow + start * chip.workers));
}

/// The vertex gets its input dilated and padded, so it leaves no output out.
std::int64_t slicCycles(const Chip& chip, const ConvShape& shape, const ConvVertex& vertex,
                        const ConvTile& tile, WorkerCache& cache) {
  const std::size_t last = shape.dimCount - 1;
  Rows rows{tile.batch, tile.output[last]};
  for (std::size_t i = 0; i < last; ++i) rows.rows *= tile.output[i];
  std::int64_t blocks = ceilDiv(tile.kernel[last], 4);
  for (std::size_t i = 0; i < last; ++i) blocks *= tile.kernel[i];
  const std::int64_t dataPasses = convUnitsOf(chip, shape) >= 16 ? 1 : 2;
  const bool stride2 = shape.dims[last].stride == 2;
  const auto inner = [&](bool zeroing) {
    const auto piece = [&](std::int64_t n) -> std::int64_t {
      std::int64_t row = 0;
      if (stride2) {
        row = n < 3 ? 7 + (n == 1 ? 3 : 5) + 3 : 15 + 2 * (n - 3);
      } else if (n >= 5) {
        row = 15 + (n - 5);
      } else {
        row = zeroing ? 10 + (n > 1 ? n : 0) + 3 : 7 + (n == 1 ? 6 : 11);
      }
      row -= shape.halfPartials ? 0 : 1;
      return 10 + (zeroing ? 1 : 0) + (shape.halfPartials ? 0 : 3) + row * dataPasses;
    };
    const auto deal = [&] { return dealRows(rows.rows, rows.width, chip.workers, 19, piece); };
    return cache.get(rows.rows, rows.width, zeroing ? 1 : 0, deal).slowest;
  };
  // Groups of four channels load their weights directly; the workers first rearrange smaller groups.
  const std::int64_t rearrange =
      vertex.inGroup == 4 ? 18 : 21 + (vertex.inGroup == 2 ? 12 : 10) * chip.workers;
  const std::int64_t perBlock = rearrange + 16 + 20;
  const auto loop = [](std::int64_t n) { return 6 * (n - 1) + 1; };
  return 28 + 15 * tile.groups + loop(tile.groups) + perBlock * blocks + loop(blocks) +
         tile.groups * (inner(true) + (blocks - 1) * (inner(false) + perBlock));
}

std::int64_t outerProductCycles(const Chip& chip, const ConvShape& shape, const ConvVertex& vertex,
                                const ConvTile& tile) {
  const std::int64_t width = ceilDiv(tile.output[shape.dimCount - 1], chip.workers);
  const std::int64_t channels = tile.outGroups * tile.groups, chans = vertex.outGroup;
  std::int64_t perColumn = 0;
  if (shape.half) {
    perColumn = chans >= 12 ? 6 + (chans - 12) / 4 : 10 + chans * 5 / 2;
  } else {
    perColumn = chans >= 6 ? 6 + (chans - 6) / 2 : 10 + chans * 2;
  }
  return chip.workers * (25 + channels * ((shape.half ? 10 : 11) + width * perColumn));
}

}  // namespace

std::int64_t convVertexCycles(const Chip& chip, const ConvShape& shape, const ConvVertex& vertex,
                              const ConvTile& tile, WorkerCache& cache) {
  switch (vertex.method) {
    case Method::amp:
      return usesOneByOne(shape, vertex, tile) ? oneByOneCycles(chip, shape, vertex, tile)
                                               : nByOneCycles(chip, shape, vertex, tile, cache);
    case Method::slic:
      return slicCycles(chip, shape, vertex, tile, cache);
    case Method::horizontalMac:
      return horizontalMacCycles(chip, shape, vertex, tile, cache);
    case Method::verticalMac:
      return verticalMacCycles(chip, shape, vertex, tile, cache);
    case Method::outerProduct:
      return outerProductCycles(chip, shape, vertex, tile);
  }
  return 0;
}

std::int64_t convVertexCycles(const Chip& chip, const ConvShape& shape, const ConvVertex& vertex,
                              const ConvTile& tile) {
  WorkerCache cache;
  return convVertexCycles(chip, shape, vertex, tile, cache);
}

}  // namespace pipescope::devices::ipu
