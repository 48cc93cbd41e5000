#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pipescope::store {

/// Small signed numbers as small unsigned ones: 0, −1, 1, −2 … become 0, 1, 2, 3 …
constexpr std::uint64_t zigZag(std::int64_t n) {
  return static_cast<std::uint64_t>(n) << 1 ^ static_cast<std::uint64_t>(n >> 63);
}
constexpr std::int64_t unZigZag(std::uint64_t u) {
  return static_cast<std::int64_t>(u >> 1 ^ (~(u & 1) + 1));
}

/// Seven bits a byte, least significant first; the top bit says that more follow.
void appendVarint(std::string& out, std::uint64_t number);

/// Reads what may be damaged: past the end, or of a malformed number, everything reads as 0 and failed() is
/// true.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  std::uint8_t byte();
  /// The next byte, which stays; −1 at the end.
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
  /// signedVarint() `count` times.
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
