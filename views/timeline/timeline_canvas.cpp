#include "views/timeline/timeline_canvas.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QElapsedTimer>
#include <QKeyEvent>
#include <QMenu>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "profiler/geometry/element.h"

namespace pipescope::timeline {

using geometry::at;
using geometry::TimelineItem;
using geometry::TimeView;

namespace {

constexpr double kWheelStep = 1.25, kKeyStep = 1.6, kPanStep = 0.2;
/// Gestures further apart than this are undone one by one.
constexpr int kGestureMs = 600;
/// Edges within this many pixels are caught when measuring.
constexpr int kSnap = 6;
constexpr std::size_t kMostSpans = 20;

}  // namespace

TimelineCanvas::TimelineCanvas(const shell::Palette& palette, shell::TimeRange& range, QWidget* parent)
    : QAbstractScrollArea(parent), palette_(palette), range_(range), labels_(font()) {
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setVerticalScrollBarPolicy(Qt::ScrollBarAsNeeded);
  setFocusPolicy(Qt::StrongFocus);
  viewport()->setMouseTracking(true);
  viewport()->setAutoFillBackground(false);
  setMinimumHeight(160);
  setAccessibleName(tr("Timeline"));
  verticalScrollBar()->setSingleStep(18);
  connect(&palette_, &shell::Palette::changed, this, &TimelineCanvas::refresh);
  connect(&range_, &shell::TimeRange::changed, this, &TimelineCanvas::refresh);
}

void TimelineCanvas::setModel(std::shared_ptr<const geometry::TimelineModel> model) {
  model_ = std::move(model);
  nearModel_.reset();
  selected_ = hovered_ = {};
  layOut();
  Q_EMIT selectionChanged();
}

void TimelineCanvas::setNear(std::shared_ptr<const geometry::TimelineModel> model) {
  nearModel_ = std::move(model);
  hovered_ = {};
  layOut();
}

bool TimelineCanvas::isNear() const {
  if (!model_ || !model_->trace->large) return true;
  const analysis::Trace& trace = *scene().model()->trace;
  if (!useNear_) return !trace.far && !trace.farSteps;
  // A window that was too wide for single rows or steps may be fine now that less of it shows.
  constexpr double kFiner = 4;
  const double loaded = static_cast<double>((trace.loadedTo - trace.loadedFrom).count);
  return !(trace.far || trace.farSteps) || window().view.span() * kFiner > loaded ||
         loaded <= TimeView::kShortest * kFiner;
}

/// The window in detail where it covers the view, else the whole from afar.
void TimelineCanvas::chooseScene() {
  bool fits = nearModel_ != nullptr;
  if (fits) {
    const analysis::Trace& trace = *nearModel_->trace;
    const TimeView view = window().view;
    fits = std::max(view.start(), trace.start) >= trace.loadedFrom &&
           std::min(view.end(), trace.end) <= trace.loadedTo;
  }
  if (fits == useNear_) return;
  useNear_ = fits;
  hovered_ = {};
  findSelectionAgain();
}

void TimelineCanvas::findSelectionAgain() {
  const geometry::TimelineModel* now = scene().model();
  if (!selected_ || now == nullptr || now == selectedIn_) return;
  TimelineItem found;
  if (selected_.kind == TimelineItem::Kind::transfer) {
    const auto& all = now->trace->transfers;
    const auto place =
        std::find_if(all.begin(), all.end(), [&](const auto& row) { return row.id == selectedTransfer_; });
    if (place != all.end()) found = scene().transferItem(static_cast<int>(place - all.begin()));
  } else if (selected_.kind == TimelineItem::Kind::pass) {
    if (const auto place = now->trace->find(selectedPlacement_)) found = scene().passItem(*place);
  }
  if (!found) return;  // the outline stays where it was
  selected_ = found;
  selectedIn_ = now;
}

void TimelineCanvas::setOptions(const geometry::TimelineOptions& options) {
  if (options == options_) return;
  options_ = options;
  // Rows move: what was selected is found again by what it is.
  const TimelineItem before = selected_;
  const bool known = selectedIn_ == scene().model();
  layOut();
  selected_ = {};
  if (known && before.kind == TimelineItem::Kind::transfer) selected_ = scene().transferItem(before.index);
  if (known && before.kind == TimelineItem::Kind::wait)
    selected_ = scene().waitItem(before.device, before.index);
  if (known && before.kind == TimelineItem::Kind::pass) {
    const auto& track = at(at(scene().model()->trace->devices, before.device).tracks, before.track);
    selected_ =
        scene().passItem({before.device, before.track, at(track.passes, before.index).firstPlacement});
  }
  hovered_ = {};
  Q_EMIT selectionChanged();
}

void TimelineCanvas::setTimeScale(const geometry::TimeScale& scale, bool clickable) {
  scale_ = scale;
  unitClickable_ = clickable;
  refresh();
}

geometry::RowMetrics TimelineCanvas::rowMetrics() const {
  geometry::RowMetrics metrics;
  if (stepHeight_ > 0) {
    metrics.step = stepHeight_;
    return metrics;
  }
  return model_ ? geometry::fitRows(*model_, options_, viewport()->height() - kTop, metrics) : metrics;
}

void TimelineCanvas::layOut() {
  metrics_ = rowMetrics();
  geometry::TimelineLayout layout;
  if (model_) layout = geometry::layOutTimeline(*model_, options_, metrics_);
  near_ = nearModel_ ? geometry::TimelineScene(nearModel_, layout, options_) : geometry::TimelineScene();
  base_ = model_ ? geometry::TimelineScene(model_, std::move(layout), options_) : geometry::TimelineScene();
  useNear_ = false;
  const int visible = std::max(1, viewport()->height() - kTop);
  verticalScrollBar()->setPageStep(visible);
  verticalScrollBar()->setRange(0, std::max(0, base_.layout().height - visible));
  chooseScene();
  findSelectionAgain();
  refresh();
}

void TimelineCanvas::changeRowHeight(int direction) {
  constexpr int kHighest = 30, kBy = 3;
  stepHeight_ =
      direction == 0 ? 0 : std::clamp(metrics_.step + direction * kBy, geometry::kLowestStep, kHighest);
  layOut();
}

void TimelineCanvas::refresh() {
  chooseScene();
  pictureStale_ = true;
  viewport()->update();
}

int TimelineCanvas::rowsWidth() const {
  return std::max(1, viewport()->width() - kGutter);
}

geometry::TimelineWindow TimelineCanvas::window() const {
  TimeView view = range_.view();
  view.setWidth(rowsWidth());
  return {view, verticalScrollBar()->value(), std::max(0, viewport()->height() - kTop)};
}

void TimelineCanvas::apply(TimeView view) {
  if (!model_) return;
  view.setWidth(rowsWidth());
  view.keepWithin(model_->trace->start, model_->trace->end);
  range_.show(view);
}

/// A burst of wheel or key events is one step of undo.
void TimelineCanvas::rememberGesture() {
  if (!gesture_.isValid() || gesture_.elapsed() > kGestureMs) range_.remember();
  gesture_.start();
}

void TimelineCanvas::select(const TimelineItem& item) {
  if (item == selected_) return;
  selected_ = item;
  selectedIn_ = scene().model();
  selectedPlacement_ = {};
  selectedTransfer_ = {};
  if (item.kind == TimelineItem::Kind::transfer)
    selectedTransfer_ = at(selectedIn_->trace->transfers, item.index).id;
  if (item.kind == TimelineItem::Kind::pass) {
    const auto& track = at(at(selectedIn_->trace->devices, item.device).tracks, item.track);
    selectedPlacement_ = at(track.placements, at(track.passes, item.index).firstPlacement).id;
  }
  viewport()->update();
  Q_EMIT selectionChanged();
}

void TimelineCanvas::reveal(const TimelineItem& item) {
  if (!item) return;
  if (item.row >= 0) {
    const geometry::TimelineRow& row = at(scene().layout().rows, item.row);
    const int top = verticalScrollBar()->value(), visible = viewport()->height() - kTop;
    const int pinned = scene().layout().pinned;
    if (row.y >= pinned && row.y < top + pinned) verticalScrollBar()->setValue(row.y - pinned - 8);
    if (row.y >= pinned && row.y + row.height > top + visible)
      verticalScrollBar()->setValue(row.y + row.height - visible + 8);
  }
  TimeView view = window().view;
  const double left = view.x(item.start), right = view.x(item.end), width = view.width();
  if (left >= 0 && right <= width) return;
  range_.remember();
  if (right - left > width) {
    view.pan(left - width * 0.1);
  } else {
    view.pan((left + right) / 2 - width / 2);
  }
  apply(view);
}

void TimelineCanvas::zoomTo(base::Ticks start, base::Ticks end, double room) {
  if (!model_) return;
  const double length = std::max(1.0, static_cast<double>((end - start).count));
  const base::Ticks margin(static_cast<std::int64_t>(std::ceil(length * room)));
  range_.remember();
  gesture_.invalidate();
  apply(TimeView(
      start - margin,
      std::max(end + margin, start - margin + base::Ticks(static_cast<std::int64_t>(TimeView::kShortest))),
      rowsWidth()));
}

void TimelineCanvas::zoomToSelection() {
  if (selected_) zoomTo(selected_.start, selected_.end, 0.1);
}

void TimelineCanvas::zoomToAll() {
  if (model_) zoomTo(model_->trace->start, model_->trace->end, 0);
}

void TimelineCanvas::zoomBy(double factor) {
  if (!model_) return;
  rememberGesture();
  TimeView view = window().view;
  const double x = pointer_.x() >= kGutter ? pointer_.x() - kGutter : view.width() / 2.0;
  view.zoomAbout(x, factor, static_cast<double>((model_->trace->end - model_->trace->start).count));
  apply(view);
}

void TimelineCanvas::panBy(double fraction) {
  rememberGesture();
  TimeView view = window().view;
  view.pan(fraction * view.width());
  apply(view);
}

bool TimelineCanvas::followWait() {
  const bool known = !scene().empty() && selectedIn_ == scene().model();
  const TimelineItem cause = known ? scene().waitedFor(selected_) : TimelineItem{};
  if (!cause) return false;
  select(cause);
  reveal(cause);
  return true;
}

void TimelineCanvas::selectNeighbour(int direction) {
  const bool known = !scene().empty() && selectedIn_ == scene().model();
  const TimelineItem next = known ? scene().neighbour(selected_, direction) : TimelineItem{};
  if (!next) return;
  select(next);
  reveal(next);
}

bool TimelineCanvas::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave) {
    pointer_ = {-1, -1};
    hovered_ = {};
    viewport()->update();
  }
  return QAbstractScrollArea::viewportEvent(event);
}

