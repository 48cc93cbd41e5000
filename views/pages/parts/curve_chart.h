#pragma once

#include <memory>

#include "profiler/analysis/pipeline/counters.h"
#include "profiler/geometry/colour_role.h"
#include "views/pages/parts/range_plot.h"

class QwtPlotMarker;

namespace pipescope::pages {

/// A counter against the number of its samples. In each column of pixels the line covers all values from the
/// smallest to the largest.
class CurveChart : public RangePlot {
  Q_OBJECT

 public:
  explicit CurveChart(const shell::Palette& palette, QWidget* parent = nullptr);
  ~CurveChart() override;

  void setSeries(std::shared_ptr<const analysis::CounterSeries> series, const QString& indices);
  const analysis::CounterSeries* series() const { return series_.get(); }

 Q_SIGNALS:
  void hovered(int point);  ///< index of a point of the series; −1: none

 protected:
  void follow() override;
  /// Between calls or iterations there is nothing.
  double tickStep(double span) const override;
  void pointedAt(const QPoint& position) override;
  void pointerLeft() override;

 private:
  class CurveItem;
  int pointNear(int x) const;

  std::shared_ptr<const analysis::CounterSeries> series_;
  CurveItem* curve_;
  QwtPlotMarker* mark_;
};

}  // namespace pipescope::pages
