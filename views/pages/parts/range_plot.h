#pragma once
#include <qwt_plot.h>

#include "views/shell/palette.h"

class QwtPlotGrid;

namespace pipescope::pages {

/// A plot of which a stretch of the horizontal axis is shown: the wheel zooms about the pointer, a drag pans,
/// a double click shows everything. In the theme's colours.
class RangePlot : public QwtPlot {
  Q_OBJECT

 public:
  /// What is shown, [first, second).
  std::pair<double, double> range() const { return {from_, to_}; }
  void setRange(double from, double to);

 protected:
  explicit RangePlot(const shell::Palette& palette, QWidget* parent);

  /// The axis goes from 0 to `all`; at the deepest zoom `fewest` of it show.
  void setWhole(double all, double fewest);
  double whole() const { return whole_; }
  /// Between the axis's ticks, for a shown length; 0: as Qwt likes.
  virtual double tickStep(double) const { return 0; }
  /// In the theme's colours; called after the theme has changed, too.
  virtual void follow();
  virtual void pointedAt(const QPoint& position) = 0;
  virtual void pointerLeft() = 0;
  virtual void clickedAt(const QPoint&) {}
  bool eventFilter(QObject* watched, QEvent* event) override;

  const shell::Palette& palette_;
  QwtPlotGrid* grid_;

 private:
  void zoomAt(double x, double factor);

  double whole_ = 1, fewest_ = 1, from_ = 0, to_ = 1, pressedFrom_ = 0;
  QPoint pressed_;
  bool dragging_ = false, pressing_ = false;
};

}  // namespace pipescope::pages
