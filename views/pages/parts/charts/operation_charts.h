#pragma once
#include <QStringList>
#include <vector>

#include "profiler/sections/frame/section.h"
#include "views/pages/parts/charts/parts_chart.h"
#include "views/timeline/item_chart.h"

namespace pipescope::pages {

/// Charts of a table of operations (profiler/sections/operation_rows.h): bars by pass, a treemap of the time,
/// and a roofline. A click on an item of any of them names its row.
class OperationCharts : public QWidget {
  Q_OBJECT

 public:
  enum class Kind { bars, treemap, roofline };

  explicit OperationCharts(const shell::Palette& palette, QWidget* parent = nullptr);
  /// `table` must live as long as it is shown. `ceilings` is the section's table of that name. `time`
  /// says how to show ticks.
  void setTable(const sections::SectionTable& table, const sections::SectionTable& ceilings,
                const sections::ShownTime& time);
  void setKind(Kind kind);
  void mark(int row);
  QWidget* current() const;

 Q_SIGNALS:
  void clicked(int row);
  void doubleClicked(int row);
  void menuWanted(int row, const QPoint& at);  ///< at: on the screen

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  std::size_t mostBars() const;
  void applyBars(const sections::SectionTable& table);
  void applyTreemap(const sections::SectionTable& table);
  void applyRoofline(const sections::SectionTable& table, const sections::SectionTable& ceilings);
  QString time(double ticks) const;

  OneOf* stack_;
  PartsChart* bars_;
  Panel *treemapPanel_, *rooflinePanel_;
  timeline::ItemChart *treemap_, *roofline_;
  timeline::Legend* rooflineLegend_;
  const sections::SectionTable* rows_ = nullptr;
  std::vector<int> longest_;  ///< rows with time, longest first
  sections::ShownTime time_;
};

}  // namespace pipescope::pages
