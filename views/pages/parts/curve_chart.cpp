#include "views/pages/parts/curve_chart.h"

#include <qwt_plot_canvas.h>
#include <qwt_plot_grid.h>
#include <qwt_plot_layout.h>
#include <qwt_plot_marker.h>
#include <qwt_scale_draw.h>
#include <qwt_scale_map.h>
#include <qwt_scale_widget.h>
#include <qwt_text.h>

#include <QApplication>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "views/timeline/shapes_painter.h"

namespace pipescope::pages {

using shell::Ui;

class CurveChart::CurveItem : public QwtPlotItem {
 public:
  explicit CurveItem(CurveChart& chart) : chart_(chart) { setZ(10); }

  void draw(QPainter* painter, const QwtScaleMap& xMap, const QwtScaleMap& yMap,
            const QRectF& canvas) const override {
    if (!chart_.series_) return;
    const auto& points = chart_.series_->points;
    // Per column of pixels the last value before it, the smallest and the largest in it, and its last.
    QPainterPath path;
    bool begun = false;
    const auto lineTo = [&](double x, double y) {
      begun ? path.lineTo(x, y) : path.moveTo(x, y);
      begun = true;
    };
    const auto first = std::partition_point(points.begin(), points.end(), [&](const auto& point) {
      return static_cast<double>(point.index + point.count) < chart_.from_;
    });
    int column = -1;
    double low = 0, high = 0, last = 0;
    const auto flush = [&] {
      if (column < 0) return;
      const double x = column + 0.5;
      if (high > low) lineTo(x, yMap.transform(high)), lineTo(x, yMap.transform(low));
      lineTo(x, yMap.transform(last));
    };
    for (auto point = first == points.begin() ? first : std::prev(first); point != points.end(); ++point) {
      const double x = xMap.transform(static_cast<double>(point->index));
      const int here = static_cast<int>(std::floor(x));
      if (here != column) {
        flush();
        column = std::max(0, here);
        low = point->smallest, high = point->largest;
      }
      low = std::min(low, point->smallest);
      high = std::max(high, point->largest);
      last = point->last;
      if (x > canvas.right()) break;
    }
    flush();
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setBrush(Qt::NoBrush);
    painter->setPen(QPen(chart_.palette_.colour(geometry::ColourRole::counter), 1.6));
    painter->drawPath(path);
    painter->restore();
  }

