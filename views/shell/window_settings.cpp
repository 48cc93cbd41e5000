#include "views/shell/window_settings.h"

namespace pipescope::shell {
namespace {
const auto kTheme = QStringLiteral("theme"), kRecentFiles = QStringLiteral("recent_files"),
           kRecentComparisons = QStringLiteral("recent_comparisons");
}  // namespace

WindowSettings::WindowSettings()
    : file_(QSettings::IniFormat, QSettings::UserScope, QStringLiteral("pipescope"),
            QStringLiteral("window")) {}

Theme WindowSettings::theme() const {
  return themeFromName(file_.value(kTheme).toString());
}
void WindowSettings::setTheme(Theme theme) {
  file_.setValue(kTheme, themeName(theme));
}

QStringList WindowSettings::recentFiles() const {
  return file_.value(kRecentFiles).toStringList().mid(0, kRecent);
}

void WindowSettings::addRecentFile(const QString& path) {
  QStringList files = recentFiles();
  files.removeAll(path);
  files.prepend(path);
  file_.setValue(kRecentFiles, QStringList(files.mid(0, kRecent)));
}

void WindowSettings::removeRecentFile(const QString& path) {
  QStringList files = recentFiles();
  files.removeAll(path);
  file_.setValue(kRecentFiles, files);
}

QList<QPair<QString, QString>> WindowSettings::recentComparisons() const {
  const QStringList paths = file_.value(kRecentComparisons).toStringList();
  QList<QPair<QString, QString>> pairs;
  for (int i = 0; i + 1 < paths.size() && pairs.size() < kRecent; i += 2)
    pairs.append({paths[i], paths[i + 1]});
  return pairs;
}

void WindowSettings::addRecentComparison(const QString& source, const QString& target) {
  QStringList paths = {source, target};
  for (const auto& [one, other] : recentComparisons()) {
    if ((one != source || other != target) && paths.size() < 2 * kRecent) paths << one << other;
  }
  file_.setValue(kRecentComparisons, paths);
}

void WindowSettings::clearRecentFiles() {
  file_.setValue(kRecentFiles, QStringList());
}

}  // namespace pipescope::shell
