#pragma once
#include <QLabel>

#include "profiler/geometry/timeline_layout.h"
#include "views/pages/parts/tool_row.h"
#include "views/timeline/legend.h"

class QMenu;

namespace pipescope::pages {

/// The controls above the timeline: which rows, in which colours and how high, which call and step. What is chosen is
/// kept in the settings.
class TraceToolbar : public ToolRow {
  Q_OBJECT

 public:
  /// Of `calls`: all of them.
  static constexpr qlonglong kAllCalls = -2;

  /// Actions with keys are `owner`'s.
  TraceToolbar(shell::PageContext& context, QWidget* owner);

  /// Those of `options` that are chosen here.
  void apply(geometry::TimelineOptions& options) const;
  bool byMicroBatch() const;
  void toggleColours();

  void setCalls(const std::vector<const model::Run*>& runs, qlonglong chosen);
  /// `step` empty: there is none.
  void setStep(const QString& step, bool hasPrevious, bool hasNext);
  void setSpan(const QString& span);

 Q_SIGNALS:
  void optionsChanged();
  void callChosen(qlonglong call);  ///< a RunId, or kAllCalls
  void stepWanted(int direction);   ///< 0: this one
  void zoomWanted(double factor);
  void undoWanted();
  void pictureWanted();

 private:
  void addCombos();
  void addSteps();
  void addRowsMenu(QWidget* owner);
  QAction* toggle(QMenu& menu, QWidget* owner, const QString& name, const QString& setting, bool first,
                  const QString& key);
  void height(QMenu& menu, QWidget* owner, const QString& name, const QString& setting, int first, int by,
              const QString& key);
  void addZoom();

  QComboBox *rows_ = nullptr, *colours_ = nullptr, *calls_ = nullptr;
  QToolButton *previous_ = nullptr, *next_ = nullptr;
  QLabel *step_ = nullptr, *span_ = nullptr;
  QAction *counters_ = nullptr, *transfers_ = nullptr, *tiles_ = nullptr;
};

/// What a timeline's colours mean.
std::vector<timeline::LegendEntry> traceLegend(const geometry::TimelineModel& model, bool byMicroBatch);

/// The timeline's own keys, for the table of keys.
void describeTimelineKeys(shell::Actions& actions);

}  // namespace pipescope::pages
