#pragma once
// Work: the closed, device-neutral set of things an operator is made of. Devices know Work, never operators;
// operators know Work, never devices. Sizes are per micro-batch on one device.
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/graph/tensor_type.h"
#include "engine/ops/core/functions.h"

namespace pipescope::ops {

using graph::ElementType;

/// Products and convolutions. A matrix product [m,k]·[k,n] is a convolution with batch 1, field {m}, kernel
/// {1}, inputChannels k, outputChannels n; a batched one has groups = batch. All geometry is the forward one;
/// `phase` says which of the three products is meant.
struct Contraction {
  enum class Phase { forward, inputGradient, weightGradient };
  Phase phase = Phase::forward;
  std::int64_t batch = 1, groups = 1;
  std::int64_t inputChannels = 1, outputChannels = 1;  ///< per group
  std::vector<std::int64_t> field, kernel, output;     ///< spatial extents: input, kernel, output
  std::vector<std::int64_t> stride, dilation,
      padding;  ///< padding: begin of each axis, then end of each axis
  bool transposed = false;
  ElementType type = ElementType::float32, accumulate = ElementType::float32;
  /// One of the three products of a layer that is trained: a device may choose layouts for all three
  /// together.
  bool trained = false;
  /// Multiply-adds of the phase: the same for all three.
  std::int64_t multiplyAdds() const;
};

/// Elementwise: one result element from one element of each operand.
struct Map {
  MapFunction function = MapFunction::add;
  std::int64_t elements = 0;
  std::int64_t operands = 1;
  ElementType type = ElementType::float32;
  bool inPlace = false;
};

struct Reduce {
  ReduceFunction function = ReduceFunction::sum;
  std::int64_t outputs = 1, depth = 1;  ///< depth elements make one output
  bool contiguous = true;               ///< reduced axis is the innermost
  ElementType type = ElementType::float32;
  /// In memory: `run` elements in a row that are all reduced (contiguous) or all kept, `rows` times, before
  /// the other axes change. 0: all there are.
  std::int64_t run = 0, rows = 0;
};

struct Pool {
  PoolFunction function = PoolFunction::max;
  bool backward = false;
  std::int64_t batch = 1, channels = 1;
  std::vector<std::int64_t> field, kernel, output, stride;
  ElementType type = ElementType::float32;
};

/// Rows picked from a table by index.
struct Gather {
  std::int64_t rows = 1, rowElements = 1, tableRows = 1;
  ElementType type = ElementType::float32;
};
/// Rows added or written into a table by index.
struct Scatter {
  std::int64_t rows = 1, rowElements = 1, tableRows = 1;
  bool accumulate = true;
  ElementType type = ElementType::float32;
};

/// Moves without arithmetic: transpose, concat, slice, pad.
struct Rearrange {
  std::int64_t elements = 0;
  std::int64_t runElements = 1;  ///< elements that stay neighbours
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

struct Collective {
  enum class Kind { allReduce, reduceScatter, allGather, broadcast } kind = Kind::allReduce;
  std::int64_t elements = 0;  ///< of the whole tensor: what each replica has before (allGather: after) it
  ElementType type = ElementType::float32;
  std::int64_t group = 0;  ///< neighbouring replicas that take part; 0: all
};

struct HostCopy {
  bool toDevice = true;
  base::Bytes bytes;
  bool remote = false;  ///< from or to the device's streaming memory instead of the host
};

using WorkItem = std::variant<Contraction, Map, Reduce, Pool, Gather, Scatter, Rearrange, Sort, Random,
                              Collective, HostCopy>;

struct Work {
  WorkItem item;
  std::int64_t repeat = 1;  ///< one after another
  std::string label;        ///< own part of the name path where an operator has several: "Reduce", "Bias"
  /// Products of an operator with the same number above 0 do not depend on each other: a device may run them
  /// side by side.
  std::int64_t concurrent = 0;
};

/// "contraction", "map" …
std::string kindOf(const Work& work);
/// Floating-point operations, repeats included; a multiply-add counts 2.
double flopsOf(const Work& work);

}  // namespace pipescope::ops
