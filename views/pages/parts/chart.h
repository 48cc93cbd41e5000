#pragma once
#include <qwt_plot.h>

#include <functional>
#include <memory>
#include <vector>

#include "profiler/geometry/folding.h"
#include "profiler/geometry/shapes.h"
#include "views/shell/palette.h"

class QwtPlotGrid;
class QwtPlotMarker;

namespace pipescope::pages {

/// One layer of a stack: a value per index.
struct StackLayer {
  geometry::ColourRole role = geometry::ColourRole::series;
  std::vector<std::int64_t> values;
  bool outlined = false;  ///< faint, with a line on top; otherwise filled
};

/// A stretch of the index axis with a name: a device's tiles, a pass's program steps.
struct ChartBand {
  double from = 0, to = 0;
  QString name;
  bool tinted = false;
  geometry::ColourRole role = geometry::ColourRole::forward;  ///< of its tint
};

/// Bytes over an index (tiles, program steps), as stacked layers of steps. A pixel column that holds several
/// indices shows the one with the largest sum, so peaks are never averaged away; painting costs pixels, not
/// indices. The wheel zooms the index axis about the pointer, a drag pans, a double click shows everything.
class Chart : public QwtPlot {
  Q_OBJECT

 public:
  explicit Chart(const shell::Palette& palette, QWidget* parent = nullptr);
  ~Chart() override;

  void setAxes(const QString& indices, const QString& values);
  void setStack(std::vector<StackLayer> layers, std::vector<ChartBand> bands = {});
  /// A horizontal line; negative: none.
  void setLimit(double bytes, const QString& name);
  /// A vertical line at an index; −1: none.
  void setMark(int index);
  int mark() const { return mark_; }
  int size() const;
  std::int64_t total(int index) const;
  const std::vector<StackLayer>& layers() const { return layers_; }
  /// Indices shown, [first, second).
  std::pair<double, double> range() const { return {from_, to_}; }
  void setRange(double from, double to);

 Q_SIGNALS:
  void hovered(int index);  ///< −1: none
  void clicked(int index);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  class StackItem;
  class BandItem;
  void follow();
  void scaleValues();
  int indexAt(const QPoint& position) const;
  void zoomAt(double x, double factor);

  const shell::Palette& palette_;
  std::vector<StackLayer> layers_;
  std::vector<ChartBand> bands_;
  geometry::WidestIndex totals_;
  StackItem* stack_;
  BandItem* bandItem_;
  QwtPlotGrid* grid_;
  QwtPlotMarker *limit_, *markLine_;
  double limitBytes_ = -1, from_ = 0, to_ = 1, pressedFrom_ = 0;
  int mark_ = -1;
  QPoint pressed_;
  bool dragging_ = false, pressing_ = false;
};

}  // namespace pipescope::pages