void TimelineCanvas::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  layOut();  // rows keep their order: what is selected stays
  TimeView view = range_.view();
  view.setWidth(rowsWidth());
  range_.show(view);
}

void TimelineCanvas::scrollContentsBy(int, int) {
  setHovered(pointer_);
  refresh();
}

void TimelineCanvas::wheelEvent(QWheelEvent* event) {
  const QPoint turn = event->angleDelta();
  pointer_ = event->position().toPoint();
  constexpr auto kRows = Qt::ControlModifier | Qt::ShiftModifier;
  if ((event->modifiers() & kRows) == kRows) {
    if (turn.y() != 0) changeRowHeight(turn.y() > 0 ? 1 : -1);
    event->accept();
  } else if (((event->modifiers() & Qt::ControlModifier) != 0) != wheelZooms_ && turn.x() == 0 &&
             !(event->modifiers() & Qt::ShiftModifier)) {
    zoomBy(std::pow(kWheelStep, turn.y() / 120.0));
    event->accept();
  } else if ((event->modifiers() & Qt::ShiftModifier) || turn.x() != 0) {
    panBy(-(turn.x() != 0 ? turn.x() : turn.y()) / 120.0 * kPanStep / 2);
    event->accept();
  } else {
    verticalScrollBar()->setValue(verticalScrollBar()->value() - turn.y() / 2);
    event->accept();
  }
  setHovered(pointer_);
}

