#pragma once
// Tensors on the host: views of the caller's memory, and tensors that a call returns.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/tensor_type.h"

namespace pipescope::run {

/// A tensor in memory that belongs to somebody else, densely packed with the last axis innermost. It is never
/// copied unless its elements must be converted.
struct HostTensor {
  graph::TensorType type;
  std::span<const std::byte> bytes;

  template <class T>
  std::span<const T> values() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

/// A tensor that a call returns.
struct OutputTensor {
  std::string name;
  graph::TensorType type;
  std::vector<std::byte> bytes;

  template <class T>
  std::span<const T> values() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  HostTensor view() const { return {type, bytes}; }
};

/// Name and type of an input, an output or a weight.
struct TensorInfo {
  std::string name;
  graph::TensorType type;
};

}  // namespace pipescope::run
