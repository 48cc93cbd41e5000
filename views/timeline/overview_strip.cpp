#include "views/timeline/overview_strip.h"

#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "profiler/geometry/timeline/overview.h"
#include "views/timeline/page_wheel.h"
#include "views/timeline/painters/shapes_painter.h"
#include "views/timeline/timeline_canvas.h"

namespace pipescope::timeline {

using base::Ticks;
using shell::Ui;

namespace {
constexpr int kHeight = 52, kStripMargin = 6, kGrip = 6, kHandle = 7;
}  // namespace

OverviewStrip::OverviewStrip(const shell::Palette& palette, shell::TimeRange& range, QWidget* parent)
    : QWidget(parent), palette_(palette), range_(range) {
  setFixedHeight(kHeight);
  setMouseTracking(true);
  setAccessibleName(tr("Overview"));
  setToolTip(
      tr("The whole trace. Drag the handles or the part between them, or click elsewhere to go there."));
  connect(&range_, &shell::TimeRange::changed, this, qOverload<>(&QWidget::update));
  connect(&palette_, &shell::Palette::changed, this, [this] {
    pictureStale_ = true;
    update();
  });
}

void OverviewStrip::setModel(std::shared_ptr<const geometry::TimelineModel> model) {
  model_ = std::move(model);
  pictureStale_ = true;
  update();
}

void OverviewStrip::setByMicroBatch(bool byMicroBatch) {
  byMicroBatch_ = byMicroBatch;
  pictureStale_ = true;
  update();
}

geometry::TimeView OverviewStrip::whole() const {
  return {model_->trace->start, model_->trace->end, std::max(1, width() - TimelineCanvas::kGutter - kGrip)};
}

std::pair<int, int> OverviewStrip::handles() const {
  const geometry::TimeView view = whole();
  const int left = TimelineCanvas::kGutter + std::clamp(view.column(range_.start()), 0, view.width());
  const int right = TimelineCanvas::kGutter + std::clamp(view.column(range_.end()), 0, view.width());
  return {left, std::max(right, left + 2)};
}

void OverviewStrip::drawPicture() {
  const double ratio = devicePixelRatioF();
  if (!pictureStale_ && picture_.size() == size() * ratio) return;
  pictureStale_ = false;
  picture_ = QPixmap(size() * ratio);
  picture_.setDevicePixelRatio(ratio);
  QPainter painter(&picture_);
  painter.fillRect(rect(), palette_.ui(Ui::raised));
  painter.fillRect(0, height() - 1, width(), 1, palette_.ui(Ui::border));
  painter.fillRect(TimelineCanvas::kGutter - 1, 0, 1, height(), palette_.ui(Ui::border));
  if (!model_) return;
  painter.fillRect(TimelineCanvas::kGutter, kStripMargin, whole().width(), height() - 2 * kStripMargin,
                   palette_.ui(Ui::surface));
  const LabelFont labels(font());
  painter.setFont(labels.font());
  painter.setPen(palette_.ui(Ui::muted));
  const std::size_t calls = model_->trace->runs.size();
  const QString what =
      calls == 1 ? QString::fromStdString(model_->trace->runs.front().name) : tr("%1 calls").arg(calls);
  const QFontMetrics metrics(labels.font());
  painter.drawText(QRect(8, 0, TimelineCanvas::kGutter - 16, height()), Qt::AlignVCenter | Qt::AlignRight,
                   metrics.elidedText(what, Qt::ElideMiddle, TimelineCanvas::kGutter - 16));
  painter.translate(TimelineCanvas::kGutter, kStripMargin);
  paintShapes(painter, overview(*model_, whole(), height() - 2 * kStripMargin, byMicroBatch_), palette_,
              labels);
}

void OverviewStrip::paintEvent(QPaintEvent*) {
  drawPicture();
  QPainter painter(this);
  painter.drawPixmap(0, 0, picture_);
  if (!model_) return;
  const auto [left, right] = handles();
  QColor veil = palette_.ui(Ui::raised);
  veil.setAlpha(170);
  const int top = kStripMargin - 3, tall = height() - 2 * top, first = TimelineCanvas::kGutter,
            last = first + whole().width();
  painter.fillRect(first, kStripMargin, left - first, height() - 2 * kStripMargin, veil);
  painter.fillRect(right, kStripMargin, last - right, height() - 2 * kStripMargin, veil);
  painter.setPen(palette_.ui(Ui::accent));
  painter.drawRect(left, top, right - left - 1, tall - 1);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setBrush(palette_.ui(Ui::accent));
  painter.setPen(palette_.ui(Ui::raised));
  for (const int x : {left, right - 1})
    painter.drawRoundedRect(QRectF(x - kHandle / 2.0, height() / 2.0 - 9, kHandle, 18), 2.5, 2.5);
}

OverviewStrip::Part OverviewStrip::partAt(int x) const {
  if (!model_) return Part::none;
  const auto [left, right] = handles();
  const int toLeft = std::abs(x - left), toRight = std::abs(x - right);
  // The nearer handle is taken if both lie close together, each on its own side.
  if (std::min(toLeft, toRight) <= kGrip)
    return toLeft < toRight || (toLeft == toRight && x < left) ? Part::left : Part::right;
  return x > left && x < right ? Part::middle : Part::none;
}

void OverviewStrip::mousePressEvent(QMouseEvent* event) {
  if (!model_ || event->button() != Qt::LeftButton) return;
  drag_ = partAt(event->x());
  range_.remember();
  pressedStart_ = range_.start();
  pressedEnd_ = range_.end();
  pressed_ = event->x();
  if (drag_ != Part::none) return;
  const Ticks centre = whole().time(event->x() - TimelineCanvas::kGutter),
              length = pressedEnd_ - pressedStart_;
  showRange(centre - Ticks(length.count / 2), centre - Ticks(length.count / 2) + length);
  pressedStart_ = range_.start();
  pressedEnd_ = range_.end();
  drag_ = Part::middle;
}

void OverviewStrip::mouseMoveEvent(QMouseEvent* event) {
  if (!model_) return;
  if (drag_ == Part::none) {
    const Part part = partAt(event->x());
    setCursor(part == Part::middle ? Qt::OpenHandCursor
              : part == Part::none ? Qt::ArrowCursor
                                   : Qt::SizeHorCursor);
    return;
  }
  const geometry::TimeView view = whole();
  const Ticks moved = view.time(event->x()) - view.time(pressed_);
  const Ticks shortest(static_cast<std::int64_t>(geometry::TimeView::kShortest));
  if (drag_ == Part::left) showRange(std::min(pressedStart_ + moved, pressedEnd_ - shortest), pressedEnd_);
  if (drag_ == Part::right) showRange(pressedStart_, std::max(pressedEnd_ + moved, pressedStart_ + shortest));
  if (drag_ == Part::middle) showRange(pressedStart_ + moved, pressedEnd_ + moved);
}

void OverviewStrip::mouseReleaseEvent(QMouseEvent*) {
  drag_ = Part::none;
}

void OverviewStrip::wheelEvent(QWheelEvent* event) {
  if (scrollsPage(*event, *this)) return event->ignore();
  if (!model_) return;
  range_.remember();
  geometry::TimeView view = range_.view();
  const double x = view.x(whole().time(event->position().x() - TimelineCanvas::kGutter));
  view.zoomAbout(x, std::pow(1.25, event->angleDelta().y() / 120.0), whole().span());
  view.keepWithin(model_->trace->start, model_->trace->end);
  range_.show(view);
  event->accept();
}

void OverviewStrip::showRange(Ticks start, Ticks end) {
  geometry::TimeView view(start, end, range_.view().width());
  view.keepWithin(model_->trace->start, model_->trace->end);
  range_.show(view);
}

}  // namespace pipescope::timeline
