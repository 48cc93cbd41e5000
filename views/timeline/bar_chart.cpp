#include "views/timeline/bar_chart.h"

#include <QHelpEvent>
#include <QMetaMethod>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "views/timeline/chart_keys.h"

namespace pipescope::timeline {

using shell::Ui;

namespace {
constexpr int kBar = 24, kBarGap = 10, kChartMargin = 4, kMostName = 250, kMostNamePart = 5, kPad = 10;
constexpr double kThickest = 1.6;      ///< times the usual thickness
constexpr int kThickestInWindow = 36;  ///< or, in a taller window, this part of its height
}  // namespace

BarChart::BarChart(const shell::Palette& palette, QWidget* parent)
    : QWidget(parent), palette_(palette), labels_(font()), pitch_(kBar + kBarGap) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setMouseTracking(true);
  connect(&palette_, &shell::Palette::changed, this, qOverload<>(&QWidget::update));
}

void BarChart::setBars(std::vector<geometry::Bar> bars, QStringList names, QStringList notes) {
  bars_ = std::move(bars);
  names_ = std::move(names);
  shortNames_ = shortNames(names_);
  notes_ = std::move(notes);
  setAccessibleDescription(names_.join(QStringLiteral(", ")));
  current_ = -1;
  const bool leads = isSignalConnected(QMetaMethod::fromSignal(&BarChart::clicked));
  setFocusPolicy(leads && !bars_.empty() ? Qt::StrongFocus : Qt::NoFocus);
  updateGeometry();
  update();
}

void BarChart::setScaleTo(double value) {
  scaleTo_ = value;
  update();
}

void BarChart::setMarked(int bar) {
  marked_ = bar;
  update();
}

int BarChart::markWords(const QString& words) {
  wanted_ = words;
  update();
  return words.isEmpty() ? 0 : names_.filter(words, Qt::CaseInsensitive).size();
}

int BarChart::mostName() const {
  return std::max(kMostName, width() / kMostNamePart);
}

/// Returns the names without what all of them have in common if the long names have no room.
const QStringList& BarChart::shownNames() const {
  return widthOf(names_) <= mostName() ? names_ : shortNames_;
}

int BarChart::widthOf(const QStringList& names) const {
  const QFontMetrics metrics(font());
  int width = 0;
  for (const QString& name : names) width = std::max(width, metrics.horizontalAdvance(name) + 2);
  return width;
}

int BarChart::nameWidth() const {
  const int width = widthOf(shownNames());
  return width == 0 ? 0 : std::min(width, mostName()) + kPad;
}

int BarChart::noteWidth() const {
  const QFontMetrics metrics(labels_.font());
  int width = 0;
  for (const QString& note : notes_) width = std::max(width, metrics.horizontalAdvance(note));
  return width == 0 ? 0 : width + kPad;
}

int BarChart::thickness() const {
  return pitch_ * kBar / (kBar + kBarGap);
}

/// There is no gap below the last bar.
int BarChart::heightAt(int pitch) const {
  const int count = static_cast<int>(bars_.size());
  return std::max(0, count * pitch - (pitch - pitch * kBar / (kBar + kBarGap))) + 2 * kChartMargin;
}

int BarChart::mostPitch() const {
  return std::max(static_cast<int>((kBar + kBarGap) * kThickest), window()->height() / kThickestInWindow);
}

shell::Growing::Heights BarChart::heights() const {
  return {heightAt(kBar + kBarGap), heightAt(mostPitch()), heightAt(pitch_)};
}

void BarChart::growTo(int height) {
  int pitch = kBar + kBarGap;
  const int most = mostPitch();
  while (pitch < most && heightAt(pitch + 1) <= height) ++pitch;
  if (pitch == pitch_) return;
  pitch_ = pitch;
  updateGeometry();
  update();
}

geometry::StackedBars BarChart::chart() const {
  return {bars_,
          {std::max(10, width() - nameWidth() - noteWidth() - 2 * kChartMargin), thickness(),
           pitch_ - thickness(), scaleTo_}};
}

QRect BarChart::partRect(const geometry::BarHit& part) const {
  const geometry::Box box = chart().boxOf(part);
  return {box.x + kChartMargin + nameWidth(), box.y + kChartMargin, box.width, box.height};
}

QSize BarChart::sizeHint() const {
  return {480, heightAt(pitch_)};
}
QSize BarChart::minimumSizeHint() const {
  return {220, heightAt(pitch_)};
}

