#pragma once
#include <QWidget>

class QListWidget;
class QLabel;
class QPushButton;

namespace pipescope::shell {

class NoticeBar;
class RecentList;
class Palette;
class WindowSettings;

/// The page of a window without a profile. It offers to open one and lists recent ones and recent
/// comparisons.
class Home : public QWidget {
  Q_OBJECT

 public:
  Home(const Palette& palette, WindowSettings& settings, QWidget* parent = nullptr);
  /// Reads the lists of recent files and comparisons again.
  void refresh();
  void setReading(const QString& file);
  void setError(const QString& sentence);
  void setDemoVisible(bool visible);
  QString notice() const;

 Q_SIGNALS:
  void openRequested();
  void demoRequested();
  void newRunRequested();
  void fileChosen(const QString& path);
  void comparisonChosen(const QString& source, const QString& target);

 private:
  void follow();
  const Palette& palette_;
  WindowSettings& settings_;
  NoticeBar* notice_;
  QLabel *mark_, *title_, *hint_, *recentTitle_, *comparisonsTitle_;
  RecentList* recent_;
  QListWidget* comparisons_;
  QPushButton* demo_;
};

}  // namespace pipescope::shell
