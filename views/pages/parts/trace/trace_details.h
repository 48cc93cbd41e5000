#pragma once
#include <QWidget>
#include <functional>

#include "profiler/analysis/timeline/name_uses.h"
#include "views/pages/parts/trace/trace_texts.h"
#include "views/shell/selection.h"

class QLabel;
class QPushButton;

namespace pipescope::pages {

/// Shows everything about the selected item of a timeline.
class TraceDetails : public QWidget {
  Q_OBJECT

 public:
  explicit TraceDetails(const shell::Palette& palette, QWidget* parent = nullptr);
  void show(const TraceTexts& texts, const geometry::TimelineItem& item, bool hasCause);
  void clear();
  /// Adds how often and how long steps of the selected one's name ran in all calls.
  void addUses(const analysis::NameUse& use, const geometry::TimeScale& scale);
  FactGrid* facts() const { return facts_; }

 Q_SIGNALS:
  void zoomWanted();
  void causeWanted();

 private:
  QLabel *title_, *sentence_;
  QPushButton *zoom_, *cause_;
  FactGrid* facts_;
};

/// Describes an item of the timeline for other pages.
shell::Selected selectedOf(const geometry::TimelineScene& scene, const geometry::TimelineItem& item);

}  // namespace pipescope::pages
