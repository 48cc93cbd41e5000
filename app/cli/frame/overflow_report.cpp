#include "app/cli/frame/overflow_report.h"

#include <algorithm>
#include <cstdio>

#include "profiler/base/printable.h"
#include "profiler/sections/frame/section.h"
#include "profiler/store/profile_reader.h"

namespace pipescope::cli {
namespace {

/// The tables of all executables of which a part does not fit.
base::Result<std::string> overflowTables(const std::string& profile) {
  PIPESCOPE_ASSIGN(const auto reader, store::ProfileReader::open(profile));
  PIPESCOPE_ASSIGN(const auto catalog, analysis::loadCatalog(*reader));
  PIPESCOPE_ASSIGN(const sections::SectionDefinition* memory, sections::findSection("memory"));
  std::string text;
  for (const model::Executable& executable : catalog->executables) {
    PIPESCOPE_ASSIGN(sections::Section section,
                     sections::makeSection(*memory, {*reader, *catalog, executable.id}));
    std::erase_if(section.tables, [](const sections::SectionTable& table) {
      return table.rows.empty() || (table.key != "out_of_memory" && table.key != "advice");
    });
    if (section.tables.empty()) continue;
    section.title = "The model does not fit in memory (" + executable.name + ")";
    section.facts.clear();
    section.remarks.clear();
    text += (text.empty() ? "" : "\n") + sections::toText(section);
  }
  return text;
}

}  // namespace

void sayWhatDoesNotFit(const std::vector<std::string>& sentences, const std::string& profile) {
  if (sentences.empty()) return;
  const base::Result<std::string> tables = overflowTables(profile);
  if (tables.ok() && !tables->empty()) {
    std::fprintf(stderr, "%s\n", tables->c_str());
    return;
  }
  for (const std::string& sentence : sentences)
    std::fprintf(stderr, "does not fit: %s\n", base::printable(sentence).c_str());
}

}  // namespace pipescope::cli
