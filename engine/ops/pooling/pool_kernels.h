#pragma once
// The maximum over windows. A window that holds a NaN gives NaN. The first of equal elements in row-major
// order counts.
#include "engine/ops/core/window.h"

namespace pipescope::ops {

/// planes = batch × channels; x has planes × window.input elements and y planes × window.output.
struct PoolSetup {
  Window window;
  std::int64_t planes = 0;
};

/// Floats of scratch: one input row for each of poolRanges().
template <class T>
void maxPool(const KernelArguments& arguments, const PoolSetup& setup, const T* x, T* y, T* scratch);
/// The number of tasks into which the planes are split.
std::int64_t poolRanges(const PoolSetup& setup);

/// Writes the position of each maximum, as in ONNX's Indices: counted over the whole tensor, within a plane
/// in row-major order, or with the first spatial axis fastest (`columnMajor`).
template <class T>
void maxPoolIndices(const PoolSetup& setup, const T* x, const T* y, std::int64_t* indices, bool columnMajor);

/// Computes dx from x, y = maxPool(x) and the gradient by y.
template <class T>
void maxPoolGradient(const KernelArguments& arguments, const PoolSetup& setup, const T* x, const T* y,
                     const T* dy, T* dx);

}  // namespace pipescope::ops
