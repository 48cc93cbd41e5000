#include "profiler/import/read/source/message_stream.h"

#include <algorithm>

namespace pipescope::importing {
namespace {

constexpr const char* kEndsEarly = "The trace ends within a message, which is left out.";

}  // namespace

bool MessageStream::fill() {
  dropped_ += at_;
  buffer_.resize(256 * 1024);
  at_ = 0;
  auto count = source_.read(buffer_);
  if (!count.ok()) failure_ = count.error().message;
  buffer_.resize(count.ok() ? *count : 0);
  return !buffer_.empty();
}

std::optional<std::uint64_t> MessageStream::number() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at_ == buffer_.size() && !fill()) {
      if (shift > 0 && failure_.empty()) failure_ = kEndsEarly;
      return std::nullopt;
    }
    const auto byte = static_cast<unsigned char>(buffer_[at_++]);
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if (byte < 0x80) return value;
  }
  failure_ = "The trace is damaged: a number is longer than 10 bytes. What follows is left out.";
  return std::nullopt;
}

bool MessageStream::block(std::uint64_t size, std::string& block) {
  block.clear();
  const bool kept = size <= kMostBytes;
  oversized_ += kept ? 0 : 1;
  while (size > 0) {
    if (at_ == buffer_.size() && !fill()) {
      if (failure_.empty()) failure_ = kEndsEarly;
      return false;
    }
    const std::size_t part = static_cast<std::size_t>(std::min<std::uint64_t>(size, buffer_.size() - at_));
    if (kept) block.append(buffer_, at_, part);
    at_ += part;
    size -= part;
  }
  return true;
}

}  // namespace pipescope::importing
