#pragma once
// What a profile.pop is on disk: numbers, limits and SQL, derived from the declarations in profiler/model.
// README.md describes the tables and the layout of blocks.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "profiler/model/columns.h"

namespace pipescope::store {

/// "PScp" in the SQLite header's application_id.
inline constexpr std::uint32_t kApplicationId = 0x50536370;

/// Format 0.x: files are opened by the same minor only. Raise the minor when tables, columns or codecs
/// change.
inline constexpr int kFormatMajor = 0;
inline constexpr int kFormatMinor = 6;
/// The SQLite header's user_version: 1000 · major + minor.
inline constexpr std::uint32_t kUserVersion = 1000 * kFormatMajor + kFormatMinor;
/// "0.1" of 1.
std::string formatName(std::uint32_t userVersion);

/// A block of a table in Storage::blocks holds 1 … kMostRowsPerBlock rows; the writer makes shorter ones of
/// rows that are asked for by short stretches.
inline constexpr std::size_t kMostRowsPerBlock = 16'384, kShortBlock = 4096;
/// Blocks of one commit and table share a payload, as long as they have no more rows than that, and are no
/// more.
inline constexpr std::size_t kMostRowsPerPayload = 65'536, kMostBlocksPerPayload = 16;
/// Most bytes of one value, of a block's payload, and of a block before compression.
inline constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;

struct KnownTable {
  std::string name;
  std::string create;  ///< the exact CREATE statement
};

/// Every table of a profile: the store's own four, then one per plain row type.
const std::vector<KnownTable>& knownTables();

/// INSERT with one parameter per column, in order.
std::string insertStatement(const model::Table& table);
/// SELECT of all columns of the first ?1 rows, in the order of recording.
std::string selectStatement(const model::Table& table);

}  // namespace pipescope::store
