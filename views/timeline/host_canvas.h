#pragma once
#include <QAbstractScrollArea>
#include <QPixmap>
#include <QStringList>
#include <functional>
#include <memory>
#include <optional>

#include "views/timeline/host_painter.h"

namespace pipescope::timeline {

/// The host's timeline: an overview of everything, the time axis, and below them calls, threads and series.
/// The overview moves the visible part, as the wheel and dragging do.
class HostCanvas : public QAbstractScrollArea {
  Q_OBJECT

 public:
  static constexpr int kGutter = HostPainter::kGutter, kOverview = HostPainter::kOverview,
                       kHead = HostPainter::kHead;

  explicit HostCanvas(const shell::Palette& palette, QWidget* parent = nullptr);

  /// Keeps the visible part if the timeline has only grown.
  void setTimeline(std::shared_ptr<const analysis::HostTimeline> timeline, bool keepView);
  const geometry::HostScene& scene() const { return scene_; }
  /// What the callout says: a heading, then lines.
  void setDescriber(std::function<QStringList(const geometry::HostHit&)> describe) {
    describe_ = std::move(describe);
  }
  /// Dims the spans of all other names; −1: none.
  void setOnly(int name);
  int only() const { return only_; }

  const std::optional<geometry::HostHit>& selected() const { return selected_; }
  void select(std::optional<geometry::HostHit> hit);
  const geometry::TimeView& view() const { return view_; }
  void show(geometry::TimeView view);
  void zoomToAll();
  /// Shows this span of time with some room on both sides.
  void zoomTo(base::Ticks start, base::Ticks end);
  void zoomBy(double factor);
  /// Makes the canvas show all rows by enlarging `frame`, which contains it. Returns what undoes it.
  std::function<void()> showWhole(QWidget& frame);
  /// The box of something in the viewport.
  QRect rectOf(const geometry::HostHit& hit) const;
  static geometry::TimeScale scale() { return HostPainter::kScale; }

 Q_SIGNALS:
  void selectionChanged();
  void viewChanged();

 protected:
  bool viewportEvent(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;

 private:
  void layOut();
  void reveal(const geometry::HostHit& hit);
  void paintOverlay(QPainter& painter) const;
  void moveOverview(int x);
  std::optional<geometry::HostHit> hitAt(const QPoint& position) const;
  int rowsWidth() const;
  int top() const;
  base::Ticks end() const;

  const shell::Palette& palette_;
  LabelFont labels_;
  geometry::HostScene scene_;
  geometry::TimeView view_, pressedView_;
  std::function<QStringList(const geometry::HostHit&)> describe_;
  std::optional<geometry::HostHit> selected_, hovered_;
  QPixmap picture_;
  QPoint pressed_, pointer_;
  int only_ = -1;
  bool stale_ = true, dragging_ = false, pressing_ = false, onOverview_ = false;
};

}  // namespace pipescope::timeline
