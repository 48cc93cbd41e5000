#pragma once

#include <QString>
#include <memory>
#include <vector>

#include "profiler/analysis/pipeline/counters.h"
#include "profiler/geometry/colour_role.h"
#include "views/pages/parts/charts/range_plot.h"
#include "views/shell/beside.h"
#include "views/shell/growing.h"

class QwtPlotMarker;

namespace pipescope::pages {

/// A counter against the number of its samples, which count from 1. In each column of pixels the line covers
/// all values from the smallest to the largest. In a comparison, a second line is the counter of the other
/// profile.
class CurveChart : public RangePlot, public shell::Beside, public shell::Growing {
  Q_OBJECT

 public:
  explicit CurveChart(const shell::Palette& palette, QWidget* parent = nullptr);
  ~CurveChart() override;

  void setSeries(std::shared_ptr<const analysis::CounterSeries> series, const QString& indices);
  const analysis::CounterSeries* series() const { return series_.get(); }
  /// Draws the same counter of another executable, such as validation, as a line with a dot for each sample.
  /// The numbers of its points are places on the axis of the series. Null: none.
  void setAlso(std::shared_ptr<const analysis::CounterSeries> also, const QString& name);
  const analysis::CounterSeries* also() const { return also_.get(); }
  const QString& alsoName() const { return alsoName_; }
  /// Makes the axis of values logarithmic, if there are values above 0.
  void setLogarithmic(bool logarithmic);
  bool isLogarithmic() const { return shownLogarithmic_; }
  /// Draws the exponential moving mean with this weight of what came before, from 0 (none) to less than 1,
  /// and the values themselves faintly.
  void setSmoothing(double weight);
  /// The values that are drawn strongly, one for each point of the series.
  std::vector<double> smoothed() const;
  /// Fixes the height from which the chart grows, up to a good shape for its width.
  void setLeastHeight(int pixels);
  Heights heights() const override;
  void growTo(int height) override;
  QString besideName() const override;
  void showBeside(const shell::Beside* source, const shell::BesideTerms& terms) override;
  const analysis::CounterSeries* other() const { return other_.get(); }
  /// Returns the places of the names of two compared curves on the canvas.
  std::vector<QRectF> nameBoxes() const;

 Q_SIGNALS:
  void hovered(int point);  ///< index of a point of the series; −1: none
  void doubleClicked(int point);
  void menuWanted(int point, const QPoint& at);  ///< at: on the screen

 protected:
  void follow() override;
  /// Returns 1 for few samples, because there is nothing between calls or iterations; otherwise 0, and Qwt
  /// chooses.
  double tickStep(double span) const override;
  void pointedAt(const QPoint& position) override;
  void pointerLeft() override;
  bool doubleClickedAt(const QPoint& position) override;
  void contextMenuEvent(QContextMenuEvent* event) override;

 private:
  class CurveItem;
  int pointNear(int x) const;
  void showAll();
  double leastPositive() const;

  std::shared_ptr<const analysis::CounterSeries> series_, other_;  ///< other_: of the other profile
  std::shared_ptr<const analysis::CounterSeries> also_;            ///< of another executable
  QString alsoName_;
  double smoothing_ = 0;
  bool logarithmic_ = false, shownLogarithmic_ = false;
  int leastHeight_ = 0;
  bool percent_ = false;  ///< the axis shows fractions as percentages
  CurveItem* curve_;
  QwtPlotMarker* mark_;
};

}  // namespace pipescope::pages
