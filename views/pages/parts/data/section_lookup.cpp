#include "views/pages/parts/data/section_lookup.h"

#include <QObject>
#include <algorithm>

#include "profiler/base/check.h"

namespace pipescope::pages {

base::Result<sections::Section> sectionNamed(std::string_view name, const sections::Context& context) {
  PIPESCOPE_ASSIGN(const sections::SectionDefinition* definition, sections::findSection(name));
  return makeSection(*definition, context);
}

const sections::SectionTable* tableNamed(const sections::Section& section, std::string_view key) {
  const auto found = std::ranges::find(section.tables, key, &sections::SectionTable::key);
  return found == section.tables.end() ? nullptr : &*found;
}

const sections::Fact* factNamed(const sections::Section& section, std::string_view key) {
  const auto found = std::ranges::find(section.facts, key, &sections::Fact::key);
  return found == section.facts.end() ? nullptr : &*found;
}

std::size_t columnNamed(const sections::SectionTable& table, std::string_view key) {
  const auto found = std::ranges::find(table.columns, key, &sections::SectionColumn::key);
  PIPESCOPE_CHECK(found != table.columns.end(), std::string(key));
  return static_cast<std::size_t>(found - table.columns.begin());
}

double numberIn(const sections::Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&cell);
  return real == nullptr ? 0 : *real;
}

double numberIn(const sections::Section& section, std::string_view fact) {
  const sections::Fact* found = factNamed(section, fact);
  return found == nullptr ? 0 : numberIn(found->value);
}

QString intervalIn(const sections::Section& section, std::string_view leastKey) {
  const sections::Fact* least = factNamed(section, leastKey);
  if (least == nullptr || std::holds_alternative<std::monostate>(least->value)) return {};
  return QObject::tr("80 %: %1").arg(QString::fromStdString(sections::factText(section, *least)));
}

QString withInterval(const QString& text, const QString& interval) {
  return interval.isEmpty() ? text : text.isEmpty() ? interval : text + QStringLiteral("; ") + interval;
}

QString wordsIn(const sections::Cell& cell) {
  const auto* words = std::get_if<std::string>(&cell);
  return words == nullptr ? QString() : QString::fromStdString(*words);
}

}  // namespace pipescope::pages
