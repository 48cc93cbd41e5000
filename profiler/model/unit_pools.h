#pragma once
// Divides the addresses of one unit (tile) between always-live data and data that shares memory. The engine
// counts the bytes of each region with it, and readers of a profile find the same addresses again.
//
// Always-live data lies at address 0 and above, in the given order. Data that shares addresses follows. Data
// that needs a memory element of its own begins at the next element, and data that needs another one lies
// behind that. Interleaved memory begins with the data that needs it. If something finds no room below, it
// comes first, and the data that needs interleaved memory begins at the next of its elements, because a
// vertex writes it while it reads operands; if that does not fit, the data that finds no room below follows.
// Overflowing data lies behind the unit's end. While nothing that needs interleaved memory is live, anything
// may use it, so a unit takes no more than the most that is live at once.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pipescope::model {

/// The sizes of a unit's memory in bytes. If it has no interleaved memory, interleavedStart equals bytes.
struct UnitShape {
  std::int64_t bytes = 0, interleavedStart = 0;
  std::int64_t elementBytes = 1;
};

struct UnitDemand {
  std::vector<std::int64_t> alwaysLive;
  // The most bytes that are live at once, of what is not always live.
  std::int64_t all = 0;             ///< bytes of everything together
  std::int64_t interleaved = 0;     ///< bytes that must lie in interleaved memory
  std::int64_t ownElement = 0;      ///< bytes that need a memory element of their own
  std::int64_t anotherElement = 0;  ///< bytes that need a memory element besides that
  /// The bytes of each entry of `alwaysLive` that must lie in interleaved memory. Missing entries are 0.
  std::vector<std::int64_t> alwaysInterleaved = {};
};

enum class UnitRegion : std::uint8_t { nonInterleaved = 0, interleaved = 1, overflowed = 2 };
inline constexpr std::size_t kUnitRegions = 3;
const char* nameOf(UnitRegion region);

/// A range of addresses, [from, from + bytes), which lies in one region.
struct UnitPool {
  enum class Use : std::uint8_t { alwaysLive, anywhere, interleaved, ownElement, anotherElement, gap };
  Use use = Use::gap;
  std::size_t index = 0;  ///< index in the demand of an always-live entry
  UnitRegion region = UnitRegion::nonInterleaved;
  std::int64_t from = 0, bytes = 0;
};

/// The ranges together have no holes up to the end of the last one of them. No range is empty.
std::vector<UnitPool> unitPools(const UnitShape& shape, const UnitDemand& demand);

}  // namespace pipescope::model
