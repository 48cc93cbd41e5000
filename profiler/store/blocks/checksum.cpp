#include "profiler/store/blocks/checksum.h"

#include <zlib.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace pipescope::store {
namespace {

std::uint32_t crcOf(std::uint32_t before, std::string_view data) {
  return static_cast<std::uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(data.data()), data.size()));
}

}  // namespace

Checksum& Checksum::bytes(std::string_view data) {
  if (data.size() > pending_.size() - count_) {
    value_ = value();
    count_ = 0;
  }
  if (data.size() > pending_.size()) {
    value_ = crcOf(value_, data);
  } else if (!data.empty()) {
    std::memcpy(pending_.data() + count_, data.data(), data.size());
    count_ += data.size();
  }
  return *this;
}

Checksum& Checksum::integer(std::int64_t number) {
  std::array<char, sizeof number> buffer;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(buffer.data(), &number, sizeof number);
  } else {
    for (std::size_t i = 0; i < buffer.size(); ++i)
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

std::uint32_t Checksum::value() const {
  return crcOf(value_, {pending_.data(), count_});
}

double canonical(double number) {
  if (std::isnan(number)) return std::numeric_limits<double>::quiet_NaN();
  return number == 0 ? 0.0 : number;
}

}  // namespace pipescope::store
