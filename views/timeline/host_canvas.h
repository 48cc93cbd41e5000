#pragma once
#include <QStringList>
#include <functional>
#include <memory>
#include <optional>

#include "views/timeline/painters/host_painter.h"
#include "views/timeline/time_canvas.h"

namespace pipescope::timeline {

/// The host's timeline: an overview of everything, the time axis, and below them calls, threads and series.
/// The overview moves the visible part, as the wheel and dragging do.
class HostCanvas : public TimeCanvas {
  Q_OBJECT

 public:
  static constexpr int kOverview = HostPainter::kOverview, kHead = HostPainter::kHead;

  explicit HostCanvas(const shell::Palette& palette, QWidget* parent = nullptr);

  /// Keeps the visible part if the timeline has only grown.
  void setTimeline(std::shared_ptr<const analysis::HostTimeline> timeline, bool keepView);
  const geometry::HostScene& scene() const { return scene_; }
  /// Sets the text of the callout: a heading, then lines.
  void setDescriber(std::function<QStringList(const geometry::HostHit&)> describe) {
    describe_ = std::move(describe);
  }
  /// Dims the spans of all other names; −1: none.
  void setOnly(int name);
  int only() const { return only_; }

  /// Makes the menu of the right button on something that was hit; without it, the canvas has none.
  void setMenu(std::function<void(const geometry::HostHit&, const QPoint& onScreen)> menu) {
    menu_ = std::move(menu);
  }
  /// Opens what was hit elsewhere on a double click. Returns false if there is nothing to open, and then the
  /// canvas zooms to it.
  void setOpener(std::function<bool(const geometry::HostHit&)> open) { open_ = std::move(open); }
  const std::optional<geometry::HostHit>& selected() const { return selected_; }
  void select(std::optional<geometry::HostHit> hit);
  /// The call, span, event or point of a curve at a place of the viewport.
  std::optional<geometry::HostHit> at(const QPoint& place) const;
  /// Shows this span of time with some room on both sides.
  void zoomTo(base::Ticks start, base::Ticks end);
  /// The box of something in the viewport.
  QRect rectOf(const geometry::HostHit& hit) const;
  static geometry::TimeScale scale() { return HostPainter::kScale; }

 protected:
  bool isEmpty() const override { return scene_.timeline() == nullptr; }
  std::pair<base::Ticks, base::Ticks> bounds() const override;
  QRect rowsArea() const override;
  void layOut() override;
  void paintRows(QPainter& painter) const override;
  bool pointAt(const std::optional<QPoint>& onRows) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  std::optional<QRect> hoveredBox() const override;
  std::optional<QRect> selectedBox() const override;
  QStringList callout() const override;
  void click(const QPoint& onRows) override { select(hitAt(onRows)); }
  void doubleClick(const std::optional<QPoint>& onRows) override;
  bool pressKey(int key) override;
  bool wheelZooms(const QPoint& position) const override;
  void dragTo(const QPoint& position) override;
  void mousePressEvent(QMouseEvent* event) override;

 private:
  void reveal(const geometry::HostHit& hit);
  void moveOverview(int x);
  std::optional<geometry::HostHit> hitAt(const QPoint& onRows) const;

  geometry::HostScene scene_;
  std::function<QStringList(const geometry::HostHit&)> describe_;
  std::function<void(const geometry::HostHit&, const QPoint&)> menu_;
  std::function<bool(const geometry::HostHit&)> open_;
  std::optional<geometry::HostHit> selected_, hovered_;
  int only_ = -1;
  bool onOverview_ = false;
};

}  // namespace pipescope::timeline
