#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "profiler/geometry/shapes.h"
#include "profiler/geometry/timeline/folding.h"
#include "views/pages/parts/charts/range_plot.h"
#include "views/shell/beside.h"

class QwtPlotMarker;

namespace pipescope::pages {

/// A layer of a stack, with a value for each index.
struct StackLayer {
  geometry::ColourRole role = geometry::ColourRole::series;
  std::vector<std::int64_t> values;
  bool outlined = false;  ///< a faint area with a line on top instead of a filled one
};

/// Layers of the same length, with what is needed to show them at any zoom.
struct Stack {
  std::vector<StackLayer> layers;
  geometry::WidestIndex totals;
};
/// Adds the layers up. Call it on a worker if there are very many indices.
std::shared_ptr<const Stack> stackOf(std::vector<StackLayer> layers);

/// A part of the index axis with a name: the tiles of a device, or the program steps of a pass.
struct ChartBand {
  double from = 0, to = 0;
  QString name;
  bool tinted = false;
  geometry::ColourRole role = geometry::ColourRole::forward;  ///< gives the tint
};

/// Returns the place of a band's centred name: the middle of its strip, or beside a mark (a column; −1: none)
/// that would cover a part of the name.
QRect bandTextPlace(const QRect& strip, int width, int mark);

/// Bytes by index (tile or program step) as stacked layers. A column of pixels that covers several indices
/// shows the one with the largest sum, so that peaks are never averaged away. The cost of painting depends on
/// pixels, not on indices. In a comparison, a line over the layers is the sum of the other profile.
class Chart : public RangePlot, public shell::Beside {
  Q_OBJECT

 public:
  explicit Chart(const shell::Palette& palette, QWidget* parent = nullptr);
  ~Chart() override;

  void setAxes(const QString& indices, const QString& values);
  void setStack(std::shared_ptr<const Stack> stack, std::vector<ChartBand> bands);
  void setStack(std::vector<StackLayer> layers, std::vector<ChartBand> bands = {});
  /// Highlights the band of what was selected elsewhere; −1: none.
  void lightBand(int band);
  int litBand() const { return lit_; }
  /// Draws a horizontal line; negative: none.
  void setLimit(double bytes, const QString& name);
  /// Draws a vertical line at an index; −1: none. With another index, `until`, all from one to the other are
  /// marked.
  void setMark(int index, int until = -1);
  int mark() const { return mark_; }
  /// The other end of what is marked; the mark itself if that is a single index.
  int markedUntil() const { return until_; }
  int size() const;
  std::int64_t total(int index) const;
  int highest() const;  ///< the index with the largest total, the first of equal ones; 0: there is none
  const std::vector<StackLayer>& layers() const { return shown_->layers; }
  QString besideName() const override { return QStringLiteral("chart"); }
  void showBeside(const shell::Beside* source, const shell::BesideTerms& terms) override;
  /// The sum of the other profile at an index; −1: none.
  std::int64_t otherTotal(int index) const;

 Q_SIGNALS:
  void hovered(int index);  ///< −1: none
  void clicked(int index);
  void doubleClicked(int index);  ///< on its bar; above the bars, a double click shows everything
  void menuWanted(int index, const QPoint& at);  ///< at: on the screen

 protected:
  void contextMenuEvent(QContextMenuEvent* event) override;
  double tickStep(double span) const override;
  void follow() override;
  void pointedAt(const QPoint& position) override;
  void pointerLeft() override;
  void clickedAt(const QPoint& position) override;
  bool doubleClickedAt(const QPoint& position) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  class StackItem;
  class BandItem;
  class OtherItem;
  class MarkItem;
  void showSize(int before);
  void scaleValues();
  int indexAt(const QPoint& position) const;

  const geometry::WidestIndex& totals() const { return shown_->totals; }
  const geometry::WidestIndex& others() const { return other_->totals; }

  std::shared_ptr<const Stack> shown_ = std::make_shared<const Stack>();
  std::shared_ptr<const Stack> other_ = shown_;  ///< stack of the other profile
  std::vector<ChartBand> bands_;
  StackItem* stack_;
  BandItem* bandItem_;
  OtherItem* otherItem_;
  MarkItem* markItem_;
  QwtPlotMarker *limitGround_, *limit_, *markLine_;  ///< the ground sets the limit off from bars
  double limitBytes_ = -1;
  int mark_ = -1, until_ = -1, lit_ = -1;
};

}  // namespace pipescope::pages
