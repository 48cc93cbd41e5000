#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

namespace pipescope::numerics {

inline constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t alignedBytes(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Zeroed memory that starts at a multiple of 64 bytes. Large buffers use large pages.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::int64_t bytes);

  std::span<std::byte> bytes() { return {memory_.get(), size_}; }
  std::span<const std::byte> bytes() const { return {memory_.get(), size_}; }
  std::span<std::byte> part(std::int64_t offset, std::int64_t length) {
    return bytes().subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
  }
  std::span<const std::byte> part(std::int64_t offset, std::int64_t length) const {
    return bytes().subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte[], Free> memory_;
  std::size_t size_ = 0;
};

/// Views bytes as values. The start of the span must be aligned for T.
template <class T>
std::span<T> valuesOf(std::span<std::byte> bytes) {
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}
template <class T>
std::span<const T> valuesOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

}  // namespace pipescope::numerics
