#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pipescope::store {

/// A running CRC-32 (zlib's, ISO-HDLC polynomial) over values in a fixed byte order.
class Checksum {
 public:
  Checksum() = default;
  /// Continues from the value of an earlier checksum.
  explicit Checksum(std::uint32_t value) : value_(value) {}

  /// Adds the bytes themselves.
  Checksum& bytes(std::string_view data);
  /// Adds eight bytes, least significant first.
  Checksum& integer(std::int64_t number);
  /// Adds the eight bytes of canonical(number).
  Checksum& real(double number);
  /// Adds the length as an integer, then the bytes.
  Checksum& text(std::string_view data);

  std::uint32_t value() const;

 private:
  std::uint32_t value_ = 0;
  /// Bytes that value_ does not contain yet. They gather here, because zlib is slow with a few bytes at a
  /// time.
  std::array<char, 512> pending_;
  std::size_t count_ = 0;
};

/// The value that SQLite returns for a REAL: it has one not-a-number and no negative zero.
double canonical(double number);

}  // namespace pipescope::store