void BarChart::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.translate(kChartMargin, kChartMargin);
  const QStringList& shown = shownNames();
  const int names = nameWidth(), notes = noteWidth(), bars = width() - names - notes - 2 * kChartMargin,
            bar = thickness(), gap = pitch_ - bar;
  for (int i = 0; i < static_cast<int>(bars_.size()); ++i) {
    const int y = i * pitch_;
    if (i == marked_)
      painter.fillRect(-kChartMargin, y - gap / 2, width(), pitch_, palette_.ui(Ui::selection));
    painter.fillRect(names, y, bars, bar, palette_.ui(Ui::hover));
    painter.setFont(font());
    painter.setPen(palette_.ui(Ui::text));
    const QRect name(0, y, names - kPad, bar);
    if (!wanted_.isEmpty() && i < names_.size() && names_[i].contains(wanted_, Qt::CaseInsensitive))
      painter.fillRect(name.adjusted(-2, 0, 2, 0), palette_.ui(Ui::selection));
    if (i < shown.size())
      painter.drawText(name, Qt::AlignVCenter | Qt::AlignLeft,
                       QFontMetrics(font()).elidedText(shown[i], Qt::ElideMiddle, name.width()));
    painter.setFont(labels_.font());
    painter.setPen(palette_.ui(Ui::muted));
    if (i < notes_.size())
      painter.drawText(QRect(names + bars, y, notes, bar), Qt::AlignVCenter | Qt::AlignRight, notes_[i]);
  }
  painter.translate(names, 0);
  paintShapes(painter, chart().draw(labels_.measure()), palette_, labels_);
  painter.resetTransform();
  if (hasFocus() && byKeys_) {
    painter.setPen(palette_.ui(Ui::accent));
    painter.drawRect(current() >= 0 ? rowRect(current()).adjusted(0, 0, -1, -1)
                                    : rect().adjusted(0, 0, -1, -1));
  }
}

/// The bar at this height, with half of the gaps around it; −1: none.
int BarChart::barAt(int y) const {
  const int bar = (y - kChartMargin + (pitch_ - thickness()) / 2) / pitch_;
  return bar >= 0 && bar < static_cast<int>(bars_.size()) ? bar : -1;
}

QRect BarChart::rowRect(int bar) const {
  const int gap = pitch_ - thickness();
  return {0, kChartMargin + bar * pitch_ - gap / 2, width(), pitch_};
}

void BarChart::keyPressEvent(QKeyEvent* event) {
  if (const auto next = itemOfKey(*event, current(), static_cast<int>(bars_.size()))) {
    current_ = *next;
    Q_EMIT clicked(*next);
    update();
  } else if (isEnter(*event) && current() >= 0) {
    Q_EMIT doubleClicked(current());
  } else {
    QWidget::keyPressEvent(event);
  }
}

void BarChart::focusInEvent(QFocusEvent* event) {
  byKeys_ = event->reason() != Qt::MouseFocusReason;
  QWidget::focusInEvent(event);
  update();
}

void BarChart::focusOutEvent(QFocusEvent* event) {
  QWidget::focusOutEvent(event);
  update();
}

void BarChart::mouseReleaseEvent(QMouseEvent* event) {
  const int bar = barAt(event->y());
  if (event->button() == Qt::LeftButton && bar >= 0) Q_EMIT clicked(bar);
}

void BarChart::mouseDoubleClickEvent(QMouseEvent* event) {
  if (const int bar = barAt(event->y()); bar >= 0) Q_EMIT doubleClicked(bar);
}

void BarChart::contextMenuEvent(QContextMenuEvent* event) {
  const bool isKey = event->reason() == QContextMenuEvent::Keyboard;
  const int bar = isKey ? current() : barAt(event->y());
  const QPoint at = isKey && bar >= 0 ? mapToGlobal(rowRect(bar).center()) : event->globalPos();
  bar >= 0 ? Q_EMIT menuWanted(bar, at) : event->ignore();
}

bool BarChart::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip && describe_) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const geometry::BarHit hit =
        chart().hit(help->x() - kChartMargin - nameWidth(), help->y() - kChartMargin);
    hit.part >= 0 ? QToolTip::showText(help->globalPos(), describe_(hit), this, partRect(hit))
                  : QToolTip::hideText();
    return true;
  }
  return QWidget::event(event);
}

}  // namespace pipescope::timeline
