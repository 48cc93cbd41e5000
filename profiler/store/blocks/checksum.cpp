#include "profiler/store/blocks/checksum.h"

#include <zlib.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace pipescope::store {

Checksum& Checksum::bytes(std::string_view data) {
  value_ =
      static_cast<std::uint32_t>(crc32_z(value_, reinterpret_cast<const Bytef*>(data.data()), data.size()));
  return *this;
}

Checksum& Checksum::integer(std::int64_t number) {
  std::array<char, 8> buffer;
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    buffer[i] = static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i));
  }
  return bytes({buffer.data(), buffer.size()});
}

Checksum& Checksum::real(double number) {
  return integer(std::bit_cast<std::int64_t>(canonical(number)));
}

Checksum& Checksum::text(std::string_view data) {
  return integer(static_cast<std::int64_t>(data.size())).bytes(data);
}

double canonical(double number) {
  if (std::isnan(number)) return std::numeric_limits<double>::quiet_NaN();
  return number == 0 ? 0.0 : number;
}

}  // namespace pipescope::store
