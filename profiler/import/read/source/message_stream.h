#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "profiler/import/read/source/byte_source.h"

namespace pipescope::importing {

/// Reads numbers and blocks of a protobuf file, one after the other.
class MessageStream {
 public:
  /// Longer blocks are passed over: no event is that large.
  static constexpr std::size_t kMostBytes = 16 << 20;
  explicit MessageStream(ByteSource& source) : source_(source) {}

  /// Reads a varint. Nothing at the end of the source, or if it is damaged.
  std::optional<std::uint64_t> number();
  /// Reads `size` bytes. False if the source ends before. A block above the limit is passed over; `block` is
  /// empty then, and `oversized()` counts it.
  bool block(std::uint64_t size, std::string& block);
  /// Number of bytes that were read.
  std::uint64_t position() const { return dropped_ + at_; }
  /// True if no bytes follow.
  bool atEnd() { return at_ == buffer_.size() && !fill(); }
  std::int64_t oversized() const { return oversized_; }
  /// A sentence if the source ended with an error, or within a number or block; otherwise empty.
  const std::string& failure() const { return failure_; }

 private:
  bool fill();

  ByteSource& source_;
  std::string buffer_, failure_;
  std::size_t at_ = 0;
  std::uint64_t dropped_ = 0;  ///< bytes before the buffer
  std::int64_t oversized_ = 0;
};

}  // namespace pipescope::importing