 private:
  const CurveChart& chart_;
};

CurveChart::CurveChart(const shell::Palette& palette, QWidget* parent)
    : QwtPlot(parent),
      palette_(palette),
      curve_(new CurveItem(*this)),
      grid_(new QwtPlotGrid),
      mark_(new QwtPlotMarker) {
  setAutoDelete(true);
  auto* canvas = new QwtPlotCanvas(this);
  canvas->setFrameStyle(QFrame::NoFrame);
  canvas->setFocusIndicator(QwtPlotCanvas::NoFocusIndicator);
  canvas->setPaintAttribute(QwtPlotCanvas::BackingStore, false);
  setCanvas(canvas);
  canvas->setMouseTracking(true);
  canvas->installEventFilter(this);
  plotLayout()->setAlignCanvasToScales(true);
  grid_->enableX(false);
  grid_->attach(this);
  curve_->attach(this);
  mark_->setLineStyle(QwtPlotMarker::VLine);
  mark_->setVisible(false);
  mark_->setZ(20);
  mark_->attach(this);
  setMinimumHeight(150);
  connect(&palette_, &shell::Palette::changed, this, &CurveChart::follow);
  follow();
}

CurveChart::~CurveChart() = default;

void CurveChart::setSeries(std::shared_ptr<const analysis::CounterSeries> series, const QString& indices) {
  series_ = std::move(series);
  QwtText title(indices);
  title.setFont(timeline::LabelFont(font()).font());
  title.setColor(palette_.ui(Ui::muted));
  setAxisTitle(xBottom, title);
  if (!series_) return replot();
  const double low = std::min(0.0, series_->smallest), high = std::max(series_->largest, low + 1e-12);
  setAxisScale(yLeft, low, high + (high - low) * 0.06);
  setRange(0, 1e18);
}

void CurveChart::setRange(double from, double to) {
  const double all = series_ ? static_cast<double>(std::max<std::int64_t>(2, series_->samples - 1)) : 2;
  const double span = std::clamp(to - from, std::min(8.0, all), all);
  from_ = std::clamp(from, 0.0, all - span);
  to_ = from_ + span;
  setAxisScale(xBottom, from_, to_);
  replot();
}

void CurveChart::follow() {
  setAutoFillBackground(true);
  QPalette colours = palette_.widgets();
  colours.setColor(QPalette::Window, palette_.ui(Ui::surface));
  colours.setColor(QPalette::WindowText, palette_.ui(Ui::muted));
  colours.setColor(QPalette::Text, palette_.ui(Ui::muted));
  setPalette(colours);
  setCanvasBackground(palette_.ui(Ui::surface));
  const QFont small = timeline::LabelFont(font()).font();
  for (const int axis : {static_cast<int>(xBottom), static_cast<int>(yLeft)}) {
    axisWidget(axis)->setPalette(colours);
    setAxisFont(axis, small);
    axisScaleDraw(axis)->enableComponent(QwtAbstractScaleDraw::Backbone, false);
    axisScaleDraw(axis)->setTickLength(QwtScaleDiv::MinorTick, 0);
    axisScaleDraw(axis)->setTickLength(QwtScaleDiv::MediumTick, 0);
    axisScaleDraw(axis)->setTickLength(QwtScaleDiv::MajorTick, 4);
    QwtText title = axisTitle(axis);
    title.setColor(palette_.ui(Ui::muted));
    title.setFont(small);
    setAxisTitle(axis, title);
  }
  grid_->setMajorPen(palette_.ui(Ui::grid), 1);
  mark_->setLinePen(palette_.ui(Ui::muted), 1, Qt::DashLine);
  replot();
}

int CurveChart::pointNear(int x) const {
  if (!series_ || series_->points.empty()) return -1;
  const double index = invTransform(xBottom, x);
  const auto after =
      std::partition_point(series_->points.begin(), series_->points.end(),
                           [&](const auto& point) { return static_cast<double>(point.index) <= index; });
  return static_cast<int>(std::max<std::ptrdiff_t>(0, after - series_->points.begin() - 1));
}

bool CurveChart::eventFilter(QObject* watched, QEvent* event) {
  if (watched != canvas()) return QwtPlot::eventFilter(watched, event);
  switch (event->type()) {
    case QEvent::MouseMove: {
      const auto* mouse = static_cast<QMouseEvent*>(event);
      if (pressing_ && (mouse->pos() - pressed_).manhattanLength() >= QApplication::startDragDistance())
        dragging_ = true;
      if (dragging_) {
        const double moved = (mouse->x() - pressed_.x()) * (to_ - from_) / std::max(1, canvas()->width());
        setRange(pressedFrom_ - moved, pressedFrom_ - moved + (to_ - from_));
      }
      const int point = pointNear(mouse->x());
      mark_->setVisible(point >= 0);
      if (point >= 0)
        mark_->setValue(static_cast<double>(series_->points[static_cast<std::size_t>(point)].index), 0);
      replot();
      Q_EMIT hovered(point);
      return false;
    }
    case QEvent::Leave:
      mark_->setVisible(false);
      replot();
      Q_EMIT hovered(-1);
      return false;
    case QEvent::MouseButtonPress: {
      const auto* mouse = static_cast<QMouseEvent*>(event);
      pressing_ = mouse->button() == Qt::LeftButton;
      dragging_ = false;
      pressed_ = mouse->pos();
      pressedFrom_ = from_;
      return false;
    }
    case QEvent::MouseButtonRelease:
      pressing_ = dragging_ = false;
      return false;
    case QEvent::MouseButtonDblClick:
      setRange(0, 1e18);
      return true;
    case QEvent::Wheel: {
      const auto* wheel = static_cast<QWheelEvent*>(event);
      const double at = invTransform(xBottom, wheel->position().x()),
                   factor = std::pow(1.25, wheel->angleDelta().y() / 120.0);
      const double left = (at - from_) / factor;
      setRange(at - left, at - left + (to_ - from_) / factor);
      return true;
    }
    default:
      return QwtPlot::eventFilter(watched, event);
  }
}

}  // namespace pipescope::pages
