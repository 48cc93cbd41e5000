#pragma once
#include <QLabel>

#include "profiler/geometry/timeline_layout.h"
#include "views/pages/parts/run_toolbar.h"
#include "views/timeline/legend.h"

class QMenu;

namespace pipescope::pages {

/// The controls above the timeline: which rows, in which colours and how high, which call and step. What is
/// chosen is kept in the settings.
class TraceToolbar : public RunToolbar {
  Q_OBJECT

 public:
  /// Actions with keys are `owner`'s.
  TraceToolbar(shell::PageContext& context, QWidget* owner);

  /// Those of `options` that are chosen here.
  void apply(geometry::TimelineOptions& options) const;
  bool byMicroBatch() const;
  void toggleColours();

  void setSpan(const QString& span);
  /// Some device consists of tiles.
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

/// What a timeline's colours mean.
std::vector<timeline::LegendEntry> traceLegend(const geometry::TimelineModel& model, bool byMicroBatch);

/// The timeline's own keys, for the table of keys.
void describeTimelineKeys(shell::Actions& actions);

}  // namespace pipescope::pages
