#pragma once
// The numbers, limits and SQL of a profile.pop, derived from the declarations in profiler/model. README.md
// describes the tables and the layout of blocks.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "profiler/base/files/file_kind.h"
#include "profiler/model/columns.h"

namespace pipescope::store {

/// "PScp" in the SQLite header's application_id.
inline constexpr std::uint32_t kApplicationId = base::kProfileId;

/// Raise the minor when tables, columns or codecs change. If only tables in blocks were added at the end,
/// older files can still be read, and do not have these tables.
inline constexpr int kFormatMajor = 0;
inline constexpr int kFormatMinor = 9;
inline constexpr int kOldestReadMinor = 8;
/// The SQLite header's user_version: 1000 · major + minor.
inline constexpr std::uint32_t kUserVersion = 1000 * kFormatMajor + kFormatMinor;
inline constexpr std::uint32_t kOldestReadVersion = 1000 * kFormatMajor + kOldestReadMinor;
/// True if this program reads files of the format.
constexpr bool isRead(std::uint32_t userVersion) {
  return userVersion >= kOldestReadVersion && userVersion <= kUserVersion;
}
/// Number of tables in files of a format that is read.
constexpr std::size_t tableCountOf(std::uint32_t userVersion) {
  return userVersion == kOldestReadVersion ? model::tableIndexOf<model::HostThread>() : model::kTableCount;
}
/// "0.1" for 1.
std::string formatName(std::uint32_t userVersion);

/// A block of a table in Storage::blocks holds 1 … kMostRowsPerBlock rows. The writer makes shorter blocks of
/// rows that are read in short ranges.
inline constexpr std::size_t kMostRowsPerBlock = 16'384, kShortBlock = 4096;
/// Blocks of one commit and table share a payload up to these limits.
inline constexpr std::size_t kMostRowsPerPayload = 65'536, kMostBlocksPerPayload = 16;
/// Limit of the bytes of one value, of the payload of a block, and of a block before compression.
inline constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;

struct KnownTable {
  std::string name;
  std::string create;  ///< the exact CREATE statement
};

/// Every table of a profile: the four of the store, then one for each plain row type.
const std::vector<KnownTable>& knownTables();

/// An INSERT with one parameter for each column, in order.
std::string insertStatement(const model::Table& table);
/// A SELECT of all columns of the first ?1 rows, in the order of recording.
std::string selectStatement(const model::Table& table);

}  // namespace pipescope::store
