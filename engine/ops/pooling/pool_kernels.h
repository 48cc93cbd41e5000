#pragma once
// Maximum over windows. A window that holds a NaN gives NaN; ties go to the first element in row-major order.
#include "engine/ops/core/window.h"

namespace pipescope::ops {

/// planes = batch × channels; x: planes × window.input, y: planes × window.output.
struct PoolPlan {
  Window window;
  std::int64_t planes = 0;
};

/// Scratch: one input row for each of poolRanges().
template <class T>
void maxPool(const KernelArguments& arguments, const PoolPlan& plan, const T* x, T* y, T* scratch);
/// Tasks that the planes are split into.
std::int64_t poolRanges(const PoolPlan& plan);

/// Where each maximum stands, as ONNX's Indices: counted over the whole tensor, within a plane row-major, or
/// with the first spatial axis fastest (`columnMajor`).
template <class T>
void maxPoolIndices(const PoolPlan& plan, const T* x, const T* y, std::int64_t* indices, bool columnMajor);

/// dx from x, y = maxPool(x) and the gradient by y.
template <class T>
void maxPoolGradient(const KernelArguments& arguments, const PoolPlan& plan, const T* x, const T* y,
                     const T* dy, T* dx);

}  // namespace pipescope::ops
