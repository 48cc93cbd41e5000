#pragma once
// Work: the closed set of things that an operator is made of, without regard to devices. Devices know Work
// but no operators, and operators know Work but no devices. Sizes are per micro-batch on one device.
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/graph/tensor_type.h"
#include "engine/ops/core/functions.h"
#include "profiler/model/enums.h"

namespace pipescope::ops {

using graph::ElementType;

/// Products and convolutions. A matrix product [m,k]·[k,n] is a convolution with batch 1, field {m}, kernel
/// {1}, inputChannels k and outputChannels n; a batched product has groups = batch. The geometry is that of
/// the forward pass, and `phase` says which of the three products is meant.
struct Contraction {
  enum class Phase { forward, inputGradient, weightGradient };
  Phase phase = Phase::forward;
  std::int64_t batch = 1, groups = 1;
  std::int64_t inputChannels = 1, outputChannels = 1;  ///< per group
  std::vector<std::int64_t> field, kernel, output;     ///< spatial extents of input, kernel and output
  std::vector<std::int64_t> stride, dilation,
      padding;  ///< the padding at the begin of each axis, then at the end of each axis
  bool transposed = false;
  ElementType type = ElementType::float32, accumulate = ElementType::float32;
  /// True for one of the three products of a trained layer, whose layouts a device may choose together.
  bool trained = false;
  /// Multiply-adds of the phase, which are the same for all three.
  std::int64_t multiplyAdds() const;
};
/// The same product of matrices written in the other order, [n,k]·[k,m] instead of [m,k]·[k,n], whose
/// gradients have changed places. A convolution stays as it is.
Contraction transposedProduct(Contraction product);

/// Elementwise work: each result element comes from one element of each operand.
struct Map {
  MapFunction function = MapFunction::add;
  std::int64_t elements = 0;
  std::int64_t operands = 1;
  ElementType type = ElementType::float32;
  bool inPlace = false;
  bool perRow = false;  ///< the second operand is the same for a whole row of the innermost axis
};

struct Reduce {
  ReduceFunction function = ReduceFunction::sum;
  std::int64_t outputs = 1, depth = 1;  ///< each output is made of `depth` elements
  bool contiguous = true;               ///< the reduced axis is the innermost
  ElementType type = ElementType::float32;
  /// Order of elements in memory: `run` neighbours that are all reduced (contiguous) or all kept, `rows`
  /// times, before the other axes change. 0: all elements.
  std::int64_t run = 0, rows = 0;
};

struct Pool {
  PoolFunction function = PoolFunction::max;
  bool backward = false;
  std::int64_t batch = 1, channels = 1;
  std::vector<std::int64_t> field, kernel, output, stride;
  ElementType type = ElementType::float32;
};

/// Picks rows of a table by index.
struct Gather {
  std::int64_t rows = 1, rowElements = 1, tableRows = 1;
  ElementType type = ElementType::float32;
};
/// Adds or writes rows into a table by index.
struct Scatter {
  std::int64_t rows = 1, rowElements = 1, tableRows = 1;
  bool accumulate = true;
  ElementType type = ElementType::float32;
};

/// Moves without arithmetic: transpose, concat, slice, pad.
struct Rearrange {
  std::int64_t elements = 0;
  std::int64_t runElements = 1;  ///< number of elements that stay neighbours
  ElementType type = ElementType::float32;
};

struct Sort {
  std::int64_t rows = 1, rowElements = 1, keep = 1;
  ElementType type = ElementType::float32;
};

struct Random {
  std::int64_t elements = 0;
  ElementType type = ElementType::float32;
};

/// Choices of experts in an exchange of tokens: each token is there once for each expert that it chose. The
/// experts lie one after another on the chips that take part. A token chooses among the experts of
/// `groupChoices` of `groups` equal groups only.
struct ExpertChoices {
  std::int64_t experts = 0;  ///< 0: no exchange of tokens
  std::int64_t perToken = 1;
  std::int64_t groups = 1, groupChoices = 1;
};

struct Collective {
  /// allToAll: each chip sends an equal part of its tensor to every other one. ringSend: each chip sends its
  /// tensor to the next one of a ring.
  enum class Kind { allReduce, reduceScatter, allGather, broadcast, allToAll, ringSend };
  Kind kind = Kind::allReduce;
  std::int64_t elements = 0;  ///< elements of the whole tensor: those that each replica has before the
                              ///< collective (allGather: after it)
  ElementType type = ElementType::float32;
  std::int64_t group = 0;  ///< number of neighbours along the axis that take part; 0: all
  model::MeshAxis axis = model::MeshAxis::data;
  /// Chips that take part along the axis `data`, besides the replicas: none; the ranks of a place that hold
  /// the same weights although they take other tokens (axis `context`); or those of the axis `expert`, too,
  /// as for all weights that are not divided among experts.
  enum class Holders { replicas, contexts, all } holders = Holders::replicas;
  /// The model itself asks for it, as a batch norm over replicas does, so it belongs to the work of its pass.
  bool ofModel = false;
  std::vector<std::int64_t> places = {};  ///< along the axis `pipe`: the places that take part, ascending
  ExpertChoices experts = {};             ///< all-to-all of tokens: how many experts each of them chose
};

struct HostCopy {
  bool toDevice = true;
  base::Bytes bytes;
  bool remote = false;  ///< true: copies from or to the streaming memory of the device instead of the host
};

using WorkItem = std::variant<Contraction, Map, Reduce, Pool, Gather, Scatter, Rearrange, Sort, Random,
                              Collective, HostCopy>;

struct Work {
  WorkItem item;
  std::int64_t repeat = 1;  ///< executions, one after another
  std::string label;        ///< part of the name path if the operator has several pieces: "Reduce", "Bias"
  /// Products of an operator with the same number above 0 are independent, so a device may run them side by
  /// side.
  std::int64_t concurrent = 0;
};

/// "AllReduce", "ReduceScatter" …
const char* toString(Collective::Kind kind);
/// Bytes that a chip sends in a collective of `bytes` (Collective::elements) if its parts go round a ring:
/// 2·(n−1)/n of them in an all-reduce or broadcast, (n−1)/n in the others, all in a ring send.
std::int64_t sentBytes(Collective::Kind kind, std::int64_t bytes, std::int64_t chips);
/// "contraction", "map" …
std::string kindOf(const Work& work);
/// Floating-point operations with repeats; a multiply-add counts as 2.
double flopsOf(const Work& work);

}  // namespace pipescope::ops
