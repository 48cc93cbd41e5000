#include "views/pages/parts/charts/chart.h"

#include <qwt_plot_layout.h>
#include <qwt_plot_marker.h>
#include <qwt_scale_draw.h>
#include <qwt_scale_map.h>
#include <qwt_scale_widget.h>
#include <qwt_text.h>

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "profiler/geometry/timeline/time_axis.h"
#include "profiler/sections/frame/section.h"
#include "views/timeline/painters/shapes_painter.h"

namespace pipescope::pages {

using shell::Ui;

namespace {

constexpr double kChartFewest = 8;  ///< indices that are visible at the deepest zoom
constexpr int kTicks = 5, kBandHeight = 16, kLimitRoom = 18, kTopRoom = 6;
/// Profiles are not trusted: sums of their values must not overflow.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 54;

class BytesScale : public QwtScaleDraw {
 public:
  QwtText label(double value) const override {
    return QwtText(value == 0 ? QStringLiteral("0")
                              : QString::fromStdString(
                                    sections::formatCell(sections::Cell(value), sections::Format::bytes)));
  }
};

class IndexScale : public QwtScaleDraw {
 public:
  QwtText label(double value) const override {
    return QwtText(QString::fromStdString(geometry::groupedNumber(std::llround(value))));
  }
};

}  // namespace

QRect bandTextPlace(const QRect& strip, int width, int mark) {
  constexpr int kEdge = 3, kMarkRoom = 4;
  const QRect room = strip.adjusted(kEdge, 0, -kEdge, 0);
  const int half = (std::min(width, room.width()) + 1) / 2 + kMarkRoom;
  if (std::abs(mark - room.center().x()) > half || !strip.contains(mark, strip.top())) return room;
  // Text that would cover the mark stands beside it, as near to the middle as it can be.
  const int before = mark - kMarkRoom - room.left(), after = room.right() - mark - kMarkRoom;
  const int taken = std::clamp(std::max(before, after), 0, width);
  const int left = before > after ? mark - kMarkRoom - taken : mark + kMarkRoom;
  return {left, room.top(), taken, room.height()};
}

/// Draws the layers column by column.
class Chart::StackItem : public QwtPlotItem {
 public:
  explicit StackItem(Chart& chart) : chart_(chart) { setZ(10); }

  void draw(QPainter* painter, const QwtScaleMap& xMap, const QwtScaleMap& yMap,
            const QRectF& canvas) const override {
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing, false);
    const int right = static_cast<int>(std::ceil(canvas.right())), count = chart_.size();
    int x = static_cast<int>(std::floor(canvas.left()));
    std::vector<int> before;  // tops of the column on the left, for outlines
    while (x < right) {
      const auto first = static_cast<int>(std::floor(xMap.invTransform(x)));
      if (first >= count) break;
      const int end = std::clamp(static_cast<int>(std::ceil(xMap.invTransform(x + 1))), first + 1, count);
      const auto shown = static_cast<int>(chart_.totals().widest(static_cast<std::size_t>(std::max(0, first)),
                                                                 static_cast<std::size_t>(end)));
      // An index may cover many columns.
      const int until =
          end == first + 1
              ? std::min(right, std::max(x + 1, static_cast<int>(std::ceil(xMap.transform(first + 1)))))
              : x + 1;
      if (first >= 0) drawColumn(*painter, yMap, x, until, shown, before);
      x = until;
    }
    painter->restore();
  }

 private:
  void drawColumn(QPainter& painter, const QwtScaleMap& yMap, int x, int right, int index,
                  std::vector<int>& before) const {
    std::int64_t sum = 0;
    std::vector<int> tops;
    for (std::size_t l = 0; l < chart_.layers().size(); ++l) {
      const StackLayer& layer = chart_.layers()[l];
      const int bottom = static_cast<int>(std::lround(yMap.transform(static_cast<double>(sum))));
      sum += layer.values[static_cast<std::size_t>(index)];
      const int top = static_cast<int>(std::lround(yMap.transform(static_cast<double>(sum))));
      const QColor colour = chart_.palette_.colour(layer.role);
      const QColor fill =
          layer.outlined ? shell::Palette::mixed(colour, chart_.palette_.ui(Ui::surface), 0.28) : colour;
      painter.fillRect(QRect(x, top, right - x, bottom - top), fill);
      if (layer.outlined) {
        painter.fillRect(QRect(x, top - 1, right - x, 2), colour);
        if (l < before.size())
          painter.fillRect(QRect(x, std::min(top, before[l]) - 1, 1, std::abs(top - before[l]) + 2), colour);
      }
      tops.push_back(top);
    }
    before = std::move(tops);
  }

