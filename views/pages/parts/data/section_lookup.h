#pragma once
// Finds parts of a report section by their keys.
#include <QString>
#include <string_view>

#include "profiler/sections/frame/section.h"

namespace pipescope::pages {

/// Makes the section of this name.
base::Result<sections::Section> sectionNamed(std::string_view name, const sections::Context& context);
/// Returns the table with this key; null if the section has no such table.
const sections::SectionTable* tableNamed(const sections::Section& section, std::string_view key);
/// Returns the fact with this key; null if the section has no such fact.
const sections::Fact* factNamed(const sections::Section& section, std::string_view key);
/// The position of a column; a table without it is a fault of the program.
std::size_t columnNamed(const sections::SectionTable& table, std::string_view key);

/// The cell as a number; 0 if it has no value.
double numberIn(const sections::Cell& cell);
/// The value of a fact as a number; 0 if it has no value.
double numberIn(const sections::Section& section, std::string_view fact);
/// The interval of a modelled figure, "80 %: 494.5 … 870.2 µs", from the fact with its lower end, such as
/// "step_least_cycles"; empty if the section has no interval. All cards and lists write intervals with it.
QString intervalIn(const sections::Section& section, std::string_view leastKey);
/// The text with its interval behind it, after a semicolon.
QString withInterval(const QString& text, const QString& interval);
/// The cell as words; empty if it has none.
QString wordsIn(const sections::Cell& cell);

}  // namespace pipescope::pages
