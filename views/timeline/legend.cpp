#include "views/timeline/legend.h"

#include <QFontMetrics>
#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "views/shell/look/glossary.h"
#include "views/timeline/painters/shapes_painter.h"

namespace pipescope::timeline {
namespace {
constexpr int kLine = 20, kSquare = 12, kAfterSquare = 5, kBetween = 12, kLegendMargin = 8;
}  // namespace

Legend::Legend(const shell::Palette& palette, QWidget* parent) : QWidget(parent), palette_(palette) {
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  connect(&palette_, &shell::Palette::changed, this, [this] {
    updateGeometry();
    update();
  });
}

void Legend::setEntries(std::vector<LegendEntry> entries) {
  entries_ = std::move(entries);
  updateGeometry();
  update();
}

int Legend::markWords(const QString& words) {
  wanted_ = words;
  update();
  if (words.isEmpty()) return 0;
  const std::vector<LegendEntry> all = shown();
  return static_cast<int>(std::ranges::count_if(
      all, [&](const LegendEntry& entry) { return entry.text.contains(words, Qt::CaseInsensitive); }));
}

QFont Legend::smallFont() const {
  return LabelFont(font()).font();
}

std::vector<LegendEntry> Legend::shown() const {
  std::vector<LegendEntry> merged;
  const auto looksLike = [&](const LegendEntry& a, const LegendEntry& b) {
    const auto colour = [&](const std::optional<geometry::ColourRole>& role) {
      return role ? palette_.colour(*role) : QColor();
    };
    const bool also = !a.also || !b.also || colour(a.also) == colour(b.also);
    return a.hatched == b.hatched && palette_.colour(a.role) == palette_.colour(b.role) && also;
  };
  for (const LegendEntry& entry : entries_) {
    const auto same = std::find_if(merged.begin(), merged.end(),
                                   [&](const LegendEntry& other) { return looksLike(entry, other); });
    if (same == merged.end()) {
      merged.push_back(entry);
    } else {
      if (!same->text.split(QStringLiteral(", ")).contains(entry.text))
        same->text += QStringLiteral(", ") + entry.text;
      if (!same->also) same->also = entry.also;
    }
  }
  return merged;
}

template <class Visit>
int Legend::arrange(int width, const Visit& visit) const {
  const QFontMetrics metrics(smallFont());
  int x = kLegendMargin, y = 0;
  for (const LegendEntry& entry : shown()) {
    const int wide = kSquare + kAfterSquare + metrics.horizontalAdvance(entry.text);
    if (x > kLegendMargin && x + wide > width - kLegendMargin) x = kLegendMargin, y += kLine;
    visit(entry, x, y);
    x += wide + kBetween;
  }
  return entries_.empty() ? 0 : y + kLine;
}

int Legend::heightForWidth(int width) const {
  return arrange(width, [](const LegendEntry&, int, int) {});
}

QSize Legend::sizeHint() const {
  return {400, heightForWidth(width() > 50 ? width() : 400)};
}
QSize Legend::minimumSizeHint() const {
  return {80, kLine};
}

void Legend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setFont(smallFont());
  painter.setPen(palette_.ui(shell::Ui::muted));
  const QFontMetrics metrics(smallFont());
  arrange(width(), [&](const LegendEntry& entry, int x, int y) {
    if (!wanted_.isEmpty() && entry.text.contains(wanted_, Qt::CaseInsensitive))
      painter.fillRect(
          QRect(x + kSquare + 1, y, 2 * kAfterSquare + metrics.horizontalAdvance(entry.text), kLine),
          palette_.ui(shell::Ui::selection));
    const QRect square(x, y + (kLine - kSquare) / 2, kSquare, kSquare);
    entry.hatched ? paintHatch(painter, square, entry.role, palette_)
                  : painter.fillRect(square, palette_.colour(entry.role));
    if (entry.also) painter.fillRect(square.adjusted(0, kSquare / 2, 0, 0), palette_.colour(*entry.also));
    painter.drawText(QRect(x + kSquare + kAfterSquare, y, width(), kLine), Qt::AlignVCenter | Qt::AlignLeft,
                     entry.text);
  });
}

/// Shows the meaning of a word as a tool tip.
bool Legend::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const QFontMetrics metrics(smallFont());
  QString sentence;
  QRect entryRect;
  arrange(width(), [&](const LegendEntry& entry, int x, int y) {
    const QRect place(x, y, kSquare + kAfterSquare + metrics.horizontalAdvance(entry.text), kLine);
    if (place.contains(help->pos())) sentence = shell::glossaryOf(entry.text), entryRect = place;
  });
  sentence.isEmpty() ? QToolTip::hideText()
                     : QToolTip::showText(help->globalPos(), sentence, this, entryRect);
  return true;
}

}  // namespace pipescope::timeline