  const Chart& chart_;
};

/// Draws names along the top edge and tints below.
class Chart::BandItem : public QwtPlotItem {
 public:
  explicit BandItem(Chart& chart) : chart_(chart) { setZ(30); }

  void draw(QPainter* painter, const QwtScaleMap& xMap, const QwtScaleMap&,
            const QRectF& canvas) const override {
    const timeline::LabelFont labels(chart_.font());
    painter->save();
    painter->setFont(labels.font());
    const int top = static_cast<int>(canvas.top()), bottom = static_cast<int>(canvas.bottom()) + 1;
    for (std::size_t i = 0; i < chart_.bands_.size(); ++i) {
      const ChartBand& band = chart_.bands_[i];
      const bool lit = static_cast<int>(i) == chart_.lit_;
      const int left =
          std::max(static_cast<int>(canvas.left()), static_cast<int>(std::lround(xMap.transform(band.from))));
      const int right = std::min(static_cast<int>(canvas.right()) + 1,
                                 static_cast<int>(std::lround(xMap.transform(band.to))));
      if (right <= left) continue;
      const QRect strip(left, top, right - left, kBandHeight);
      QColor ground = chart_.palette_.ui(Ui::raised);
      if (band.tinted) {
        ground = chart_.palette_.colour(band.role);
        painter->fillRect(strip.adjusted(0, 1, -1, -2), ground);
      }
      if (lit) {
        ground = chart_.palette_.ui(Ui::accent);
        painter->fillRect(strip.adjusted(1, 1, -1, -2), ground);
      }
      painter->setPen(band.tinted || lit ? shell::Palette::textOn(ground) : chart_.palette_.ui(Ui::muted));
      const std::string name = band.name.toStdString();
      const int mark =
          chart_.mark_ < 0 ? -1 : static_cast<int>(std::lround(xMap.transform(chart_.mark_ + 0.5)));
      const QRect place = bandTextPlace(strip, labels.measure().width(name), mark);
      painter->drawText(place, Qt::AlignCenter,
                        QString::fromStdString(geometry::fitText(name, place.width(), labels.measure())));
      if (!band.tinted && band.from > 0)
        painter->fillRect(left, top, 1, bottom - top, chart_.palette_.ui(Ui::muted));
    }
    painter->restore();
  }

 private:
  const Chart& chart_;
};

/// Draws the sum of the other profile as a line.
class Chart::OtherItem : public QwtPlotItem {
 public:
  explicit OtherItem(Chart& chart) : chart_(chart) { setZ(20); }

  void draw(QPainter* painter, const QwtScaleMap& xMap, const QwtScaleMap& yMap,
            const QRectF& canvas) const override {
    const auto count = static_cast<int>(chart_.others().size());
    if (count == 0) return;
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing, false);
    const QColor colour = chart_.palette_.ui(Ui::text);
    int before = -1, last = -1;
    for (int x = static_cast<int>(std::floor(canvas.left())); x < std::ceil(canvas.right()); ++x) {
      const int first = std::max(0, static_cast<int>(std::floor(xMap.invTransform(x))));
      if (first >= count) break;
      const int end = std::clamp(static_cast<int>(std::ceil(xMap.invTransform(x + 1))), first + 1, count);
      const auto most =
          chart_.others().widest(static_cast<std::size_t>(first), static_cast<std::size_t>(end));
      const int y =
          static_cast<int>(std::lround(yMap.transform(static_cast<double>(chart_.others().length(most)))));
      painter->fillRect(QRect(x, y - 1, 1, 2), colour);
      if (before >= 0) painter->fillRect(QRect(x, std::min(before, y), 1, std::abs(before - y)), colour);
      before = y;
      last = x;
    }
    const timeline::LabelFont labels(chart_.font());
    painter->setFont(labels.font());
    painter->setPen(colour);
    const QRect name(std::max(static_cast<int>(canvas.left()), last - 64), before - 18, 60, 16);
    painter->fillRect(name.adjusted(0, 2, 4, 0), chart_.palette_.ui(Ui::surface));
    painter->drawText(name, Qt::AlignRight | Qt::AlignVCenter, tr("source"));
    painter->restore();
  }

 private:
  const Chart& chart_;
};

/// Tints what is marked from one index to another.
class Chart::MarkItem : public QwtPlotItem {
 public:
  explicit MarkItem(Chart& chart) : chart_(chart) { setZ(25); }

