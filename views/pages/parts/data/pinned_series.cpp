#include "views/pages/parts/data/pinned_series.h"

namespace pipescope::pages {
namespace {

const auto kPinnedKey = QStringLiteral("training/pinned");

}  // namespace

std::set<std::string> pinnedSeries(const shell::WindowSettings& settings) {
  // A text, because the settings do not tell an empty list from none.
  const QString text = settings.value(kPinnedKey, QStringLiteral("loss")).toString();
  std::set<std::string> names;
  for (const QString& name : text.split(QLatin1Char('\n'), Qt::SkipEmptyParts))
    names.insert(name.toStdString());
  return names;
}

void pinSeries(shell::WindowSettings& settings, const std::string& counter, bool pin) {
  std::set<std::string> names = pinnedSeries(settings);
  pin ? static_cast<void>(names.insert(counter)) : static_cast<void>(names.erase(counter));
  QStringList list;
  for (const std::string& name : names) list << QString::fromStdString(name);
  settings.setValue(kPinnedKey, list.join(QLatin1Char('\n')));
}

}  // namespace pipescope::pages
