#include "views/pages/parts/charts/curve_chart.h"

#include <qwt_plot_canvas.h>
#include <qwt_plot_marker.h>
#include <qwt_scale_draw.h>
#include <qwt_scale_engine.h>
#include <qwt_scale_map.h>
#include <qwt_text.h>

#include <QContextMenuEvent>
#include <QFontMetricsF>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <climits>
#include <cmath>

#include "views/timeline/painters/shapes_painter.h"

namespace pipescope::pages {

using shell::Ui;

namespace {
constexpr double kCurveChartFewest = 8;  ///< samples that are visible at the deepest zoom
constexpr double kDot = 3.5;

/// Calls and iterations count from 1, so the ticks stand at round numbers of these.
class CountEngine : public QwtLinearScaleEngine {
 public:
  QwtScaleDiv divideScale(double from, double to, int major, int minor, double step) const override {
    QwtScaleDiv div = QwtLinearScaleEngine::divideScale(from + 1, to + 1, major, minor, step);
    for (const int type : {QwtScaleDiv::MinorTick, QwtScaleDiv::MediumTick, QwtScaleDiv::MajorTick}) {
      QList<double> ticks = div.ticks(type);
      for (double& tick : ticks) tick -= 1;
      div.setTicks(type, ticks);
    }
    div.setInterval(from, to);
    return div;
  }
};
class CountScale : public QwtScaleDraw {
 public:
  QwtText label(double value) const override { return QwtScaleDraw::label(value + 1); }
};

/// The exponential moving mean of the last values of points, without the bias of its beginning (Kingma and Ba
/// 2015, section 3).
std::vector<double> movingMean(const std::vector<analysis::CounterPoint>& points, double weight) {
  std::vector<double> means;
  means.reserve(points.size());
  double sum = 0, weights = 0;
  for (const analysis::CounterPoint& point : points) {
    sum = weight * sum + (1 - weight) * point.last;
    weights = weight * weights + (1 - weight);
    means.push_back(weights > 0 ? sum / weights : point.last);
  }
  return means;
}

/// Fractions are shown as elsewhere.
class PercentScale : public QwtScaleDraw {
 public:
  QwtText label(double value) const override { return QStringLiteral("%1 %").arg(100 * value); }
};
}  // namespace

class CurveChart::CurveItem : public QwtPlotItem {
 public:
  explicit CurveItem(CurveChart& chart) : chart_(chart) { setZ(10); }

  void draw(QPainter* painter, const QwtScaleMap& xMap, const QwtScaleMap& yMap,
            const QRectF& canvas) const override {
    if (chart_.other_)
      drawSeries(*painter, xMap, yMap, canvas, *chart_.other_, chart_.palette_.ui(shell::Ui::muted));
    if (chart_.series_) {
      const QColor strong = chart_.palette_.ui(shell::Ui::accent);
      const bool smooth = chart_.smoothing_ > 0 && chart_.series_->points.size() > 1;
      QColor own = strong;
      if (smooth) own.setAlphaF(0.3);
      drawSeries(*painter, xMap, yMap, canvas, *chart_.series_, own);
      if (smooth) drawSmoothed(*painter, xMap, yMap, canvas, strong);
    }
    if (chart_.also_) drawAlso(*painter, xMap, yMap);
    painter->setFont(timeline::LabelFont(chart_.font()).font());
    for (const Name& name : namesAt(yMap, canvas)) {
      painter->setPen(name.colour);
      painter->drawText(name.box, Qt::AlignLeft | Qt::AlignVCenter, name.text);
    }
  }

  struct Name {
    QString text;
    QColor colour;
    QRectF box;
  };

  /// The names of two curves stand above their first points. If both would meet, as the names of equal curves
  /// do, the second one follows the first.
  std::vector<Name> namesAt(const QwtScaleMap& yMap, const QRectF& canvas) const {
    constexpr double kLeft = 6, kHeight = 14, kAbove = 2, kBetween = 10;
    std::vector<Name> names;
    if ((!chart_.other_ && !chart_.also_) || !chart_.series_) return names;
    const QFontMetricsF metrics(timeline::LabelFont(chart_.font()).font());
    const auto add = [&](const analysis::CounterSeries& series, const QString& text, Ui colour) {
      if (series.points.empty()) return;
      const double above = yMap.transform(series.points.front().last) - kAbove - kHeight;
      QRectF box(canvas.left() + kLeft, std::max(canvas.top(), above), metrics.horizontalAdvance(text) + 1,
                 kHeight);
      for (const Name& before : names)
        if (before.box.intersects(box)) box.moveLeft(before.box.right() + kBetween);
      names.push_back({text, chart_.palette_.ui(colour), box});
    };
    if (chart_.other_) add(*chart_.other_, tr("source"), Ui::muted);
    add(*chart_.series_, chart_.other_ ? tr("target") : tr("training"), Ui::accent);
    if (chart_.also_) add(*chart_.also_, chart_.alsoName_, Ui::warning);
    return names;
  }

