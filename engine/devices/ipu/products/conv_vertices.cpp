#include "engine/devices/ipu/products/conv_vertices.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/ops/core/rounding.h"

namespace pipescope::devices::ipu {

using ops::ceilDiv;
using ops::roundUp;
namespace {

using Method = ConvVertex::Method;

void addAmp(const Chip& chip, const ConvShape& shape, std::vector<ConvVertex>& vertices) {
  const std::int64_t weights = weightsPerUnit(shape), units = convUnitsOf(chip, shape);
  if (units == 0) return;
  std::vector<std::int64_t> unitChoices{units};
  // PopLibs also uses 8 of 16 units, but for quarter and half it has ConvPartial1x1Out and ConvPartialnx1
  // with 16 units only (C). A chip with more units may use any half of them.
  for (std::int64_t half = units / 2; half >= 8 && !shape.quarter; half /= 2) unitChoices.push_back(half);
  for (const std::int64_t used : unitChoices) {
    for (std::int64_t in = weights; in >= chip.vectorBytes / shape.operandBytes(); in /= 2) {
      // If a product uses fewer units than the chip has, or fewer channels than a unit holds, rows of the
      // kernel use the remaining weights.
      const std::int64_t usedWeights = in == weights ? weights : weights * used / units;
      if (usedWeights % in != 0) continue;
      for (const std::int64_t out : {used, usedWeights}) {
        if (out % used != 0) continue;
        const ConvVertex vertex{Method::amp, 1, in, out, used, usedWeights / in};
        if (std::find(vertices.begin(), vertices.end(), vertex) == vertices.end()) vertices.push_back(vertex);
      }
    }
  }
}

/// If the channels fit into a unit and the kernel has one element, the vertex writes the float16 result
/// itself, with twice as many units (C: ConvVertexType.cpp, getConvVertexAMPCandidates: "the vertex output
/// type can be smaller than the partial type if no reduction is required afterwards").
void addAmpOfResults(const Chip& chip, const ConvShape& shape, std::vector<ConvVertex>& vertices) {
  const std::int64_t weights = weightsPerUnit(shape);
  if (!shape.half || shape.halfPartials || shape.inputChannels > weights) return;
  for (std::size_t i = 0; i < shape.dimCount; ++i) {
    if (shape.dims[i].kernel != 1) return;
  }
  ConvShape result = shape;
  result.halfPartials = true;
  std::vector<ConvVertex> more;
  addAmp(chip, result, more);
  for (ConvVertex& vertex : more) {
    vertex.halfResult = true;
    if (roundUp(shape.inputChannels, vertex.inGroup) == weights) vertices.push_back(vertex);
  }
}

void addSlic(const ConvShape& shape, std::vector<ConvVertex>& vertices) {
  // The rows of the kernel are done four elements at a time.
  if (!shape.half || shape.dimCount == 0 || shape.dims[shape.dimCount - 1].kernel == 1) return;
  for (std::size_t i = 0; i < shape.dimCount; ++i) {
    const ConvDim& dim = shape.dims[i];
    if (dim.kernelDilation != 1) return;
    if (i + 1 == shape.dimCount && dim.stride > 2) return;
  }
  for (const std::int64_t channels : {1, 2, 4})
    vertices.push_back({Method::slic, 4 / channels, channels, channels, 0, 1});
}

/// Group sizes to try: all input channels, half of them, and so on, each a multiple of `grain`.
void addMac(const ConvShape& shape, std::int64_t grain, std::vector<ConvVertex>& vertices) {
  const std::size_t most = vertices.size() + 16;
  std::int64_t previous = 0;
  for (std::int64_t in = roundUp(shape.inputChannels, grain); in >= grain; in = roundUp(in / 2, grain)) {
    const std::int64_t groups = ceilDiv(shape.inputChannels, in);
    const ConvVertex vertex{Method::horizontalMac, 1, in, shape.halfPartials ? 2 : 1, 0, 1};
    if (groups != previous && std::find(vertices.begin(), vertices.end(), vertex) == vertices.end())
      vertices.push_back(vertex);
    previous = groups;
    if (in == grain || vertices.size() > most) break;
  }
}

/// Adds vertices for as many channels as there are, and for channels that are padded with zeros to whole
/// vectors, which are read faster.
void addMac(const Chip& chip, const ConvShape& shape, std::vector<ConvVertex>& vertices) {
  addMac(shape, shape.half ? 2 : 1, vertices);
  addMac(shape, chip.vectorBytes / shape.operandBytes(), vertices);
}

/// (C: ConvVertexType.cpp, getConvVertexVMACCandidates; the vertex has one output channel of each group.)
void addVerticalMac(const ConvShape& shape, std::vector<ConvVertex>& vertices) {
  if (!shape.half || shape.dimCount == 0 || shape.groups == 1) return;
  for (const std::int64_t groups : {4, 8, 16}) {
    if (groups == 4 || shape.halfPartials) vertices.push_back({Method::verticalMac, groups, 1, 1, 0, 1});
  }
}

void addOuterProduct(const Chip& chip, const ConvShape& shape, std::vector<ConvVertex>& vertices) {
  if (shape.inputChannels != 1) return;
  for (std::size_t i = 0; i < shape.dimCount; ++i) {
    const ConvDim& dim = shape.dims[i];
    if (!dim.plain() || (i + 1 < shape.dimCount && dim.output != 1)) return;
  }
  if (shape.batch != 1 || shape.dimCount == 0) return;
  // (C: ConvVertexType.cpp takes a vector of channels, unless a joint plan needs another number.)
  vertices.push_back({Method::outerProduct, 1, 1, chip.vectorBytes / shape.operandBytes(), 0, 1});
}

}  // namespace

std::int64_t convUnitsOf(const Chip& chip, const ConvShape& shape) {
  if (!shape.half) return chip.ampFloat;
  if (shape.quarter) return chip.ampQuarter * 4 / weightsPerUnit(shape);
  return (shape.halfPartials ? chip.ampHalf : chip.ampHalfFloat) / 4;
}

std::int64_t weightsPerUnit(const ConvShape& shape) {
  return shape.quarter ? 32 : shape.half ? 16 : 8;
}

std::vector<ConvVertex> convVertices(const Chip& chip, const ConvShape& shape) {
  std::vector<ConvVertex> vertices;
  addAmpOfResults(chip, shape, vertices);
  addAmp(chip, shape, vertices);
  // PopLibs has no multiply-accumulate vertices for float8, but SLIC ones (C), which are not modelled yet.
  if (shape.quarter) return vertices;
  addSlic(shape, vertices);
  addMac(chip, shape, vertices);
  addVerticalMac(shape, vertices);
  addOuterProduct(chip, shape, vertices);
  return vertices;
}

bool usesOneByOne(const ConvShape& shape, const ConvVertex& vertex, const ConvTile& tile) {
  if (vertex.method != Method::amp || vertex.filterHeight != 1 || shape.batch != 1) return false;
  for (std::size_t i = 0; i < shape.dimCount; ++i) {
    if (tile.kernel[i] != 1 || shape.dims[i].inputDilation != shape.dims[i].stride) return false;
    if (i + 1 < shape.dimCount && tile.output[i] != 1) return false;
  }
  return true;
}

std::int64_t peakMultiplyAdds(const Chip& chip, const ConvShape& shape, const ConvVertex& vertex) {
  const std::int64_t width = chip.vectorBytes / shape.operandBytes();
  switch (vertex.method) {
    case Method::amp:
      return std::min(vertex.convUnits, vertex.outGroup) * weightsPerUnit(shape) / (shape.half ? 4 : 8);
    case Method::slic:
      return std::max<std::int64_t>(1, std::min(width, vertex.inGroup)) *
             (convUnitsOf(chip, shape) >= 16 ? 16 : 8);
    case Method::verticalMac:
      return vertex.groupGroup == 4 ? 2 : 3;
    default:
      return width;
  }
}

std::string vertexName(const ConvShape& shape, const ConvVertex& vertex, bool oneByOne) {
  const char* type = shape.quarter ? "quarter" : shape.half ? "half" : "float";
  const char* partials = shape.halfPartials ? "half" : "float";
  const char* name = "ConvPartialnx1";
  if (oneByOne) name = "ConvPartial1x1Out";
  if (vertex.method == Method::slic) name = "ConvPartial1xNSLIC";
  if (vertex.method == Method::horizontalMac) name = "ConvPartialHorizontalMac";
  if (vertex.method == Method::verticalMac) name = "ConvPartialVerticalMac";
  if (vertex.method == Method::outerProduct) return fmt::format("poplin::OuterProduct<{}>", type);
  return fmt::format("poplin::{}<{},{}>", name, type, partials);
}

}  // namespace pipescope::devices::ipu
