#pragma once
#include <qwt_plot.h>

#include "views/shell/look/palette.h"

class QwtPlotGrid;

namespace pipescope::pages {

/// A plot that shows a part of its horizontal axis in the theme's colours. The wheel zooms about the pointer,
/// a drag pans, and a double click shows everything.
class RangePlot : public QwtPlot {
  Q_OBJECT

 public:
  /// The visible part, [first, second).
  std::pair<double, double> range() const { return {from_, to_}; }
  void setRange(double from, double to);

 protected:
  explicit RangePlot(const shell::Palette& palette, QWidget* parent);

  /// The axis goes from 0 to `all`. At the deepest zoom, `fewest` of it are visible.
  void setWhole(double all, double fewest);
  double whole() const { return whole_; }
  /// The distance between ticks for a visible length; 0: Qwt chooses it.
  virtual double tickStep(double) const { return 0; }
  /// Applies the theme's colours. Called again when the theme changes.
  virtual void follow();
  virtual void pointedAt(const QPoint& position) = 0;
  virtual void pointerLeft() = 0;
  virtual void clickedAt(const QPoint&) {}
  /// Returns true if something at the position takes the double click, which otherwise shows everything.
  virtual bool doubleClickedAt(const QPoint&) { return false; }
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
