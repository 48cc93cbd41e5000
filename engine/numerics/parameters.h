#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/numerics/aligned_buffer.h"
#include "profiler/base/result.h"

namespace pipescope::numerics {

/// Named weights in one block of memory. Copying a Parameters copies the values, which is how weights are
/// saved and handed to another executable.
class Parameters {
 public:
  Parameters() = default;
  /// Makes zeros for every parameter of the graph, in the order of its tensors.
  explicit Parameters(const graph::Graph& graph);
  Parameters(const Parameters& other);
  Parameters& operator=(const Parameters& other);
  Parameters(Parameters&&) noexcept = default;
  Parameters& operator=(Parameters&&) noexcept = default;

  /// Draws all values from the initializers of the graph. The numbers are keyed by seed and name, so a graph
  /// with another micro-batch size or another split starts with the same weights. float32 only.
  base::Status initialize(const graph::Graph& graph, std::uint64_t seed);
  /// Copies values by name. `other` must hold every parameter of this object with the same type; it may hold
  /// more.
  base::Status assignFrom(const Parameters& other);

  std::size_t count() const { return entries_.size(); }
  std::int64_t elements() const;
  const std::string& name(std::size_t index) const { return entries_[index].name; }
  const graph::TensorType& type(std::size_t index) const { return entries_[index].type; }
  /// Index of a name, or count() if there is none.
  std::size_t find(const std::string& name) const;
  std::span<std::byte> bytes(std::size_t index) {
    return memory_.part(entries_[index].offset, entries_[index].type.bytes().count);
  }
  std::span<const std::byte> bytes(std::size_t index) const {
    return memory_.part(entries_[index].offset, entries_[index].type.bytes().count);
  }
  std::span<float> floats(std::size_t index) { return valuesOf<float>(bytes(index)); }
  std::span<const float> floats(std::size_t index) const { return valuesOf<float>(bytes(index)); }

  /// A hash of names, types and bits. Weights with equal hashes are bit-equal, except by chance.
  std::uint64_t hash() const;

 private:
  struct Entry {
    std::string name;
    graph::TensorType type;
    std::int64_t offset = 0;
  };
  std::vector<Entry> entries_;
  AlignedBuffer memory_;
};

}  // namespace pipescope::numerics