void TimelineCanvas::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton) return event->ignore();
  const bool onRows = event->x() >= kGutter && event->y() >= kTop && model_;
  drag_ = event->modifiers() & Qt::ControlModifier                  ? Drag::range
          : (event->modifiers() & Qt::ShiftModifier) != 0 && onRows ? Drag::measure
                                                                    : Drag::pressed;
  pressed_ = event->pos();
  if (drag_ == Drag::measure) {
    const geometry::TimelineWindow at = windowAt(event->y() - kTop);
    measureFrom_ = measureTo_ = scene().snap(at, event->x() - kGutter, event->y() - kTop, kSnap);
  }
  pressedView_ = window().view;
  pressedScroll_ = verticalScrollBar()->value();
}

void TimelineCanvas::mouseMoveEvent(QMouseEvent* event) {
  pointer_ = event->pos();
  const QPoint moved = event->pos() - pressed_;
  if (drag_ == Drag::pressed && moved.manhattanLength() >= QApplication::startDragDistance() &&
      pressed_.x() >= kGutter) {
    drag_ = Drag::pan;
    range_.remember();
    viewport()->setCursor(Qt::ClosedHandCursor);
  }
  if (drag_ == Drag::pan) {
    TimeView view = pressedView_;
    view.pan(-moved.x());
    apply(view);
    verticalScrollBar()->setValue(pressedScroll_ - moved.y());
  }
  if (drag_ == Drag::measure) {
    measureTo_ = scene().snap(windowAt(event->y() - kTop), std::max(0, event->x() - kGutter),
                              event->y() - kTop, kSnap);
  }
  setHovered(event->pos());
  if (drag_ == Drag::range || drag_ == Drag::measure) viewport()->update();
}

