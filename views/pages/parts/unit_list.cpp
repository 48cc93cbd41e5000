#include "views/pages/parts/unit_list.h"

#include <QStringList>
#include <algorithm>

namespace pipescope::pages {

std::vector<int> unitsIn(const QString& list, int count) {
  std::vector<int> units;
  for (const QString& part : list.split(QLatin1Char(','), Qt::SkipEmptyParts)) {
    bool first = false, second = true;
    const int from = part.section(QLatin1Char('-'), 0, 0).trimmed().toInt(&first);
    const int to =
        part.contains(QLatin1Char('-')) ? part.section(QLatin1Char('-'), 1).trimmed().toInt(&second) : from;
    for (int unit = from; first && second && unit <= to && unit < count; ++unit) {
      if (std::find(units.begin(), units.end(), unit) == units.end()) units.push_back(unit);
    }
  }
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
