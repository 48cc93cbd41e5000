#include "views/timeline/painters/shapes_painter.h"

#include <QFontMetrics>
#include <QHash>
#include <QPaintEngine>
#include <QPainterPath>
#include <QStaticText>
#include <algorithm>
#include <cmath>
#include <memory>
#include <unordered_map>

#include "profiler/base/short_names.h"

namespace pipescope::timeline {
namespace {

constexpr int kLabelPixels = 11, kSwatch = 12, kHead = 8;

QRect shapesPainterRectOf(const geometry::Box& box) {
  return {box.x, box.y, box.width, box.height};
}

/// Each cause of waiting has a pattern of its own for people who cannot tell the colours apart.
Qt::BrushStyle patternOf(geometry::ColourRole role) {
  constexpr Qt::BrushStyle patterns[] = {Qt::BDiagPattern, Qt::FDiagPattern, Qt::DiagCrossPattern,
                                         Qt::HorPattern,   Qt::CrossPattern, Qt::Dense6Pattern,
                                         Qt::VerPattern,   Qt::Dense7Pattern};
  const int first = static_cast<int>(geometry::ColourRole::waitFill);
  return patterns[static_cast<std::size_t>(std::max(0, static_cast<int>(role) - first)) %
                  std::size(patterns)];
}

}  // namespace

QStringList shortNames(const QStringList& names) {
  std::vector<std::string> list;
  for (const QString& name : names) list.push_back(name.toStdString());
  QStringList shorter;
  for (const std::string& name : base::shortNames(list)) shorter << QString::fromStdString(name);
  return shorter;
}

/// Laid-out texts in both sizes.
struct LabelFont::Layouts {
  static constexpr std::size_t kMost = 20'000;
  std::unordered_map<std::string, QStaticText> large, small;
};

LabelFont::LabelFont(const QFont& base) : font_(base), small_(base), layouts_(std::make_shared<Layouts>()) {
  font_.setPixelSize(kLabelPixels);
  small_.setPixelSize(static_cast<int>(std::lround(kLabelPixels * geometry::kSmallText)));
  const QFontMetrics metrics(font_);
  // Measuring a text costs more than drawing a box. Names repeat, so their widths are kept.
  struct Cache {
    QFontMetrics metrics;
    std::unordered_map<std::string, int> widths;
  };
  auto cache = std::make_shared<Cache>(Cache{metrics, {}});
  measure_.averageCharacter = metrics.averageCharWidth();
  measure_.width = [cache](const std::string& text) {
    constexpr std::size_t kMost = 20'000;
    if (cache->widths.size() > kMost) cache->widths.clear();
    const auto [place, added] = cache->widths.try_emplace(text, 0);
    if (added) place->second = cache->metrics.horizontalAdvance(QString::fromStdString(text));
    return place->second;
  };
}

void LabelFont::draw(QPainter& painter, const QRect& box, const std::string& text, bool small) const {
  if (painter.paintEngine()->type() != QPaintEngine::Raster)
    return painter.drawText(box, Qt::AlignCenter | Qt::TextSingleLine, QString::fromStdString(text));
  auto& known = small ? layouts_->small : layouts_->large;
  if (known.size() > Layouts::kMost) known.clear();
  const auto [place, added] = known.try_emplace(text);
  QStaticText& layout = place->second;
  if (added) {
    layout.setText(QString::fromStdString(text));
    layout.setTextFormat(Qt::PlainText);
    layout.setPerformanceHint(QStaticText::AggressiveCaching);
    layout.prepare({}, small ? small_ : font_);
  }
  const QSizeF size = layout.size();
  painter.drawStaticText(QPoint(box.x() + static_cast<int>(std::floor((box.width() - size.width()) / 2)),
                                box.y() + static_cast<int>(std::floor((box.height() - size.height()) / 2))),
                         layout);
}

void paintHatch(QPainter& painter, const QRect& rect, geometry::ColourRole role,
                const shell::Palette& palette) {
  painter.fillRect(rect, palette.hatchGround(role));
  painter.fillRect(rect, QBrush(palette.colour(role), palette.isSafe() ? patternOf(role) : Qt::BDiagPattern));
}

namespace {

void paintLabels(QPainter& painter, const std::vector<geometry::Label>& shown, const shell::Palette& palette,
                 const LabelFont& labels) {
  const QFontMetrics large(labels.font()), small(labels.small());
  QColor pen;
  int size = -1;
  for (const geometry::Label& label : shown) {
    const bool low = label.box.height < geometry::kLowText;
    if (size != (low ? 1 : 0)) painter.setFont(low ? labels.small() : labels.font());
    size = low ? 1 : 0;
    const QRect rect = shapesPainterRectOf(label.box);
    QColor ground = palette.colour(label.on);
    if (label.hatched) {
      // Lines behind letters would make them hard to read.
      const QFontMetrics& metrics = low ? small : large;
      const int wide = metrics.horizontalAdvance(QString::fromStdString(label.text)) + 6,
                tall = std::min(metrics.height() + 2, rect.height() - 4);
      ground = palette.hatchGround(label.on);
      // QRect::center() rounds towards zero, so rows above the upper border would differ from the others.
      const int x = rect.x() + (rect.width() - 1) / 2, y = rect.y() + (rect.height() - 1) / 2;
      painter.fillRect(QRect(x - wide / 2, y - tall / 2, wide, tall), ground);
    }
    if (const QColor ink = shell::Palette::textOn(ground); ink != pen) painter.setPen(pen = ink);
    labels.draw(painter, rect, label.text, low);
  }
}

void paintLines(QPainter& painter, const std::vector<geometry::Line>& lines, const shell::Palette& palette) {
  if (lines.empty()) return;
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  for (const geometry::Line& line : lines) {
    painter.setPen(QPen(palette.colour(line.role), line.strong ? 2 : 1));
    painter.drawLine(line.x1, line.y1, line.x2, line.y2);
  }
  painter.restore();
}

}  // namespace

void paintShapes(QPainter& painter, const geometry::Shapes& shapes, const shell::Palette& palette,
                 const LabelFont& labels) {
  painter.setRenderHint(QPainter::Antialiasing, false);
  for (const auto& [role, box] : shapes.grounds)
    painter.fillRect(shapesPainterRectOf(box), palette.colour(role));
  for (std::size_t role = 0; role < shapes.fills.size(); ++role) {
    const QColor colour = palette.colour(static_cast<geometry::ColourRole>(role));
    for (const geometry::Box& box : shapes.fills[role]) painter.fillRect(shapesPainterRectOf(box), colour);
  }
  for (const geometry::Hatch& hatch : shapes.hatches)
    paintHatch(painter, shapesPainterRectOf(hatch.box), hatch.role, palette);
  painter.setBrush(Qt::NoBrush);
  for (const geometry::Outline& outline : shapes.outlines) {
    QPen pen(palette.colour(outline.role), 2);
    pen.setJoinStyle(Qt::MiterJoin);
    painter.setPen(pen);
    painter.drawRect(shapesPainterRectOf(outline.box).adjusted(1, 1, -1, -1));
  }
  paintLines(painter, shapes.lines, palette);
  paintLabels(painter, shapes.labels, palette, labels);
}

void paintArrow(QPainter& painter, const geometry::Arrow& arrow, const shell::Palette& palette) {
  const QPointF from(arrow.x1 + 0.5, arrow.y1 + 0.5), to(arrow.x2 + 0.5, arrow.y2 + 0.5);
  // The arrow starts and ends vertically, in a bow if one end lies above the other. Between neighbours there
  // is no room for that.
  constexpr double kNeighbours = 24;
  const QPointF way = to - from;
  const bool straight = std::hypot(way.x(), way.y()) < kNeighbours;
  const double bow = std::max(14.0, std::abs(to.y() - from.y()) * 0.45),
               side = std::abs(to.x() - from.x()) < 12 ? 18 : 0;
  const double down = to.y() >= from.y() ? 1 : -1;
  QPainterPath path(from);
  straight ? path.lineTo(to)
           : path.cubicTo(from + QPointF(side, bow * down), to + QPointF(side, -bow * down), to);
  const double angle =
      straight ? std::atan2(way.y(), way.x()) : std::atan2(bow * down, -side);  // direction of the line's end
  QPainterPath head(to);
  for (const double spread : {2.7, -2.7})
    head.lineTo(to + QPointF(std::cos(angle + spread), std::sin(angle + spread)) * kHead);
  head.closeSubpath();
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setBrush(Qt::NoBrush);
  const QColor halo = palette.ui(shell::Ui::surface),
               ink = shell::Palette::mixed(palette.colour(arrow.role), palette.ui(shell::Ui::text), 0.55);
  painter.setPen(QPen(halo, 4.5, Qt::SolidLine, Qt::RoundCap));
  painter.drawPath(path);
  painter.setPen(QPen(ink, 2, Qt::SolidLine, Qt::RoundCap));
  painter.drawPath(path);
  painter.setPen(QPen(halo, 1));
  painter.setBrush(ink);
  painter.drawPath(head);
  painter.restore();
}

QPixmap swatch(geometry::ColourRole role, bool hatched, const shell::Palette& palette,
               double devicePixelRatio) {
  const int pixels = static_cast<int>(std::lround(kSwatch * devicePixelRatio));
  QPixmap pixmap(pixels, pixels);
  pixmap.setDevicePixelRatio(devicePixelRatio);
  QPainter painter(&pixmap);
  const QRect rect(0, 0, kSwatch, kSwatch);
  hatched ? paintHatch(painter, rect, role, palette) : painter.fillRect(rect, palette.colour(role));
  return pixmap;
}

}  // namespace pipescope::timeline
