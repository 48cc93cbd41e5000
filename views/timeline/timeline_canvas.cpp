#include "views/timeline/timeline_canvas.h"

#include <QElapsedTimer>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "profiler/geometry/element.h"

namespace pipescope::timeline {

using geometry::at;
using geometry::TimelineItem;
using geometry::TimeView;

namespace {

/// Gestures further apart than this are undone one by one.
constexpr int kGestureMs = 600;

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
  connect(&range_, &shell::TimeRange::changed, this, &TimelineCanvas::refreshRows);
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
  metrics.counter = options_.counterHeight;
  metrics.tiles = options_.tilesHeight;
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
  gutterStale_ = true;
  refreshRows();
}

void TimelineCanvas::refreshRows() {
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

bool TimelineCanvas::selectProgram(model::ProgramId program, int device) {
  if (scene().empty() || !program.valid()) return false;
  const TimeView view = window().view;
  const TimelineItem item = scene().stepOf(program, device, view.time(view.width() / 2.0));
  if (!item) return false;
  select(item);
  reveal(item);
  return true;
}

void TimelineCanvas::lightDevice(int device) {
  if (device == lit_) return;
  lit_ = device;
  refresh();
}

void TimelineCanvas::measureSelection() {
  if (!selected_ || selected_.end <= selected_.start) return;
  spans_.push_back({selected_.start, selected_.end});
  viewport()->update();
}

void TimelineCanvas::toggleMarker() {
  if (!model_) return;
  const bool onRows = pointer_.x() >= kGutter && pointer_.y() >= kTop;
  base::Ticks time = window().view.time(window().view.width() / 2.0);
  if (onRows) {
    time = scene().snap(windowAt(pointer_.y() - kTop), pointer_.x() - kGutter, pointer_.y() - kTop, kSnap);
  } else if (selected_) {
    time = selected_.start;
  }
  const auto place = std::lower_bound(markers_.begin(), markers_.end(), time);
  if (place != markers_.end() && *place == time) {
    markers_.erase(place);
  } else if (markers_.size() < kMostSpans) {
    markers_.insert(place, time);
  }
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
  const bool ofAll =
      change == GroupChange::showAll || change == GroupChange::byStage || change == GroupChange::foldAll;
  if (!model_ || (device < 0 && !ofAll)) return;
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

}  // namespace pipescope::timeline
