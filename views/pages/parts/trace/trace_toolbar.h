#pragma once
#include <QCheckBox>
#include <QLabel>

#include "profiler/geometry/timeline/timeline_layout.h"
#include "views/pages/parts/layout/run_toolbar.h"

class QMenu;

namespace pipescope::pages {

/// The controls above the timeline: rows with their colours and heights, the call and the step. Choices are
/// saved in the settings.
class TraceToolbar : public RunToolbar {
  Q_OBJECT

 public:
  /// Makes the commands of the toolbar commands of the page `owner`.
  TraceToolbar(shell::PageContext& context, shell::Page& owner);

  /// Sets the options that users choose here.
  void apply(geometry::TimelineOptions& options) const;
  bool byMicroBatch() const;
  void toggleColours();

  void setSpan(const QString& span);
  /// Enables the actions for tiles: only some devices have tiles, and only tiles that were recorded have
  /// heights.
  void setTilesPossible(bool possible, bool recorded);
  /// Offers to follow a run that goes on.
  void setRunning(bool running);
  bool follows() const { return follow_->isChecked() && follow_->isVisibleTo(this); }
  /// Ticks the box without the signal.
  void startFollowing();
  void stopFollowing() { follow_->setChecked(false); }

 Q_SIGNALS:
  void undoWanted();
  void followChanged(bool follows);

 private:
  void addChoices();
  void addRowsMenu();
  void followRows();
  QAction* toggle(QMenu& menu, const QString& name, const QString& setting, bool first, const QString& key);
  QAction* height(QMenu& menu, const QString& name, const QString& setting, int first, int by,
                  const QString& key);
  QCheckBox* follow_ = nullptr;
  QComboBox *rows_ = nullptr, *colours_ = nullptr;
  QLabel* span_ = nullptr;
  QAction *counters_ = nullptr, *transfers_ = nullptr, *tiles_ = nullptr;
  QList<QAction*> tileActions_, counterActions_;
  bool tilesPossible_ = false, tilesRecorded_ = false;
};

/// Adds the keys that the timeline handles itself to the table of keys.
void describeTimelineKeys(shell::Actions& actions);

}  // namespace pipescope::pages
