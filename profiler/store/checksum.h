#pragma once
#include <cstdint>
#include <string_view>

namespace pipescope::store {

/// A running CRC-32 (zlib's, ISO-HDLC polynomial) over values in a fixed byte order.
class Checksum {
 public:
  Checksum() = default;
  /// Goes on from the value of an earlier checksum.
  explicit Checksum(std::uint32_t value) : value_(value) {}

  /// The bytes themselves.
  Checksum& bytes(std::string_view data);
  /// Eight bytes, least significant first.
  Checksum& integer(std::int64_t number);
  /// The value's eight bytes, after canonical().
  Checksum& real(double number);
  /// The length as an integer, then the bytes.
  Checksum& text(std::string_view data);

  std::uint32_t value() const { return value_; }

 private:
  std::uint32_t value_ = 0;
};

/// What SQLite gives back for a REAL: one not-a-number, no negative zero.
double canonical(double number);

}  // namespace pipescope::store
