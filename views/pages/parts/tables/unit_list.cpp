#include "views/pages/parts/tables/unit_list.h"

#include <QObject>
#include <QStringList>
#include <algorithm>
#include <utility>

namespace pipescope::pages {

namespace {

base::Error wrongList(const QString& sentence) {
  return base::badInput(sentence.toStdString());
}

/// The first and the last unit of a part such as "5" or "5-7".
base::Result<std::pair<int, int>> rangeIn(const QString& part, int count, const QString& unit) {
  const QStringList ends = part.split(QLatin1Char('-'));
  std::vector<int> numbers;
  for (const QString& end : ends) {
    bool isNumber = false;
    numbers.push_back(end.trimmed().toInt(&isNumber));
    if (!isNumber || ends.size() > 2)
      return wrongList(
          QObject::tr("“%1” is neither a number nor a range: write for example 0,5-7.").arg(part.trimmed()));
  }
  for (const int number : numbers) {
    if (number < 0 || number >= count)
      return wrongList(
          QObject::tr("There is no %1 %2: those shown are 0–%3.").arg(unit).arg(number).arg(count - 1));
  }
  if (numbers.back() < numbers.front())
    return wrongList(QObject::tr("“%1” goes backwards: write the smaller number first.").arg(part.trimmed()));
  return std::pair(numbers.front(), numbers.back());
}

}  // namespace

base::Result<std::vector<int>> unitsIn(const QString& list, int count, const QString& unit) {
  std::vector<int> units;
  for (const QString& part : list.split(QLatin1Char(','), Qt::SkipEmptyParts)) {
    if (part.trimmed().isEmpty()) continue;
    PIPESCOPE_ASSIGN(const auto range, rangeIn(part, count, unit));
    for (int number = range.first; number <= range.second; ++number) units.push_back(number);
  }
  std::sort(units.begin(), units.end());
  units.erase(std::unique(units.begin(), units.end()), units.end());
  return units;
}

QString unitList(const std::vector<int>& units) {
  QStringList parts;
  for (std::size_t i = 0; i < units.size();) {
    std::size_t end = i + 1;
    while (end < units.size() && units[end] == units[end - 1] + 1) ++end;
    parts << (end - i == 1 ? QString::number(units[i])
                           : QStringLiteral("%1-%2").arg(units[i]).arg(units[end - 1]));
    i = end;
  }
  return parts.join(QLatin1Char(','));
}

}  // namespace pipescope::pages
