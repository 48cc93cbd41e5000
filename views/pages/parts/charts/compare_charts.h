#pragma once
#include <memory>

#include "views/pages/parts/data/compare_data.h"
#include "views/pages/parts/layout/panel.h"
#include "views/timeline/item_chart.h"
#include "views/timeline/legend.h"

namespace pipescope::timeline {
class PipelineCanvas;
}

namespace pipescope::pages {

/// Shows the parts that turn one step time into the other, as the section's table of the iteration names
/// them.
class StepWaterfall : public Panel {
  Q_OBJECT

 public:
  explicit StepWaterfall(const shell::Palette& palette, QWidget* parent = nullptr);
  /// `sameWork`: a shorter step is a better one.
  void setSection(const sections::Section& diff, bool sameWork);
  timeline::ItemChart* chart() const { return chart_; }
  /// The figures of the columns: source, the changes, target.
  const std::vector<double>& values() const { return values_; }

 private:
  timeline::ItemChart* chart_;
  std::vector<double> values_;
};

/// Two curves of bytes over each other.
class TwoCurves : public Panel {
  Q_OBJECT

 public:
  TwoCurves(const shell::Palette& palette, const QString& title, QWidget* parent = nullptr);
  void setCurves(std::vector<double> source, std::vector<double> target, const QString& index,
                 const QString& basis);

 private:
  QString title_;
  timeline::ItemChart* chart_;
  timeline::Legend* legend_;
};

/// The pipelines of both profiles, one above the other, over the same stretch of time.
class TwoPipelines : public Panel {
  Q_OBJECT

 public:
  explicit TwoPipelines(const shell::Palette& palette, QWidget* parent = nullptr);
  void setSides(const ComparedSideData& source, const ComparedSideData& target);

 private:
  timeline::PipelineCanvas *source_, *target_;
  timeline::Legend* legend_;
};

}  // namespace pipescope::pages
