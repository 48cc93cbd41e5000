#include "views/timeline/host_canvas.h"

#include <QMouseEvent>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

namespace pipescope::timeline {

using base::Ticks;
using geometry::HostHit;
using geometry::HostScene;
using geometry::TimeView;

namespace {

constexpr int kHostMargin = 8;

}  // namespace

HostCanvas::HostCanvas(const shell::Palette& palette, QWidget* parent)
    : TimeCanvas(palette, kHostMargin, parent) {
  setMinimumHeight(160);
  setAccessibleName(tr("Timeline of the host"));
}

void HostCanvas::setTimeline(std::shared_ptr<const analysis::HostTimeline> timeline, bool keepView) {
  const bool sameBegin = keepView && scene_.timeline() != nullptr && timeline != nullptr &&
                         scene_.timeline()->zero == timeline->zero && view_.width() > 1;
  const bool all = !sameBegin || view_.end() >= bounds().second;
  const std::optional<HostHit> before = sameBegin ? selected_ : std::nullopt;
  const auto times = before ? scene_.timesOf(*before) : std::pair<Ticks, Ticks>();
  scene_ = HostScene(std::move(timeline));
  hovered_.reset();
  // Spans that were added since may come before it in the list.
  selected_ = before ? scene_.find(*before, times) : std::nullopt;
  if (!sameBegin) only_ = -1;
  layOut();
  if (all) zoomToAll();
  Q_EMIT selectionChanged();
}

std::pair<Ticks, Ticks> HostCanvas::bounds() const {
  return {Ticks(0), isEmpty() ? Ticks(1) : std::max(Ticks(1), scene_.timeline()->end)};
}

QRect HostCanvas::rowsArea() const {
  return {kGutter, kHead, rowsWidth(), viewport()->height() - kHead};
}

void HostCanvas::layOut() {
  setRowsHeight(scene_.height(), HostScene::kRow);
}

void HostCanvas::zoomTo(Ticks start, Ticks end) {
  const double length = std::max(1.0, static_cast<double>((end - start).count));
  const Ticks room(static_cast<std::int64_t>(std::ceil(length * 0.1)) + 2);
  show(TimeView(start - room, end + room, rowsWidth()));
}

void HostCanvas::setOnly(int name) {
  if (name == only_) return;
  only_ = name;
  refresh();
}

void HostCanvas::select(std::optional<HostHit> hit) {
  if (hit == selected_) return;
  selected_ = hit;
  if (hit) reveal(*hit);
  viewport()->update();
  Q_EMIT selectionChanged();
}

void HostCanvas::reveal(const HostHit& hit) {
  geometry::Box box = scene_.boxOf(view_, top(), hit);
  const bool isPinned = hit.kind == HostHit::Kind::curve && scene_.timeline()->curves[hit.lane].pinned;
  if (box.y < scene_.pinned()) box.y -= scene_.pinned();  // the pinned curves lie over what scrolls
  if (!isPinned) revealRows(box);
  const auto [start, finish] = scene_.timesOf(hit);
  const double left = view_.x(start), right = view_.x(finish), width = view_.width();
  if (left < width && right > 0) return;
  TimeView view = view_;
  view.pan(right - left > width ? left - width * 0.1 : (left + right) / 2 - width / 2);
  show(view);
}

QRect HostCanvas::rectOf(const HostHit& hit) const {
  const geometry::Box box = scene_.boxOf(view_, top(), hit);
  return {box.x + kGutter, box.y + kHead, box.width, box.height};
}

// --- Painting ---

void HostCanvas::paintRows(QPainter& painter) const {
  HostPainter({.palette = palette_,
               .labels = labels_,
               .scene = scene_,
               .view = view_,
               .end = bounds().second,
               .size = viewport()->size(),
               .top = top(),
               .only = only_})
      .paint(painter);
}

std::optional<QRect> HostCanvas::hoveredBox() const {
  if (!hovered_ || hovered_->kind == HostHit::Kind::curve) return std::nullopt;
  return rectOf(*hovered_);
}

std::optional<QRect> HostCanvas::selectedBox() const {
  if (!selected_) return std::nullopt;
  return rectOf(*selected_);
}

QStringList HostCanvas::callout() const {
  return hovered_ && describe_ ? describe_(*hovered_) : QStringList();
}

// --- The pointer and the keyboard ---

std::optional<HostHit> HostCanvas::hitAt(const QPoint& onRows) const {
  return scene_.hit(view_, top(), onRows.x(), onRows.y());
}

bool HostCanvas::pointAt(const std::optional<QPoint>& onRows) {
  const auto before = std::exchange(hovered_, onRows ? hitAt(*onRows) : std::nullopt);
  return before != hovered_;
}

std::optional<HostHit> HostCanvas::at(const QPoint& place) const {
  const std::optional<QPoint> rows = onRows(place);
  return rows ? hitAt(*rows) : std::nullopt;
}

void HostCanvas::contextMenuEvent(QContextMenuEvent* event) {
  const auto hit = at(event->pos());
  if (!hit || !menu_) return event->ignore();
  select(hit);
  menu_(*hit, event->globalPos());
}

bool HostCanvas::wheelZooms(const QPoint& position) const {
  return position.y() < kHead;
}

void HostCanvas::mousePressEvent(QMouseEvent* event) {
  TimeCanvas::mousePressEvent(event);
  onOverview_ = isPressing() && event->y() < kOverview;
  if (onOverview_ && event->x() >= kGutter) moveOverview(event->x());
}

void HostCanvas::dragTo(const QPoint& position) {
  onOverview_ ? moveOverview(position.x()) : TimeCanvas::dragTo(position);
}

/// Moves the visible part so that its middle lies below the pointer.
void HostCanvas::moveOverview(int x) {
  const TimeView whole(bounds().first, bounds().second, rowsWidth());
  TimeView view = view_;
  view.pan(view.x(whole.time(x - kGutter)) - view.width() / 2.0);
  show(view);
}

void HostCanvas::doubleClick(const std::optional<QPoint>& onRows) {
  const auto hit = onRows ? hitAt(*onRows) : std::nullopt;
  if (!hit) return zoomToAll();
  if (open_ && open_(*hit)) return;
  const auto [start, finish] = scene_.timesOf(*hit);
  zoomTo(start, finish);
}

bool HostCanvas::pressKey(int key) {
  const auto choose = [&](const auto& find) {
    const std::optional<HostHit> next = selected_ ? find(*selected_) : scene_.first();
    if (next) select(next);
    return true;
  };
  const auto beside = [&](int direction) {
    return choose([&](const HostHit& hit) { return scene_.neighbour(hit, direction); });
  };
  const auto inward = [&](int direction) {
    return choose([&](const HostHit& hit) { return scene_.inward(hit, direction); });
  };
  switch (key) {
    case Qt::Key_F:
      if (selected_) zoomTo(scene_.timesOf(*selected_).first, scene_.timesOf(*selected_).second);
      return true;
    case Qt::Key_Comma:
    case Qt::Key_Left:
      return beside(-1);
    case Qt::Key_Period:
    case Qt::Key_Right:
      return beside(1);
    case Qt::Key_Up:
      return inward(-1);
    case Qt::Key_Down:
      return inward(1);
    case Qt::Key_Escape:
      select({});
      return true;
    default:
      return false;
  }
}

}  // namespace pipescope::timeline