 private:
  void drawSmoothed(QPainter& painter, const QwtScaleMap& xMap, const QwtScaleMap& yMap, const QRectF& canvas,
                    const QColor& colour) const {
    const auto& points = chart_.series_->points;
    const std::vector<double> means = chart_.smoothed();
    QPainterPath path;
    int column = INT_MIN;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double x = xMap.transform(static_cast<double>(points[i].index));
      const int here = static_cast<int>(std::floor(x));
      if (here == column && i + 1 < points.size()) continue;  // a line needs no two points of a column
      column = here;
      const QPointF place(x, yMap.transform(means[i]));
      path.elementCount() == 0 ? path.moveTo(place) : path.lineTo(place);
      if (x > canvas.right()) break;
    }
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(colour, 2));
    painter.drawPath(path);
    painter.restore();
  }

  void drawAlso(QPainter& painter, const QwtScaleMap& xMap, const QwtScaleMap& yMap) const {
    constexpr std::size_t kMostDots = 200;
    const auto& points = chart_.also_->points;
    const QColor colour = chart_.palette_.ui(Ui::warning);
    QPolygonF line;
    for (const analysis::CounterPoint& point : points)
      line << QPointF(xMap.transform(static_cast<double>(point.index)), yMap.transform(point.last));
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(colour, 1.6));
    painter.drawPolyline(line);
    painter.setBrush(colour);
    for (const QPointF& dot : line) {
      if (points.size() <= kMostDots) painter.drawEllipse(dot, kDot, kDot);
    }
    painter.restore();
  }

  void drawSeries(QPainter& painter, const QwtScaleMap& xMap, const QwtScaleMap& yMap, const QRectF& canvas,
                  const analysis::CounterSeries& series, const QColor& colour) const {
    const auto& points = series.points;
    // Each column of pixels gets the last value before it, the smallest and the largest in it, and the last.
    QPainterPath path;
    bool begun = false;
    const auto lineTo = [&](double x, double y) {
      begun ? path.lineTo(x, y) : path.moveTo(x, y);
      begun = true;
    };
    const auto first = std::partition_point(points.begin(), points.end(), [&](const auto& point) {
      return static_cast<double>(point.index + point.count) < chart_.range().first;
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
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(colour, 1.6));
    painter.drawPath(path);
    if (points.size() == 1) {  // one point makes no line
      painter.setBrush(colour);
      painter.drawEllipse(
          QPointF(xMap.transform(static_cast<double>(points[0].index)), yMap.transform(points[0].last)), kDot,
          kDot);
    }
    painter.restore();
  }

  const CurveChart& chart_;
};

CurveChart::CurveChart(const shell::Palette& palette, QWidget* parent)
    : RangePlot(palette, parent), curve_(new CurveItem(*this)), mark_(new QwtPlotMarker) {
  static_cast<QwtPlotCanvas*>(canvas())->setPaintAttribute(QwtPlotCanvas::BackingStore, false);
  curve_->attach(this);
  setAxisScaleEngine(xBottom, new CountEngine);
  setAxisScaleDraw(xBottom, new CountScale);
  mark_->setLineStyle(QwtPlotMarker::VLine);
  mark_->setVisible(false);
  mark_->setZ(20);
  mark_->attach(this);
  setMinimumHeight(150);
  follow();
}

CurveChart::~CurveChart() = default;

void CurveChart::setLeastHeight(int pixels) {
  leastHeight_ = pixels;
  setFixedHeight(pixels);
}

shell::Growing::Heights CurveChart::heights() const {
  constexpr int kShape = 2;  // a curve is twice as wide as it is high
  if (leastHeight_ == 0) return {};
  return {leastHeight_, std::max(leastHeight_, width() / kShape), minimumHeight()};
}

void CurveChart::growTo(int height) {
  setFixedHeight(height);
}

void CurveChart::setSeries(std::shared_ptr<const analysis::CounterSeries> series, const QString& indices) {
  series_ = std::move(series);
  const bool percent = series_ && series_->counter.unit == "fraction";
  if (percent != percent_) {
    percent_ = percent;
    setAxisScaleDraw(yLeft, percent ? new PercentScale : new QwtScaleDraw);
    follow();
  }
  QwtText title(indices);
  title.setFont(timeline::LabelFont(font()).font());
  title.setColor(palette_.ui(Ui::muted));
  setAxisTitle(xBottom, title);
  showAll();
}

