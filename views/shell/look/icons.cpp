#include "views/shell/look/icons.h"

#include <QCoreApplication>
#include <QHash>
#include <QPainter>
#include <QRegularExpression>
#include <array>
#include <cmath>
#include <numbers>

#include "views/shell/look/embedded.h"
#include "views/shell/look/palette.h"

namespace pipescope::shell {
namespace {

constexpr double kUnits = 24, kStroke = 1.6;

/// Reads path data. Arcs must belong to circles.
class PathParser {
 public:
  explicit PathParser(const QString& data) {
    static const QRegularExpression token(QStringLiteral("[A-Za-z]|-?(?:\\d+\\.?\\d*|\\.\\d+)"));
    for (auto match = token.globalMatch(data); match.hasNext();) tokens_ << match.next().captured();
  }

  QPainterPath parse() {
    while (at_ < tokens_.size()) {
      if (tokens_[at_].at(0).isLetter()) command_ = tokens_[at_++].at(0);
      if (command_.isNull() || !step()) return {};
    }
    return path_;
  }

 private:
  bool step() {
    const QPointF origin = command_.isLower() ? path_.currentPosition() : QPointF();
    switch (command_.toUpper().unicode()) {
      case 'M':
        path_.moveTo(point(origin));
        command_ = command_.isLower() ? QLatin1Char('l') : QLatin1Char('L');
        break;
      case 'L':
        path_.lineTo(point(origin));
        break;
      case 'H':
        path_.lineTo(origin.x() + number(), path_.currentPosition().y());
        break;
      case 'V':
        path_.lineTo(path_.currentPosition().x(), origin.y() + number());
        break;
      case 'C': {
        const QPointF first = point(origin), second = point(origin), end = point(origin);
        path_.cubicTo(first, second, end);
        break;
      }
      case 'A':
        arc(origin);
        break;
      case 'Z':
        path_.closeSubpath();
        command_ = QChar();
        break;
      default:
        return false;
    }
    return good_;
  }

  void arc(const QPointF& origin) {
    const double radius = number();
    number();  // skips the second radius and the rotation, because arcs are of circles
    number();
    const bool large = number() != 0, clockwise = number() != 0;
    const QPointF start = path_.currentPosition(), end = point(origin), chord = end - start;
    const double length = std::hypot(chord.x(), chord.y());
    if (length <= 0 || radius < length / 2) {
      path_.lineTo(end);
      return;
    }
    const double height = std::sqrt(radius * radius - length * length / 4) * (large == clockwise ? -1 : 1);
    const QPointF centre = (start + end) / 2 + QPointF(-chord.y(), chord.x()) / length * height;
    const auto angle = [&](const QPointF& p) {
      return std::atan2(centre.y() - p.y(), p.x() - centre.x()) * 180 / std::numbers::pi;
    };
    double sweep = angle(end) - angle(start);
    if (clockwise && sweep > 0) sweep -= 360;
    if (!clockwise && sweep < 0) sweep += 360;
    path_.arcTo(QRectF(centre.x() - radius, centre.y() - radius, 2 * radius, 2 * radius), angle(start),
                sweep);
  }

  double number() {
    bool read = false;
    const double value = at_ < tokens_.size() ? tokens_[at_++].toDouble(&read) : 0;
    good_ = good_ && read;
    return value;
  }
  QPointF point(const QPointF& origin) {
    const double x = number(), y = number();
    return origin + QPointF(x, y);
  }

  QStringList tokens_;
  int at_ = 0;
  QChar command_;
  bool good_ = true;
  QPainterPath path_;
};

}  // namespace

QPainterPath parsePathData(const QString& data) {
  return PathParser(data).parse();
}

QPainterPath iconPath(const QString& name) {
  static const QRegularExpression data(QStringLiteral(" d=\"([^\"]*)\""));
  QPainterPath path;
  const QString text = embeddedText(QStringLiteral("icons/") + name + QStringLiteral(".svg"));
  for (auto match = data.globalMatch(text); match.hasNext();)
    path.addPath(parsePathData(match.next().captured(1)));
  return path;
}

namespace {

QPixmap drawnIcon(const QPainterPath& path, const QColor& colour, int size, double devicePixelRatio) {
  QPixmap pixmap(static_cast<int>(std::lround(size * devicePixelRatio)),
                 static_cast<int>(std::lround(size * devicePixelRatio)));
  pixmap.setDevicePixelRatio(devicePixelRatio);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.scale(size / kUnits, size / kUnits);
  painter.setPen(QPen(colour, kStroke, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
  painter.drawPath(path);
  return pixmap;
}

/// The icons that were drawn, by name and colours: a form has the same icon in each of its rows.
QHash<QString, QIcon>& drawnIcons() {
  static QHash<QString, QIcon> icons;
  static const bool once = [] {
    qAddPostRoutine([] { icons.clear(); });  // pictures must go before the application does
    return true;
  }();
  static_cast<void>(once);
  return icons;
}

}  // namespace

QPixmap iconPixmap(const QString& name, const QColor& colour, int size, double devicePixelRatio) {
  return drawnIcon(iconPath(name), colour, size, devicePixelRatio);
}

QIcon icon(const QString& name, const Palette& palette) {
  const QColor disabled = Palette::mixed(palette.ui(Ui::muted), palette.ui(Ui::window), 0.5);
  const std::array<QColor, 4> colours = {palette.ui(Ui::muted), palette.ui(Ui::text), palette.ui(Ui::accent),
                                         disabled};
  QString key = name;
  for (const QColor& colour : colours) key += colour.name(QColor::HexArgb);
  QIcon& made = drawnIcons()[key];
  if (!made.isNull()) return made;
  const QPainterPath path = iconPath(name);
  for (const int size : {16, 20, 24}) {
    for (const double ratio : {1.0, 2.0}) {
      made.addPixmap(drawnIcon(path, colours[0], size, ratio), QIcon::Normal, QIcon::Off);
      made.addPixmap(drawnIcon(path, colours[1], size, ratio), QIcon::Active, QIcon::Off);
      made.addPixmap(drawnIcon(path, colours[2], size, ratio), QIcon::Normal, QIcon::On);
      made.addPixmap(drawnIcon(path, colours[3], size, ratio), QIcon::Disabled, QIcon::Off);
    }
  }
  return made;
}

}  // namespace pipescope::shell
