#include "profiler/store/blocks/byte_stream.h"

#include <cstring>

namespace pipescope::store {

void appendVarint(std::string& out, std::uint64_t number) {
  char bytes[10];
  std::size_t count = 0;
  for (; number >= 0x80; number >>= 7) bytes[count++] = static_cast<char>(number | 0x80);
  bytes[count++] = static_cast<char>(number);
  out.append(bytes, count);
}

std::uint8_t ByteReader::byte() {
  const std::string_view one = take(1);
  return one.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(one[0]);
}

std::uint64_t ByteReader::longVarint() {
  std::uint64_t number = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const std::uint8_t next = byte();
    number |= std::uint64_t{next & 0x7fu} << shift;
    if (next < 0x80) {
      if (shift == 63 && next > 1) break;  // more than 64 bits
      return failed_ ? 0 : number;
    }
  }
  failed_ = true;
  return 0;
}

void ByteReader::signedVarints(std::int64_t* into, std::size_t count) {
  constexpr std::size_t kAtOnce = 8;
  constexpr std::uint64_t kTopBits = 0x8080'8080'8080'8080;
  for (std::size_t i = 0; i < count;) {
    std::uint64_t eight = kTopBits;
    if (count - i >= kAtOnce && bytes_.size() >= kAtOnce) std::memcpy(&eight, bytes_.data(), kAtOnce);
    if ((eight & kTopBits) != 0) {
      into[i++] = signedVarint();
      continue;
    }
    for (std::size_t k = 0; k < kAtOnce; ++k) into[i + k] = unZigZag(static_cast<std::uint8_t>(bytes_[k]));
    bytes_.remove_prefix(kAtOnce);
    i += kAtOnce;
  }
}

std::string_view ByteReader::take(std::uint64_t count) {
  if (failed_ || count > bytes_.size()) {
    failed_ = true;
    bytes_ = {};
    return {};
  }
  const std::string_view taken = bytes_.substr(0, static_cast<std::size_t>(count));
  bytes_.remove_prefix(static_cast<std::size_t>(count));
  return taken;
}

}  // namespace pipescope::store
