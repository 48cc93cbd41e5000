#pragma once
#include <QStringList>
#include <QWidget>
#include <functional>
#include <map>
#include <vector>

#include "views/shell/profile_card.h"

class QAction;
class QGridLayout;
class QLabel;
class QListWidget;
class QPushButton;
class QVBoxLayout;

namespace pipescope::shell {

class NoticeBar;
class RecentList;
class SampleList;
class Palette;
class WindowSettings;

/// A configuration that comes with the program.
struct Sample {
  QString title, doc, path;
};

/// The page of a window without a profile. It offers what one can begin with, and shows recent profiles,
/// recent comparisons and samples.
class Home : public QWidget {
  Q_OBJECT

 public:
  Home(const Palette& palette, WindowSettings& settings, QWidget* parent = nullptr);
  /// Reads the lists of recent files and comparisons again.
  void refresh();
  /// Opens the recent profiles for their cards, on workers. Without it, cards show names only.
  void setCardOpener(Opener opener);
  void setReading(const QString& file);
  void setError(const QString& sentence);
  void setDemoVisible(bool visible);
  void setSamples(const std::vector<Sample>& samples);
  /// Shows what a run of a sample has shown.
  void setSampleCard(const QString& path, const ProfileCard& card);
  /// Adds a large button beside the others.
  QPushButton* offer(const QString& text, const QString& icon, const QString& doc,
                     const std::function<void()>& run);
  QString notice() const;

 Q_SIGNALS:
  void openRequested();
  void folderRequested();
  void compareRequested();
  void demoRequested();
  void newRunRequested();
  void fileChosen(const QString& path);
  void sampleChosen(const QString& title);
  void sampleEditWanted(const QString& path);
  void shown();
  void comparisonChosen(const QString& source, const QString& target);
  void recentChanged();

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  QWidget* makeHead();
  void makeButtons();
  void makeLists();
  void readCards();
  void fitCards();
  void follow();

  const Palette& palette_;
  WindowSettings& settings_;
  NoticeBar* notice_;
  QLabel *mark_, *title_, *hint_, *recentTitle_, *comparisonsTitle_, *samplesTitle_;
  RecentList* recent_;
  QListWidget* comparisons_;
  SampleList* samples_;
  QWidget* column_ = nullptr;
  QGridLayout* buttons_ = nullptr;
  QVBoxLayout* layout_ = nullptr;
  QPushButton* demo_ = nullptr;
  std::vector<std::pair<QPushButton*, QString>> icons_;  ///< buttons and the names of their icons
  Opener opener_;
  std::map<QString, QString> sampleTitles_;  ///< by path
  std::map<QString, ProfileCard> cards_;     ///< what was read last of each file
  int reads_ = 0;  ///< counts the lists, so that late cards of older ones are dropped
};

}  // namespace pipescope::shell
