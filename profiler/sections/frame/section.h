#pragma once
// A section of a report: facts and tables with units. The command line and the window show the same sections.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/figures/text.h"

namespace pipescope::sections {

using figures::Amount;
using figures::Breakdown;
using figures::Cell;
using figures::Format;
using figures::numberOf;

using figures::ByteUnits;
using figures::cardText;
using figures::chartUnit;
using figures::formatCell;
using figures::fromToText;
using figures::loneText;
using figures::setByteUnits;
using figures::shortList;
using figures::ShownTime;
using figures::TimeStyle;
using figures::timeText;
using figures::withoutUnitOf;

/// The names of a Breakdown's parts, which are the same in every profile. Empty: the value is no Breakdown.
using PartNames = std::vector<std::string>;
/// The parts have names that come from the profile, such as categories of memory.
inline const PartNames kAnyParts = {"*"};

struct Fact {
  std::string key;    ///< JSON key, snake_case with the unit
  std::string label;  ///< name that users see
  Cell value;
  Format format = Format::plain;
  std::string doc;     ///< one sentence that defines the value and names its denominator
  bool inText = true;  ///< false if text shows the value elsewhere
  PartNames parts = {};
  std::string text = {};  ///< what text shows instead of the value; empty: the value
};

struct SectionColumn {
  std::string key, heading;
  Format format = Format::plain;
  std::string doc;
  bool inText = true;  ///< false if only JSON and CSV have it, because other columns show it in text
  PartNames parts = {};
  /// Titles that text and window show instead of names of parts, keyed by name. Parts without one keep their
  /// names.
  std::map<std::string, std::string> titles = {};
};

struct SectionTable {
  std::string key, title;
  std::string basis;  ///< denominator of the figures: "per micro-batch", "last call, one replica"
  std::vector<SectionColumn> columns;
  std::vector<std::vector<Cell>> rows;  ///< one cell per column
  std::size_t mostInText = 0;           ///< text shows this many rows and counts the rest; 0: all rows
  std::vector<Format> rowFormats = {};  ///< one for each row, if a column has Format::ofRow
  /// A column for each device has a key that matches this regular expression. Empty: all columns are known.
  std::string moreColumns = {};
  /// True for each row that only JSON and CSV have, because it has no figure. Empty: text has all rows.
  std::vector<bool> rowsNotInText = {};
  /// A sentence that says why there are no rows here, and what to ask for instead. Empty: there is nothing to
  /// show.
  std::string lacks = {};
};

struct Section {
  std::string name, title;
  std::vector<Fact> facts;
  std::vector<SectionTable> tables;
  std::vector<std::string> remarks;  ///< sentences: warnings, and how reliable a figure is
  /// Text divides ticks by this, for example to show µs or cost units. JSON always has ticks.
  double ticksPerShownUnit = 1;
  ShownTime time() const { return {ticksPerShownUnit, timeUnit, cyclesPerSecond}; }
  const char* timeUnit = "cycles";
  double cyclesPerSecond = 0;  ///< see ShownTime
  /// A sentence that says why figures have no value in this profile. Empty: they have.
  std::string lacks = {};
};

inline void showTimesIn(const ShownTime& time, Section& section) {
  section.ticksPerShownUnit = time.ticks;
  section.timeUnit = time.unit;
  section.cyclesPerSecond = time.cyclesPerSecond;
}

/// Says why figures of the section have no value, also as a remark.
inline void lack(Section& section, const std::string& sentence) {
  section.lacks = sentence;
  section.remarks.push_back(sentence);
}

/// The reports that a Context has already computed (reports.h).
struct ReportCache;
/// Makes an empty cache.
std::shared_ptr<ReportCache> makeReportCache();

/// The input of all sections. Use one Context for all sections of an executable, so that shared reports are
/// computed once. Only one thread may use a Context at a time.
struct Context {
  const model::ProfileSource& source;
  const analysis::Catalog& catalog;
  model::ExecutableId executable;
  std::int64_t unit = -1;  ///< the tile that sections about memory describe; −1: whole devices
  std::shared_ptr<ReportCache> reports = makeReportCache();
};

struct SectionDefinition {
  std::string name, title, doc;
  int order = 0;  ///< position in the output of `report` without --section
  std::function<base::Result<Section>(const Context&)> make;
  bool recordedOnly = false;  ///< emulated runs have nothing to show here, so a whole report leaves it out
  bool onlyAlone = false;     ///< a whole report leaves it out, because its figures differ from run to run
};

class SectionRegistry {
 public:
  void add(SectionDefinition definition);
  const std::vector<SectionDefinition>& all() const { return definitions_; }  ///< sorted by order
  const SectionDefinition* find(std::string_view name) const;

 private:
  std::vector<SectionDefinition> definitions_;
};

/// Registers every section. The build generates this function.
void registerSections(SectionRegistry& registry);
/// All sections. The first call creates the registry.
const SectionRegistry& sectionRegistry();

/// Finds a section by name. The error lists the names.
base::Result<const SectionDefinition*> findSection(std::string_view name);
/// Makes a section and sets the unit in which it shows ticks.
base::Result<Section> makeSection(const SectionDefinition& definition, const Context& context);

/// The value of a fact. Times have their unit, and but for cycles five significant digits.
std::string factText(const Section& section, const Fact& fact);

/// Compares texts and the numbers in them by value, so that "stages[2]" comes before "stages[10]".
bool countsBefore(const std::string& a, const std::string& b);

/// The label of an outcome, such as "Final loss" or "Forecast: bubble with 2 × micro-batches".
std::string outcomeName(const model::Outcome& outcome);
/// The value of an outcome with its unit, such as "0.0269", "99.3 %" or "6,571 samples/s".
std::string outcomeValue(const model::Outcome& outcome);

/// Text leaves out tables without rows.
std::string toText(const Section& section);
/// An object with the keys of the facts and tables. Integers are exact; other numbers have 12 significant
/// digits, and null stands for a missing value.
std::string toJson(const Section& section);
/// An object that maps the name of each section to the section's object.
std::string toJson(const std::vector<Section>& sections);
/// The JSON key of a name: "slower stage" gives "slower_stage", "vertexCode" gives "vertex_code".
std::string snakeCase(const std::string& name);
/// A number as JSON and CSV write it: 12 significant digits.
std::string plainNumber(double value);

/// The names of what toCsv() can write: "facts", if there are any, and the keys of the tables.
std::vector<std::string> csvTables(const Section& section);
/// The table that toCsv() writes if no other is named: the one with the section's name, otherwise the facts,
/// otherwise the first table.
std::string mainTable(const Section& section);
/// One table as CSV with a header line. The facts have the columns "key" and "value". A Breakdown has one
/// column for each part. The error lists the names of the tables.
base::Result<std::string> toCsv(const Section& section, const std::string& table);

}  // namespace pipescope::sections

/// Usage: PIPESCOPE_REGISTER_SECTION(stages) { registry.add({...}); }
#define PIPESCOPE_REGISTER_SECTION(name) void register_##name(SectionRegistry& registry)
