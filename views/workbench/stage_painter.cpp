#include "views/workbench/stage_painter.h"

#include <algorithm>

#include "views/shell/look/palette.h"
#include "views/workbench/stage_figures.h"

namespace pipescope::workbench {

using shell::Ui;

namespace {

constexpr int kRadius = 5, kTextLeft = 8;

double longestOf(const Prediction& prediction) {
  double longest = 0;
  for (const PredictedStage& stage : prediction.stages) longest = std::max(longest, stage.occupiedMs);
  return longest;
}

QRectF sharp(const QRect& rect) {
  return QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5);
}

}  // namespace

void StagePainter::paint() const {
  painter_.setRenderHint(QPainter::Antialiasing);
  painter_.setFont(font_);
  const int line = QFontMetrics(font_).height();
  for (const StageColumn& column : picture_.layout.columns()) {
    painter_.setPen(palette_.ui(Ui::muted));
    const QString heading =
        columnHeading(column.device, picture_.layout.columns().size(), picture_.prediction);
    painter_.drawText(
        QRect(column.rect.x(), column.rect.y() + picture_.layout.sizes().pad, column.rect.width(), line),
        Qt::AlignLeft | Qt::AlignVCenter,
        QFontMetrics(font_).elidedText(heading, Qt::ElideRight, column.rect.width()));
    for (const StageBox& box : column.stages) paintStage(box);
  }
  paintNewDevice();
  if (!picture_.dragging || picture_.held.isEmpty()) return;
  const QSize size = picture_.layout.cardRect(picture_.held).size();
  paintCard(picture_.held, QRect(picture_.pointer - QPoint(20, size.height() / 2), size), true);
}

void StagePainter::paintNewDevice() const {
  const QRect place = picture_.layout.newDevice();
  if (place.isEmpty()) return;
  QPen dashed(palette_.ui(picture_.dragging && place.contains(picture_.pointer) ? Ui::accent : Ui::border));
  dashed.setStyle(Qt::DashLine);
  painter_.setPen(dashed);
  painter_.setBrush(Qt::NoBrush);
  painter_.drawRoundedRect(sharp(place), kRadius, kRadius);
  painter_.setPen(palette_.ui(Ui::muted));
  painter_.drawText(place.adjusted(4, 4, -4, -4), Qt::AlignCenter | Qt::TextWordWrap,
                    QObject::tr("New stage"));
}

void StagePainter::paintStage(const StageBox& box) const {
  const std::optional<Prediction>& prediction = picture_.prediction;
  const bool target = picture_.dragging && box.rect.contains(picture_.pointer);
  painter_.setPen(palette_.ui(target ? Ui::accent : Ui::border));
  painter_.setBrush(palette_.ui(Ui::surface));
  painter_.drawRoundedRect(sharp(box.rect), kRadius, kRadius);
  QFont bold = font_;
  bold.setBold(true);
  painter_.setFont(bold);
  painter_.setPen(palette_.ui(Ui::text));
  painter_.drawText(box.head, Qt::AlignLeft | Qt::AlignVCenter, QObject::tr("Stage %1").arg(box.stage));
  painter_.setFont(font_);
  const std::vector<int> limiting = prediction ? prediction->limitingStages() : std::vector<int>();
  const bool limits = std::ranges::find(limiting, box.stage) != limiting.end();
  if (limits && limiting.size() < prediction->stages.size() && !picture_.pending) {
    painter_.setPen(palette_.ui(Ui::warning));
    painter_.drawText(box.head, Qt::AlignRight | Qt::AlignVCenter, QObject::tr("limits"));
  }
  if (prediction && box.stage < static_cast<int>(prediction->stages.size()))
    paintFigures(box, prediction->stages[static_cast<std::size_t>(box.stage)]);
  for (const StageCard& card : box.cards) paintCard(card.block, card.rect, false);
}

void StagePainter::paintFigures(const StageBox& box, const PredictedStage& stage) const {
  const int line = QFontMetrics(font_).lineSpacing();
  const BoardSizes& sizes = picture_.layout.sizes();
  const QStringList lines = stageFigures(picture_.prediction, picture_.before, box.stage);
  const double longest = longestOf(*picture_.prediction);
  const bool lacks = stage.missingBytes > 0;
  struct Bar {
    double share;
    QColor colour;
    Ui words;
  };
  const Bar bars[] = {
      {longest > 0 ? stage.occupiedMs / longest : 0, palette_.colour(geometry::ColourRole::forward),
       Ui::text},
      {lacks ? 1 : fillOf(stage), palette_.ui(lacks ? Ui::error : Ui::good), lacks ? Ui::error : Ui::text}};
  int y = box.head.bottom() + 1 + 4;
  for (int i = 0; i < 2; ++i) {
    const Bar& bar = bars[i];
    painter_.setPen(palette_.ui(picture_.pending ? Ui::muted : bar.words));
    painter_.drawText(QRect(box.head.x(), y, box.head.width(), line), Qt::AlignLeft | Qt::AlignVCenter,
                      QFontMetrics(font_).elidedText(lines[i], Qt::ElideRight, box.head.width()));
    y += line + 2;
    const QRectF whole(box.head.x(), y, box.head.width(), sizes.bar);
    const auto draw = [&](const QRectF& rect, const QColor& colour) {
      painter_.setPen(Qt::NoPen);
      painter_.setBrush(colour);
      painter_.drawRoundedRect(rect, sizes.bar / 2.0, sizes.bar / 2.0);
    };
    draw(whole, palette_.ui(Ui::grid));
    draw(QRectF(whole.topLeft(), QSizeF(whole.width() * std::clamp(bar.share, 0.0, 1.0), sizes.bar)),
         picture_.pending ? shell::Palette::mixed(bar.colour, palette_.ui(Ui::surface), 0.4) : bar.colour);
    y += sizes.bar + sizes.barGap;
  }
}

void StagePainter::paintCard(const QString& block, const QRect& rect, bool lifted) const {
  const bool leaves = picture_.dragging && block == picture_.held && !lifted;
  const bool marked = block == picture_.marked;
  painter_.setPen(palette_.ui(marked || lifted || leaves ? Ui::accent : Ui::border));
  painter_.setBrush(palette_.ui(leaves ? Ui::surface : marked || lifted ? Ui::selection : Ui::raised));
  painter_.drawRoundedRect(sharp(rect), kRadius, kRadius);
  painter_.setPen(palette_.ui(leaves ? Ui::muted : Ui::text));
  painter_.drawText(rect.adjusted(kTextLeft, 0, -kTextLeft, 0), Qt::AlignLeft | Qt::AlignVCenter,
                    QFontMetrics(font_).elidedText(block, Qt::ElideMiddle, rect.width() - 2 * kTextLeft));
}

}  // namespace pipescope::workbench
