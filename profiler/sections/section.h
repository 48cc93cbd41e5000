#pragma once
// A section of a report: facts and tables with units, the same for command line and window.
#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::sections {

/// Named parts of a whole: an object in JSON, "compute 1,234 · sync 56" in text.
using Breakdown = std::vector<std::pair<std::string, double>>;
/// Nothing, a whole number, a measure, a text, a truth, a breakdown.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string, bool, Breakdown>;

/// How text shows a value; JSON always has the raw one.
enum class Format {
  plain,
  count,     ///< 1,472
  ticks,     ///< cycles with thousands separators
  bytes,     ///< 3.2 MiB
  fraction,  ///< 0…1, shown as 12.3 %
  ratio,     ///< 1.25
  seconds,   ///< 5.02 ms
  rate,      ///< 12,300 /s
  byteRate,  ///< 58.4 GB/s, whatever the unit of bytes
  list,      ///< words, as shortList
};

struct Fact {
  std::string key;    ///< JSON key, snake_case with the unit
  std::string label;  ///< for people
  Cell value;
  Format format = Format::plain;
  std::string doc;     ///< what it is and of what (denominator), one sentence
  bool inText = true;  ///< false: text has it elsewhere
};

struct Column {
  std::string key, heading;
  Format format = Format::plain;
  std::string doc;
  bool inText = true;  ///< false: in JSON and CSV only, because text has it in other columns
};

struct Table {
  std::string key, title;
  std::string basis;  ///< denominator of its figures: "per micro-batch", "last call, one replica"
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  ///< a cell per column
  std::size_t mostInText = 0;           ///< text shows so many rows and counts the rest; 0: all
};

struct Section {
  std::string name, title;
  std::vector<Fact> facts;
  std::vector<Table> tables;
  std::vector<std::string> remarks;  ///< sentences: warnings, what a figure is worth
  /// Text shows ticks divided by this: 10⁶ for `fixed`, whose reports print cost units. JSON always has
  /// ticks.
  double ticksPerShownUnit = 1;
};

/// What a section is made from.
struct Context {
  const model::ProfileSource& source;
  const analysis::Catalog& catalog;
  model::ExecutableId executable;
  std::int64_t unit = -1;  ///< a tile that sections about memory tell of by itself; −1: of none
};

struct SectionDefinition {
  std::string name, title, doc;
  int order = 0;  ///< place in `report` without --section
  std::function<base::Result<Section>(const Context&)> make;
};

class SectionRegistry {
 public:
  void add(SectionDefinition definition);
  const std::vector<SectionDefinition>& all() const { return definitions_; }  ///< by order
  const SectionDefinition* find(std::string_view name) const;

 private:
  std::vector<SectionDefinition> definitions_;
};

/// Calls every section's registration (generated).
void registerSections(SectionRegistry& registry);
/// All sections, made once.
const SectionRegistry& sectionRegistry();

/// Makes a section and sets how it shows ticks.
base::Result<Section> makeSection(const SectionDefinition& definition, const Context& context);

/// How people read amounts of memory: 1.0 KiB, 1.0 kB, 1,024 B. One setting of the program; reports of the
/// command line are binary.
enum class ByteUnits { binary, decimal, bytes };
void setByteUnits(ByteUnits units);

/// "1,472", "3.2 MiB", "12.3 %"; "–" for nothing.
std::string formatCell(const Cell& cell, Format format, double ticksPerShownUnit = 1);

/// Words that are parted by blanks. Numbered ones in a row become one, as configurations write them
/// ("encoder0..23"); of what are still many only the first and last are shown: "stem … head (18)".
std::string shortList(const std::string& words);

/// As people count: "stages[2]" is before "stages[10]".
bool countsBefore(const std::string& a, const std::string& b);

/// A result of a run in words: "Final loss"; "Forecast: bubble with 2 × micro-batches".
std::string outcomeName(const model::Outcome& outcome);
/// "0.0269", "99.3 %", "6,571 samples/s".
std::string outcomeValue(const model::Outcome& outcome);

std::string toText(const Section& section);
/// One section's object; keys are those of facts and tables.
std::string toJson(const Section& section);
/// Several sections: {name: object}.
std::string toJson(const std::vector<Section>& sections);
/// Facts as key,value rows, then each table behind a line with its key.
std::string toCsv(const Section& section);

}  // namespace pipescope::sections

/// PIPESCOPE_REGISTER_SECTION(stages) { registry.add({...}); }
#define PIPESCOPE_REGISTER_SECTION(name) void register_##name(SectionRegistry& registry)
