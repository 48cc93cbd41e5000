#pragma once
// Messages of protobuf formats, written by hand.
#include <cstdint>
#include <string>

namespace pipescope::importing {

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7U) bytes += static_cast<char>(value | 128U);
  return bytes + static_cast<char>(value);
}

/// A field of type varint.
inline std::string number(std::uint64_t field, std::uint64_t value) {
  return varint(field << 3U) + varint(value);
}

}  // namespace pipescope::importing
