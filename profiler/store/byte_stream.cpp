#include "profiler/store/byte_stream.h"

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
