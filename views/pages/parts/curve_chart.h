#pragma once
#include <qwt_plot.h>

#include <memory>

#include "profiler/analysis/counters.h"
#include "profiler/geometry/colour_role.h"
#include "views/shell/palette.h"

class QwtPlotGrid;
class QwtPlotMarker;

namespace pipescope::pages {

/// One counter over the number of its samples: a line through each pixel column's smallest to largest value.
/// The wheel zooms about the pointer, a drag pans, a double click shows everything.
class CurveChart : public QwtPlot {
  Q_OBJECT

 public:
  explicit CurveChart(const shell::Palette& palette, QWidget* parent = nullptr);
  ~CurveChart() override;

  void setSeries(std::shared_ptr<const analysis::CounterSeries> series, const QString& indices);
  const analysis::CounterSeries* series() const { return series_.get(); }
  std::pair<double, double> range() const { return {from_, to_}; }

 Q_SIGNALS:
  void hovered(int point);  ///< index into the series' points; −1: none

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  class CurveItem;
  void follow();
  void setRange(double from, double to);
  int pointNear(int x) const;

  const shell::Palette& palette_;
  std::shared_ptr<const analysis::CounterSeries> series_;
  CurveItem* curve_;
  QwtPlotGrid* grid_;
  QwtPlotMarker* mark_;
  double from_ = 0, to_ = 1, pressedFrom_ = 0;
  QPoint pressed_;
  bool dragging_ = false, pressing_ = false;
};

}  // namespace pipescope::pages