void TimelineCanvas::mouseReleaseEvent(QMouseEvent* event) {
  const Drag was = std::exchange(drag_, Drag::none);
  viewport()->unsetCursor();
  if (was == Drag::pressed && event->button() == Qt::LeftButton) clickAt(event->pos());
  if (was == Drag::range && std::abs(event->x() - pressed_.x()) >= QApplication::startDragDistance()) {
    const TimeView view = window().view;
    const auto [left, right] = std::minmax({pressed_.x() - kGutter, event->x() - kGutter});
    zoomTo(view.time(left), view.time(right), 0);
  }
  if (was == Drag::measure) {
    if (measureFrom_ == measureTo_) {
      clickAt(event->pos());
    } else {
      spans_.push_back({std::min(measureFrom_, measureTo_), std::max(measureFrom_, measureTo_)});
      if (spans_.size() > kMostSpans) spans_.erase(spans_.begin());
    }
  }
  viewport()->update();
}

geometry::TimelineWindow TimelineCanvas::windowAt(int y) const {
  geometry::TimelineWindow at = window();
  if (y >= 0 && y < scene().layout().pinned) at.top = 0;
  return at;
}

geometry::TimelineWindow TimelineCanvas::windowOf(const TimelineItem& item) const {
  geometry::TimelineWindow of = window();
  const auto& rows = scene().layout().rows;
  if (item.row >= 0 && item.row < static_cast<int>(rows.size()) &&
      at(rows, item.row).y < scene().layout().pinned)
    of.top = 0;
  return of;
}

TimelineItem TimelineCanvas::itemUnder(const QPoint& position) const {
  if (position.x() < kGutter || position.y() < kTop) return {};
  return scene().itemAt(windowAt(position.y() - kTop), position.x() - kGutter, position.y() - kTop);
}

void TimelineCanvas::selectLike(int direction) {
  const bool known = !scene().empty() && selectedIn_ == scene().model();
  const TimelineItem next = known ? scene().nextLike(selected_, direction) : TimelineItem{};
  if (!next) return;
  select(next);
  reveal(next);
}

bool TimelineCanvas::selectPlacement(model::PlacementId id) {
  if (scene().empty() || !id.valid()) return false;
  const auto place = scene().model()->trace->find(id);
  const TimelineItem item = place ? scene().passItem(*place) : TimelineItem{};
  if (!item) return false;
  select(item);
  reveal(item);
  return true;
}

void TimelineCanvas::measureSelection() {
  if (!selected_ || selected_.end <= selected_.start) return;
  spans_.push_back({selected_.start, selected_.end});
  viewport()->update();
}

void TimelineCanvas::setFlags(std::vector<Flag> flags) {
  flags_ = std::move(flags);
  viewport()->update();
}

