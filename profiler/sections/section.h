#pragma once
// A section of a report: facts and tables with units, the same for command line and window.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::sections {

/// Named parts of a whole: an object in JSON, "compute 1,234 · sync 56" in text.
using Breakdown = std::vector<std::pair<std::string, double>>;
/// Nothing, a whole number, a measure, a text, a truth, a breakdown.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string, bool, Breakdown>;

/// How text shows a value. JSON always has the raw value.
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
  stage,     ///< stage 3
};

struct Fact {
  std::string key;    ///< JSON key, snake_case with the unit
  std::string label;  ///< for people
  Cell value;
  Format format = Format::plain;
  std::string doc;     ///< one sentence that says what it is and names its denominator
  bool inText = true;  ///< false: text shows it elsewhere
};

struct Column {
  std::string key, heading;
  Format format = Format::plain;
  std::string doc;
  bool inText = true;  ///< false: only in JSON and CSV, because text shows it in other columns
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
  std::vector<std::string> remarks;  ///< sentences: warnings, and how far to trust a figure
  /// Text shows ticks divided by this, for example in µs or cost units. JSON always has ticks.
  double ticksPerShownUnit = 1;
};

/// Reports that were already computed for a Context (reports.h).
struct ReportCache;
std::shared_ptr<ReportCache> makeReportCache();

/// What sections are made from. Use one Context for all sections of an executable, from one thread at a time:
/// reports that several of them need are then computed once.
struct Context {
  const model::ProfileSource& source;
  const analysis::Catalog& catalog;
  model::ExecutableId executable;
  std::int64_t unit = -1;  ///< the tile that sections about memory describe; −1: whole devices
  std::shared_ptr<ReportCache> reports = makeReportCache();
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

/// Makes a section and sets the unit in which it shows ticks.
base::Result<Section> makeSection(const SectionDefinition& definition, const Context& context);

/// How the program shows amounts of memory: 1.0 KiB, 1.0 kB or 1,024 B. The command line shows binary units.
enum class ByteUnits { binary, decimal, bytes };
void setByteUnits(ByteUnits units);

/// "1,472", "3.2 MiB", "12.3 %"; "–" for nothing.
std::string formatCell(const Cell& cell, Format format, double ticksPerShownUnit = 1);

/// Shortens a list of words that blanks separate. Words that count up become one, as in configurations:
/// "encoder0..23". Of a list that is still long, only the first and last word remain: "stem … head (18)".
std::string shortList(const std::string& words);

/// Orders numbers within texts by value: "stages[2]" comes before "stages[10]".
bool countsBefore(const std::string& a, const std::string& b);

/// A result of a run in words: "Final loss"; "Forecast: bubble with 2 × micro-batches".
std::string outcomeName(const model::Outcome& outcome);
/// "0.0269", "99.3 %", "6,571 samples/s".
std::string outcomeValue(const model::Outcome& outcome);

std::string toText(const Section& section);
/// An object with the keys of the facts and tables.
std::string toJson(const Section& section);
/// An object with one such object for each section, by the section's name.
std::string toJson(const std::vector<Section>& sections);
/// First the facts as rows "key,value", then each table below a line with its key.
std::string toCsv(const Section& section);

}  // namespace pipescope::sections

/// PIPESCOPE_REGISTER_SECTION(stages) { registry.add({...}); }
#define PIPESCOPE_REGISTER_SECTION(name) void register_##name(SectionRegistry& registry)
