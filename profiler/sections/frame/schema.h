#pragma once
// Describes the JSON of reports as a JSON Schema (draft 2020-12).
#include "profiler/sections/frame/section.h"

namespace pipescope::sections {

/// Every section as a profile in which nothing ran has it: with all keys and their meanings, without values.
base::Result<std::vector<std::pair<const SectionDefinition*, Section>>> emptySections();

/// The schema of one section's object.
std::string schemaOf(const Section& section);
/// The heading of a column with its meaning.
std::string meaningOf(const SectionColumn& column);
/// The schema of an object with all sections, as `report --format json` writes it.
base::Result<std::string> schemaOfReport();
/// The schema of the section with this name. The error lists the names.
base::Result<std::string> schemaOfSection(const std::string& name);
/// The schema of what `diff --format json` writes.
base::Result<std::string> schemaOfDiff();
/// The schema of what `what-if --format json` writes.
base::Result<std::string> schemaOfWhatIf();

}  // namespace pipescope::sections
