#pragma once
#include <QList>
#include <QPair>
#include <QSettings>
#include <QStringList>

#include "views/shell/look/palette.h"

namespace pipescope::shell {

/// Settings in the user's configuration folder (pipescope/window.ini).
class WindowSettings {
 public:
  WindowSettings();

  Theme theme() const;
  void setTheme(Theme theme);
  /// The most recent file comes first; at most kRecent are kept.
  QStringList recentFiles() const;
  void addRecentFile(const QString& path);
  void removeRecentFile(const QString& path);
  void clearRecentFiles();
  /// Pairs of source and target, the most recent first.
  QList<QPair<QString, QString>> recentComparisons() const;
  void addRecentComparison(const QString& source, const QString& target);

  QVariant value(const QString& key, const QVariant& otherwise = {}) const {
    return file_.value(key, otherwise);
  }
  void setValue(const QString& key, const QVariant& value) { file_.setValue(key, value); }
  void remove(const QString& key) { file_.remove(key); }

  static constexpr int kRecent = 12;

 private:
  QSettings file_;
};

}  // namespace pipescope::shell