void TimelineCanvas::setFrameTimeShown(bool shown) {
  frameTimeShown_ = shown;
  viewport()->update();
}

int TimelineCanvas::currentDevice() const {
  if (selected_) return selected_.device;
  if (pointer_.y() < kTop || !model_) return -1;
  const int group = scene().layout().groupAt(pointer_.y() - kTop + windowAt(pointer_.y() - kTop).top);
  return group < 0 ? -1 : at(scene().layout().groups, group).device;
}

void TimelineCanvas::changeGroup(GroupChange change, int device) {
  if (!model_) return;
  geometry::TimelineOptions options = options_;
  const auto toggle = [&](std::set<int>& set) {
    if (set.erase(device) == 0) set.insert(device);
  };
  const std::vector<int> shown = geometry::shownDevices(*model_->trace, options);
  switch (change) {
    case GroupChange::fold:
      toggle(options.collapsed);
      break;
    case GroupChange::pin:
      toggle(options.pinned);
      break;
    case GroupChange::hide:
      if (shown.size() > 1) options.hidden.insert(device);
      break;
    case GroupChange::up:
    case GroupChange::down: {
      options.order = shown;
      const auto here = std::find(options.order.begin(), options.order.end(), device);
      const bool up = change == GroupChange::up;
      if (here == options.order.end() ||
          (up ? here == options.order.begin() : here + 1 == options.order.end()))
        return;
      std::iter_swap(here, up ? here - 1 : here + 1);
      break;
    }
    case GroupChange::showAll:
      options.hidden.clear();
      options.pinned.clear();
      options.order.clear();
      options.collapsed.clear();
      options.byStage = false;
      break;
    case GroupChange::byStage:
      options.byStage = !options.byStage;
      options.order.clear();
      break;
    case GroupChange::foldAll: {
      const bool any = options.collapsed.size() < shown.size();
      options.collapsed = any ? std::set<int>(shown.begin(), shown.end()) : std::set<int>();
      break;
    }
  }
  setOptions(options);
  Q_EMIT optionsChanged();
}

void TimelineCanvas::contextMenuEvent(QContextMenuEvent* event) {
  if (!model_) return;
  const int group = scene().layout().groupAt(event->pos().y() - kTop + windowAt(event->pos().y() - kTop).top);
  showGroupMenu(event->globalPos(), group < 0 ? -1 : at(scene().layout().groups, group).device);
}

void TimelineCanvas::showGroupMenu(const QPoint& position, int device) {
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  const auto add = [&](const QString& text, GroupChange change) {
    menu->addAction(text, this, [this, change, device] { changeGroup(change, device); });
  };
  if (device >= 0) {
    add(options_.collapsed.count(device) > 0 ? tr("Unfold") : tr("Fold"), GroupChange::fold);
    add(options_.pinned.count(device) > 0 ? tr("Unpin (P)") : tr("Pin to the top (P)"), GroupChange::pin);
    add(tr("Hide (H)"), GroupChange::hide);
    add(tr("Move up (Shift+↑)"), GroupChange::up);
    add(tr("Move down (Shift+↓)"), GroupChange::down);
    menu->addSeparator();
  }
  add(tr("Fold or unfold all"), GroupChange::foldAll);
  add(options_.byStage ? tr("In the order of devices") : tr("In the order of stages"), GroupChange::byStage);
  add(tr("Show all as at first (Shift+H)"), GroupChange::showAll);
  for (QAction* action : actions()) menu->addAction(action);
  menu->popup(position);
}

void TimelineCanvas::clickAt(const QPoint& position) {
  if (position.y() < kTop) {
    if (unitClickable_ && position.x() < kGutter && position.y() >= kStepBand)
      return Q_EMIT timeUnitClicked();
    const int step = position.y() < kStepBand ? stepAt(position.x() - kGutter) : -1;
    if (step >= 0) Q_EMIT stepChosen(step);
    return;
  }
  if (position.x() >= kGutter) return select(itemUnder(position));
  const int group = scene().layout().groupAt(position.y() - kTop + windowAt(position.y() - kTop).top);
  if (group >= 0) changeGroup(GroupChange::fold, at(scene().layout().groups, group).device);
}

void TimelineCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->pos().x() < kGutter || event->pos().y() < kTop) return;
  const TimelineItem item = itemUnder(event->pos());
  if (!item) return;
  select(item);
  zoomToSelection();
}

void TimelineCanvas::setHovered(const QPoint& position) {
  const bool inRows =
      position.x() >= kGutter && position.y() >= kTop && drag_ != Drag::pan && !scene().empty();
  const bool onUnit = unitClickable_ && position.x() >= 0 && position.x() < kGutter &&
                      position.y() >= kStepBand && position.y() < kTop;
  if (drag_ != Drag::pan) viewport()->setCursor(onUnit ? Qt::PointingHandCursor : Qt::ArrowCursor);
  hovered_ = inRows ? itemUnder(position) : TimelineItem{};
  viewport()->update();
}

int TimelineCanvas::stepAt(int x) const {
  if (!model_ || x < 0) return -1;
  const base::Ticks time = window().view.time(x);
  const auto& steps = model_->trace->iterations;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].start <= time && time < steps[i].end) return static_cast<int>(i);
  }
  return -1;
}

void TimelineCanvas::keyPressEvent(QKeyEvent* event) {
  if (!handleKey(event->key(), event->modifiers())) QAbstractScrollArea::keyPressEvent(event);
}

bool TimelineCanvas::handleKey(int key, Qt::KeyboardModifiers modifiers) {
  if (modifiers & Qt::ControlModifier) return false;
  QScrollBar* bar = verticalScrollBar();
  if (modifiers & Qt::AltModifier) {
    if (key == Qt::Key_Left || key == Qt::Key_Right)
      return selectNeighbour(key == Qt::Key_Left ? -1 : 1), true;
    return false;
  }
  if (modifiers & Qt::ShiftModifier) {
    if (key == Qt::Key_W || key == Qt::Key_S) return changeRowHeight(key == Qt::Key_W ? 1 : -1), true;
    if (key == Qt::Key_R) return changeRowHeight(0), true;
    if (key == Qt::Key_H) return changeGroup(GroupChange::showAll, -1), true;
    if (key == Qt::Key_Up || key == Qt::Key_Down)
      return changeGroup(key == Qt::Key_Up ? GroupChange::up : GroupChange::down, currentDevice()), true;
    if (key == Qt::Key_Comma || key == Qt::Key_Period) return selectLike(key == Qt::Key_Comma ? -1 : 1), true;
  }
  switch (key) {
    case Qt::Key_W:
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      return zoomBy(kKeyStep), true;
    case Qt::Key_S:
    case Qt::Key_Minus:
      return zoomBy(1 / kKeyStep), true;
    case Qt::Key_A:
    case Qt::Key_Left:
      return panBy(-kPanStep), true;
    case Qt::Key_D:
    case Qt::Key_Right:
      return panBy(kPanStep), true;
    case Qt::Key_Up:
      return bar->setValue(bar->value() - 3 * bar->singleStep()), true;
    case Qt::Key_Down:
      return bar->setValue(bar->value() + 3 * bar->singleStep()), true;
    case Qt::Key_PageUp:
      return bar->setValue(bar->value() - bar->pageStep()), true;
    case Qt::Key_PageDown:
      return bar->setValue(bar->value() + bar->pageStep()), true;
    case Qt::Key_Less:
      return selectLike(-1), true;
    case Qt::Key_Greater:
      return selectLike(1), true;
    case Qt::Key_R:
      return measureSelection(), true;
    case Qt::Key_P:
      return changeGroup(GroupChange::pin, currentDevice()), true;
    case Qt::Key_H:
      return changeGroup(GroupChange::hide, currentDevice()), true;
    case Qt::Key_Comma:
      return selectNeighbour(-1), true;
    case Qt::Key_Period:
      return selectNeighbour(1), true;
    case Qt::Key_F:
      return zoomToSelection(), true;
    case Qt::Key_0:
      return zoomToAll(), true;
    case Qt::Key_Backspace:
      return range_.undo(), true;
    case Qt::Key_Escape:
      if (!selected_) spans_.clear(), viewport()->update();
      return select({}), true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      return followWait();
    default:
      return false;
  }
}

}  // namespace pipescope::timeline