  void draw(QPainter* painter, const QwtScaleMap& xMap, const QwtScaleMap&,
            const QRectF& canvas) const override {
    if (chart_.mark_ < 0 || chart_.until_ == chart_.mark_) return;
    const double left = xMap.transform(std::min(chart_.mark_, chart_.until_)),
                 right = xMap.transform(std::max(chart_.mark_, chart_.until_) + 1);
    QColor ground = chart_.palette_.ui(Ui::accent);
    ground.setAlphaF(0.25);
    painter->fillRect(QRectF(left, canvas.top(), right - left, canvas.height()), ground);
  }

 private:
  const Chart& chart_;
};

Chart::Chart(const shell::Palette& palette, QWidget* parent)
    : RangePlot(palette, parent),
      stack_(new StackItem(*this)),
      bandItem_(new BandItem(*this)),
      otherItem_(new OtherItem(*this)),
      markItem_(new MarkItem(*this)),
      limitGround_(new QwtPlotMarker),
      limit_(new QwtPlotMarker),
      markLine_(new QwtPlotMarker) {
  setAxisScaleDraw(yLeft, new BytesScale);
  setAxisScaleDraw(xBottom, new IndexScale);
  plotLayout()->setCanvasMargin(0);
  stack_->attach(this);
  bandItem_->attach(this);
  otherItem_->attach(this);
  markItem_->attach(this);
  limit_->setLineStyle(QwtPlotMarker::HLine);
  limitGround_->setLineStyle(QwtPlotMarker::HLine);
  limitGround_->setZ(39);
  limit_->setLabelAlignment(Qt::AlignRight | Qt::AlignTop);
  limit_->setZ(40);
  markLine_->setLineStyle(QwtPlotMarker::VLine);
  markLine_->setZ(50);
  for (QwtPlotMarker* marker : {limitGround_, limit_, markLine_})
    marker->setVisible(false), marker->attach(this);
  setMinimumHeight(170);
  setRange(0, whole());  // otherwise a first stack of one index would lie on Qwt's own axis up to 1,000
  follow();
}

Chart::~Chart() = default;

void Chart::setAxes(const QString& indices, const QString& values) {
  for (const auto& [axis, name] :
       {std::pair(static_cast<int>(xBottom), indices), std::pair(static_cast<int>(yLeft), values)}) {
    QwtText text(name);
    text.setFont(font());
    text.setColor(palette_.ui(Ui::muted));
    setAxisTitle(axis, text);
  }
}

void Chart::lightBand(int band) {
  if (band == lit_) return;
  lit_ = band;
  replot();
}

std::shared_ptr<const Stack> stackOf(std::vector<StackLayer> layers) {
  auto stack = std::make_shared<Stack>();
  stack->layers = std::move(layers);
  std::size_t count = stack->layers.empty() ? 0 : stack->layers.front().values.size();
  for (const StackLayer& layer : stack->layers) count = std::min(count, layer.values.size());
  std::vector<std::int64_t> totals(count, 0);
  for (StackLayer& layer : stack->layers) {
    layer.values.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      layer.values[i] = std::clamp<std::int64_t>(layer.values[i], 0, kMostBytes);
      totals[i] += layer.values[i];
    }
  }
  stack->totals = geometry::WidestIndex(std::move(totals));
  return stack;
}

void Chart::setStack(std::shared_ptr<const Stack> stack, std::vector<ChartBand> bands) {
  const int before = static_cast<int>(whole());
  shown_ = std::move(stack);
  bands_ = std::move(bands);
  showSize(before);
}

void Chart::setStack(std::vector<StackLayer> layers, std::vector<ChartBand> bands) {
  setStack(stackOf(std::move(layers)), std::move(bands));
}

/// Makes room for the longer of both profiles, and shows it whole if it is longer than before.
void Chart::showSize(int before) {
  const int all = std::max(size(), static_cast<int>(others().size()));
  setWhole(all, kChartFewest);
  if (all != before) setRange(0, all);
  scaleValues();
}

void Chart::showBeside(const shell::Beside* source, const shell::BesideTerms&) {
  const auto* other = dynamic_cast<const Chart*>(source);
  if (other == nullptr && others().size() == 0) return;
  const int before = static_cast<int>(whole());
  other_ = other == nullptr ? std::make_shared<const Stack>() : other->shown_;
  showSize(before);
}

std::int64_t Chart::otherTotal(int index) const {
  return index >= 0 && index < static_cast<int>(others().size())
             ? others().length(static_cast<std::size_t>(index))
             : -1;
}

