#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pipescope::store {

/// Maps small signed numbers to small unsigned ones: 0, −1, 1, −2 … become 0, 1, 2, 3 ….
constexpr std::uint64_t zigZag(std::int64_t n) {
  return static_cast<std::uint64_t>(n) << 1 ^ static_cast<std::uint64_t>(n >> 63);
}
constexpr std::int64_t unZigZag(std::uint64_t u) {
  return static_cast<std::int64_t>(u >> 1 ^ (~(u & 1) + 1));
}

/// Appends seven bits a byte, least significant first. The top bit says that more bytes follow.
void appendVarint(std::string& out, std::uint64_t number);

/// Reads bytes that may be damaged. Past the end, or after a malformed number, everything reads as 0 and
/// failed() is true.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  std::uint8_t byte();
  /// The next byte, which is not consumed, or −1 at the end.
  int peek() const { return bytes_.empty() ? -1 : static_cast<unsigned char>(bytes_.front()); }
  std::uint64_t varint() {
    if (!bytes_.empty() && static_cast<unsigned char>(bytes_.front()) < 0x80) {
      const auto number = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      return number;
    }
    return longVarint();
  }
  std::int64_t signedVarint() { return unZigZag(varint()); }
  /// Reads `count` numbers as signedVarint() does.
  void signedVarints(std::int64_t* into, std::size_t count);
  std::string_view take(std::uint64_t count);

  std::size_t left() const { return bytes_.size(); }
  bool failed() const { return failed_; }

 private:
  std::uint64_t longVarint();
  std::string_view bytes_;
  bool failed_ = false;
};

}  // namespace pipescope::store
