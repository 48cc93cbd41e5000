#pragma once
#include <QPixmap>
#include <QWidget>
#include <functional>
#include <numeric>
#include <vector>

#include "profiler/geometry/shapes.h"
#include "views/shell/growing.h"
#include "views/timeline/painters/shapes_painter.h"

namespace pipescope::timeline {

/// A chart of numbered items whose geometry comes from profiler/geometry. A click or the arrow keys mark an
/// item, and the pointer shows what the item is.
class ItemChart : public QWidget, public shell::Growing {
  Q_OBJECT

 public:
  struct Source {
    /// Draws the items at this size; the marked one stands out.
    std::function<geometry::Shapes(QSize size, const geometry::TextMeasure& measure, int marked)> draw;
    std::function<int(QSize size, QPoint at)> hit;    ///< −1: none
    std::function<QRect(QSize size, int item)> rect;  ///< empty: the item is not drawn
    std::function<QString(int item)> describe;
    std::vector<int> order;  ///< the items in the order of the arrow keys
    /// True if the drawing follows from the size and the marked item alone, so that its picture may be kept.
    bool keeps = false;
  };

  explicit ItemChart(const shell::Palette& palette, QWidget* parent = nullptr);
  void setSource(Source source);
  /// Shows the figure that at(size) makes, a class of profiler/geometry with draw(), hit() and boxOf().
  template <class MakeFigure>
  void setFigure(MakeFigure at, std::function<QString(int item)> describe, std::vector<int> order) {
    setSource({[at](QSize size, const auto& measure, int marked) { return at(size).draw(measure, marked); },
               [at](QSize size, QPoint place) { return at(size).hit(place.x(), place.y()); },
               [at](QSize size, int item) {
                 const geometry::Box box = at(size).boxOf(item);
                 return QRect(box.x, box.y, box.width, box.height);
               },
               std::move(describe), std::move(order)});
  }
  /// The order of items that follow their numbers.
  static std::vector<int> numbered(std::size_t count) {
    std::vector<int> order(count);
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
  /// Marks an item; −1: none.
  void setMarked(int item);
  int marked() const { return marked_; }
  QRect itemRect(int item) const { return source_.rect ? source_.rect(size(), item) : QRect(); }
  void setHint(const QSize& hint);
  /// Fixes the height, and says how tall the chart may become if its page has room to spare.
  void setHeights(int least, int most);
  Heights heights() const override;
  void growTo(int height) override;
  QSize sizeHint() const override { return hint_; }
  QSize minimumSizeHint() const override { return {220, std::min(hint_.height(), 160)}; }

  /// The item at a position; −1: none.
  int itemAt(const QPoint& at) const { return source_.hit ? source_.hit(size(), at) : -1; }

 Q_SIGNALS:
  void clicked(int item);
  void doubleClicked(int item);
  void menuWanted(int item, const QPoint& at);  ///< at: on the screen

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  const shell::Palette& palette_;
  LabelFont labels_;
  Source source_;
  QSize hint_{480, 360};
  int marked_ = -1;
  Heights heights_;
  QPixmap picture_;  ///< of a source that keeps; null: must be drawn
};

}  // namespace pipescope::timeline