int Chart::size() const {
  return static_cast<int>(totals().size());
}

int Chart::highest() const {
  return static_cast<int>(totals().widest(0, totals().size()));
}

std::int64_t Chart::total(int index) const {
  return index >= 0 && index < size() ? totals().length(static_cast<std::size_t>(index)) : 0;
}

void Chart::setLimit(double bytes, const QString& name) {
  limitBytes_ = bytes;
  for (QwtPlotMarker* marker : {limitGround_, limit_}) {
    marker->setVisible(bytes >= 0);
    marker->setValue(0, bytes);
  }
  QwtText text(name);
  QFont small = timeline::LabelFont(font()).font();
  text.setFont(small);
  text.setColor(palette_.ui(Ui::error));
  text.setBackgroundBrush(palette_.ui(Ui::surface));  // the bars below may have any colour
  limit_->setLabel(text);
  scaleValues();
}

void Chart::setMark(int index, int until) {
  mark_ = index;
  until_ = index >= 0 && until >= 0 ? std::min(until, std::max(index, size() - 1)) : index;
  markLine_->setVisible(index >= 0);
  markLine_->setValue(index + 0.5, 0);
  const auto [from, to] = range();
  if (index >= 0 && (index < from || index >= to)) {
    const double span = to - from;
    setRange(index + 0.5 - span / 2, index + 0.5 + span / 2);
  }
  replot();
}

double Chart::tickStep(double span) const {
  return std::max(1.0, geometry::niceStep(span / 12));
}

/// Leaves room at the top for the names and for the label of the limit.
void Chart::scaleValues() {
  const double height = std::max(100, canvas()->height());
  const auto above = [&](double value, int pixels) { return value * height / (height - pixels); };
  const int names = bands_.empty() ? 0 : kBandHeight;
  double largest = std::max(1.0, above(limitBytes_, names + kLimitRoom));
  if (size() > 0) {
    const auto most = static_cast<double>(totals().length(totals().widest(0, totals().size())));
    largest = std::max(largest, above(most, names + kTopRoom));
  }
  if (others().size() > 0) {
    const auto most = static_cast<double>(others().length(others().widest(0, others().size())));
    largest = std::max(largest, above(most, names + kTopRoom));
  }
  setAxisScale(yLeft, 0, largest, geometry::niceBytesStep(largest, kTicks));
  replot();
}

void Chart::resizeEvent(QResizeEvent* event) {
  QwtPlot::resizeEvent(event);
  scaleValues();
}

void Chart::follow() {
  RangePlot::follow();
  limit_->setLinePen(palette_.ui(Ui::error), 1, Qt::DashLine);
  limitGround_->setLinePen(palette_.ui(Ui::surface), 3);
  QwtText text = limit_->label();
  text.setColor(palette_.ui(Ui::error));
  text.setBackgroundBrush(palette_.ui(Ui::surface));
  limit_->setLabel(text);
  markLine_->setLinePen(palette_.ui(Ui::accent), 2);
  replot();
}

int Chart::indexAt(const QPoint& position) const {
  const auto index = static_cast<int>(std::floor(invTransform(xBottom, position.x())));
  return index >= 0 && index < size() ? index : -1;
}

void Chart::contextMenuEvent(QContextMenuEvent* event) {
  const int index = indexAt(canvas()->mapFrom(this, event->pos()));
  index >= 0 ? Q_EMIT menuWanted(index, event->globalPos()) : event->ignore();
}

void Chart::pointedAt(const QPoint& position) {
  Q_EMIT hovered(indexAt(position));
}
void Chart::pointerLeft() {
  Q_EMIT hovered(-1);
}
void Chart::clickedAt(const QPoint& position) {
  if (const int index = indexAt(position); index >= 0) Q_EMIT clicked(index);
}

/// A column of pixels shows the largest of its indices, so that is the bar under the pointer.
bool Chart::doubleClickedAt(const QPoint& position) {
  const int index = indexAt(position);
  if (index < 0) return false;
  const int behind = indexAt(position + QPoint(1, 0));
  const auto first = static_cast<std::size_t>(index),
             end = static_cast<std::size_t>(std::max(index, behind > index ? behind - 1 : index)) + 1;
  const std::size_t widest = totals().widest(first, end);
  if (invTransform(yLeft, position.y()) > static_cast<double>(totals().length(widest))) return false;
  Q_EMIT doubleClicked(static_cast<int>(widest));
  return true;
}

}  // namespace pipescope::pages
