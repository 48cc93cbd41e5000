#pragma once
// The table file that `pipescope sweep -o` writes, read back for the window.
#include <string>
#include <string_view>
#include <vector>

#include "profiler/figures/figure.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::sections {

/// All figures of the rows of a sweep, in the order of the table. They stand behind the varied keys.
const std::vector<const figures::Figure*>& sweepFigures();
/// One of them; null: a sweep has no such figure.
const figures::Figure* findSweepFigure(std::string_view key);
/// The column of one of them.
SectionColumn sweepColumn(const figures::Figure& figure);
/// Keys of further columns: a hash of the configuration, and the file of the row's profile.
inline constexpr const char *kSweepHash = "configuration_hash", *kSweepProfile = "profile";
/// The property of a profile that names the table of the sweep from which it comes.
inline constexpr const char* kSweepTableProperty = "sweep_table";

/// Writes step times in cost units where they are costs: no row has a rate of samples then, though steps have
/// lengths. For text and window; programs read microseconds, in which a cost unit counts as a second.
void showCostUnits(SectionTable& table);

struct SweepFile {
  std::string name;                   ///< name of the model, or else of the file
  SectionTable table;                 ///< varied keys, figures that some row has, remarks
  std::size_t varied = 0;             ///< the number of varied keys, which are the first columns
  std::vector<std::string> profiles;  ///< file of each row's profile; empty: none
  std::vector<bool> fits;             ///< true for a row that can run, and that fits as far as that is known
};

/// Reads a table, .csv or .json. Errors: the file cannot be read, or is no table of a sweep.
base::Result<SweepFile> readSweepFile(const std::string& path);
/// True if the file seems to be such a table. It reads the beginning of the file.
bool isSweepFile(const std::string& path);

/// Marks the rows that are on the Pareto front: one element for each row. Such a row fits, and no other row
/// that fits is better in one of the figures and at least as good in the others. Rows that lack one of the
/// figures are not on the front. `columns` are columns of the table. If a column is a varied key, smaller
/// values are better.
std::vector<bool> paretoRows(const SweepFile& file, const std::vector<std::size_t>& columns);

}  // namespace pipescope::sections