void CurveChart::setAlso(std::shared_ptr<const analysis::CounterSeries> also, const QString& name) {
  also_ = std::move(also);
  alsoName_ = name;
  showAll();
}

void CurveChart::setLogarithmic(bool logarithmic) {
  logarithmic_ = logarithmic;
  showAll();
}

void CurveChart::setSmoothing(double weight) {
  smoothing_ = std::clamp(weight, 0.0, 0.999);
  replot();
}

std::vector<double> CurveChart::smoothed() const {
  return series_ ? movingMean(series_->points, smoothing_) : std::vector<double>();
}

/// The smallest value above 0 of all curves; 0: there is none.
double CurveChart::leastPositive() const {
  double least = 0;
  for (const auto* series : {series_.get(), other_.get(), also_.get()}) {
    if (series == nullptr) continue;
    for (const analysis::CounterPoint& point : series->points)
      if (point.smallest > 0 && (least == 0 || point.smallest < least)) least = point.smallest;
  }
  return least;
}

/// Shows all values of one profile or of both.
void CurveChart::showAll() {
  if (!series_) return replot();
  double low = std::min(0.0, series_->smallest), high = series_->largest;
  std::int64_t samples = series_->samples;
  if (other_) {
    low = std::min(low, other_->smallest);
    high = std::max(high, other_->largest);
    samples = std::max(samples, other_->samples);
  }
  if (also_) {
    low = std::min(low, also_->smallest);
    high = std::max(high, also_->largest);
  }
  high = std::max(high, low + 1e-12);
  const double least = logarithmic_ ? leastPositive() : 0;
  if (const bool wanted = least > 0; wanted != shownLogarithmic_) {
    shownLogarithmic_ = wanted;
    setAxisScaleEngine(
        yLeft, wanted ? static_cast<QwtScaleEngine*>(new QwtLogScaleEngine) : new QwtLinearScaleEngine);
  }
  if (shownLogarithmic_) {
    setAxisScale(yLeft, least / 1.2, std::max(high, least) * 1.2);
  } else {
    setAxisScale(yLeft, low, high + (high - low) * 0.06);
  }
  setWhole(static_cast<double>(std::max<std::int64_t>(1, samples - 1)), kCurveChartFewest);
  setRange(0, whole());
}

QString CurveChart::besideName() const {
  return series_ ? QString::fromStdString(series_->counter.name) : QString();
}

void CurveChart::showBeside(const shell::Beside* source, const shell::BesideTerms&) {
  const auto* chart = dynamic_cast<const CurveChart*>(source);
  const auto other = chart == nullptr ? nullptr : chart->series_;
  if (other == other_) return;
  other_ = other;
  showAll();
}

std::vector<QRectF> CurveChart::nameBoxes() const {
  std::vector<QRectF> boxes;
  for (const auto& name : curve_->namesAt(canvasMap(yLeft), canvas()->contentsRect()))
    boxes.push_back(name.box);
  return boxes;
}

void CurveChart::follow() {
  RangePlot::follow();
  mark_->setLinePen(palette_.ui(Ui::muted), 1, Qt::DashLine);
  replot();
}

double CurveChart::tickStep(double span) const {
  constexpr double kFewSamples = 10;  // Qwt chooses whole numbers for longer spans
  return span <= kFewSamples ? 1 : 0;
}

int CurveChart::pointNear(int x) const {
  if (!series_ || series_->points.empty()) return -1;
  const double index = invTransform(xBottom, x);
  const auto after =
      std::partition_point(series_->points.begin(), series_->points.end(),
                           [&](const auto& point) { return static_cast<double>(point.index) <= index; });
  return static_cast<int>(std::max<std::ptrdiff_t>(0, after - series_->points.begin() - 1));
}

void CurveChart::pointedAt(const QPoint& position) {
  const int point = pointNear(position.x());
  mark_->setVisible(point >= 0);
  if (point >= 0)
    mark_->setValue(static_cast<double>(series_->points[static_cast<std::size_t>(point)].index), 0);
  replot();
  Q_EMIT hovered(point);
}

bool CurveChart::doubleClickedAt(const QPoint& position) {
  const int point = pointNear(position.x());
  if (point >= 0) Q_EMIT doubleClicked(point);
  return point >= 0;
}

void CurveChart::contextMenuEvent(QContextMenuEvent* event) {
  const int point = pointNear(canvas()->mapFrom(this, event->pos()).x());
  point >= 0 ? Q_EMIT menuWanted(point, event->globalPos()) : event->ignore();
}

void CurveChart::pointerLeft() {
  mark_->setVisible(false);
  replot();
  Q_EMIT hovered(-1);
}

}  // namespace pipescope::pages
