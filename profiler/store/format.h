#pragma once
// The numbers, limits and SQL of a profile.pop, derived from the declarations in profiler/model. README.md
// describes the tables and the layout of blocks.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/base/files/file_kind.h"
#include "profiler/model/columns.h"

namespace pipescope::store {

/// "PScp" in the SQLite header's application_id.
inline constexpr std::uint32_t kApplicationId = base::kProfileId;

/// A minor only adds tables, columns and values at the end (FORMAT.md, "Versions"), so a program reads all
/// minors of its major, older and newer ones.
inline constexpr int kFormatMajor = 1, kFormatMinor = 0;
/// The SQLite header's user_version: 1000 · major + minor.
constexpr std::uint32_t userVersionOf(int major, int minor) {
  return 1000 * static_cast<std::uint32_t>(major) + static_cast<std::uint32_t>(minor);
}
inline constexpr std::uint32_t kUserVersion = userVersionOf(kFormatMajor, kFormatMinor);
inline constexpr std::uint32_t kOldestReadVersion = userVersionOf(0, 8);
/// True if this program reads files of the format.
constexpr bool isRead(std::uint32_t userVersion) {
  return userVersion >= kOldestReadVersion && userVersion < userVersionOf(kFormatMajor + 1, 0);
}
/// Number of tables that this program knows in files of a format that is read.
constexpr std::size_t tableCountOf(std::uint32_t userVersion) {
  return userVersion < userVersionOf(0, 9) ? model::tableIndexOf<model::HostThread>() : model::kTableCount;
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
  std::string create;           ///< the CREATE statement of this format
  bool mayGrow = false;         ///< true if other minors may have more or fewer columns at the end
  std::size_t tableNumber = 0;  ///< of a table that may grow
};
/// True if the CREATE statement is that of the table, or differs by columns at the end that another minor
/// has.
bool isDefinition(const KnownTable& table, std::string_view create);

/// Every table of a profile: the four of the store, then one for each plain row type.
const std::vector<KnownTable>& knownTables();

/// An INSERT of some rows with one parameter for each column, in order, row by row.
std::string insertStatement(const model::Table& table, std::size_t rows = 1);
/// A SELECT of all columns that the file has, of the first ?1 rows, in the order of recording.
std::string selectStatement(const model::Table& table);

}  // namespace pipescope::store
