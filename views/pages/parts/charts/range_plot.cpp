#include "views/pages/parts/charts/range_plot.h"

#include <qwt_plot_canvas.h>
#include <qwt_plot_grid.h>
#include <qwt_plot_layout.h>
#include <qwt_scale_draw.h>
#include <qwt_scale_widget.h>
#include <qwt_text.h>

#include <QApplication>
#include <QMouseEvent>
#include <algorithm>
#include <cmath>

#include "views/timeline/page_wheel.h"
#include "views/timeline/painters/shapes_painter.h"

namespace pipescope::pages {

using shell::Ui;

RangePlot::RangePlot(const shell::Palette& palette, QWidget* parent)
    : QwtPlot(parent), palette_(palette), grid_(new QwtPlotGrid) {
  setAutoDelete(true);
  auto* canvas = new QwtPlotCanvas(this);
  canvas->setFrameStyle(QFrame::NoFrame);
  canvas->setFocusIndicator(QwtPlotCanvas::NoFocusIndicator);
  setCanvas(canvas);
  canvas->setMouseTracking(true);
  canvas->installEventFilter(this);
  plotLayout()->setAlignCanvasToScales(true);
  grid_->enableX(false);
  grid_->setZ(5);
  grid_->attach(this);
  connect(&palette_, &shell::Palette::changed, this, [this] { follow(); });
}

void RangePlot::setWhole(double all, double fewest) {
  whole_ = std::max(1.0, all);
  fewest_ = std::min(fewest, whole_);
}

void RangePlot::setRange(double from, double to) {
  const double span = std::clamp(to - from, fewest_, whole_);
  from_ = std::clamp(from, 0.0, whole_ - span);
  to_ = from_ + span;
  setAxisScale(xBottom, from_, to_, tickStep(span));
  replot();
}

void RangePlot::follow() {
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
    axisWidget(axis)->setFont(small);
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
  replot();
}

void RangePlot::zoomAt(double x, double factor) {
  const double at = invTransform(xBottom, x), left = (at - from_) / factor;
  setRange(at - left, at - left + (to_ - from_) / factor);
}

bool RangePlot::eventFilter(QObject* watched, QEvent* event) {
  if (watched != canvas()) return QwtPlot::eventFilter(watched, event);
  switch (event->type()) {
    case QEvent::MouseMove: {
      const auto* mouse = static_cast<QMouseEvent*>(event);
      if (pressing_ && !dragging_ &&
          (mouse->pos() - pressed_).manhattanLength() >= QApplication::startDragDistance())
        dragging_ = true;
      if (dragging_) {
        const double moved = (mouse->x() - pressed_.x()) * (to_ - from_) / std::max(1, canvas()->width());
        setRange(pressedFrom_ - moved, pressedFrom_ - moved + (to_ - from_));
      }
      pointedAt(mouse->pos());
      return false;
    }
    case QEvent::Leave:
      pointerLeft();
      return false;
    case QEvent::MouseButtonPress: {
      const auto* mouse = static_cast<QMouseEvent*>(event);
      pressing_ = mouse->button() == Qt::LeftButton;
      pressed_ = mouse->pos();
      pressedFrom_ = from_;
      dragging_ = false;
      return false;
    }
    case QEvent::MouseButtonRelease:
      if (pressing_ && !dragging_) clickedAt(static_cast<QMouseEvent*>(event)->pos());
      pressing_ = dragging_ = false;
      return false;
    case QEvent::MouseButtonDblClick:
      if (!doubleClickedAt(static_cast<QMouseEvent*>(event)->pos())) setRange(0, whole_);
      return true;
    case QEvent::Wheel: {
      const auto* wheel = static_cast<QWheelEvent*>(event);
      if (timeline::scrollsPage(*wheel, *this)) return false;
      zoomAt(wheel->position().x(), std::pow(1.25, wheel->angleDelta().y() / 120.0));
      return true;
    }
    default:
      return QwtPlot::eventFilter(watched, event);
  }
}

}  // namespace pipescope::pages
