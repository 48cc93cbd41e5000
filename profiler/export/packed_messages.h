#pragma once
// Writes protobuf messages one after the other, each behind its size.
#include <cstddef>
#include <string>

#include "profiler/export/writer.h"

namespace pipescope::exporting {

/// Pieces of about this size are handed to a Writer.
inline constexpr std::size_t kFlushBytes = std::size_t{1} << 20;

/// Hands the buffer to the writer if it holds more than so many bytes.
inline base::Status flushAbove(std::size_t bytes, const Writer& write, std::string& buffer) {
  if (buffer.size() <= bytes) return {};
  PIPESCOPE_TRY(write(buffer));
  buffer.clear();
  return {};
}

/// Appends the size of the message as a varint, and the message. `packed` is room that is used again.
template <class Message>
void appendSized(const Message& message, std::string& packed, std::string& buffer) {
  message.SerializeToString(&packed);
  std::size_t size = packed.size();
  for (; size >= 0x80; size >>= 7U) buffer += static_cast<char>((size & 0x7FU) | 0x80U);
  buffer += static_cast<char>(size);
  buffer += packed;
}

}  // namespace pipescope::exporting
