#include "views/shell/settings.h"

namespace pipescope::shell {
namespace {
const auto kTheme = QStringLiteral("theme"), kRecentFiles = QStringLiteral("recent_files");
}  // namespace

Settings::Settings()
    : file_(QSettings::IniFormat, QSettings::UserScope, QStringLiteral("pipescope"),
            QStringLiteral("window")) {}

Theme Settings::theme() const {
  return themeFromName(file_.value(kTheme).toString());
}
void Settings::setTheme(Theme theme) {
  file_.setValue(kTheme, themeName(theme));
}

QStringList Settings::recentFiles() const {
  return file_.value(kRecentFiles).toStringList().mid(0, kRecent);
}

void Settings::addRecentFile(const QString& path) {
  QStringList files = recentFiles();
  files.removeAll(path);
  files.prepend(path);
  file_.setValue(kRecentFiles, QStringList(files.mid(0, kRecent)));
}

void Settings::removeRecentFile(const QString& path) {
  QStringList files = recentFiles();
  files.removeAll(path);
  file_.setValue(kRecentFiles, files);
}

void Settings::clearRecentFiles() {
  file_.setValue(kRecentFiles, QStringList());
}

}  // namespace pipescope::shell
