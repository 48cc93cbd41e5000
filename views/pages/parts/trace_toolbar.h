#pragma once
#include <QLabel>

#include "profiler/geometry/timeline_layout.h"
#include "views/pages/parts/run_toolbar.h"
#include "views/timeline/legend.h"

class QMenu;

namespace pipescope::pages {

/// The controls above the timeline: rows with their colours and heights, the call and the step. Choices are
/// saved in the settings.
class TraceToolbar : public RunToolbar {
  Q_OBJECT

 public:
  /// Actions with keys are added to `owner`.
  TraceToolbar(shell::PageContext& context, QWidget* owner);

  /// Sets the options that users choose here.
  void apply(geometry::TimelineOptions& options) const;
  bool byMicroBatch() const;
  void toggleColours();

  void setSpan(const QString& span);
  /// Enables the actions for tiles; only some devices have tiles.
  void setTilesPossible(bool possible);

 Q_SIGNALS:
  void undoWanted();

 private:
  void addChoices();
  void addRowsMenu(QWidget* owner);
  QAction* toggle(QMenu& menu, QWidget* owner, const QString& name, const QString& setting, bool first,
                  const QString& key);
  QAction* height(QMenu& menu, QWidget* owner, const QString& name, const QString& setting, int first, int by,
                  const QString& key);

  QComboBox *rows_ = nullptr, *colours_ = nullptr;
  QLabel* span_ = nullptr;
  QAction *counters_ = nullptr, *transfers_ = nullptr, *tiles_ = nullptr;
  QList<QAction*> tileActions_;
};

/// The legend of a timeline.
std::vector<timeline::LegendEntry> traceLegend(const geometry::TimelineModel& model, bool byMicroBatch);

/// Adds the keys that the timeline handles itself to the table of keys.
void describeTimelineKeys(shell::Actions& actions);

}  // namespace pipescope::pages
