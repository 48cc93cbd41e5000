#pragma once
#include <QIcon>
#include <QPainterPath>

namespace pipescope::shell {

class Palette;

/// Icons are line drawings of 24 × 24 units, built in from resources/icons and drawn in the theme's colours.
/// The files are SVG; of it, path data of M L H V C A Z (large and small letters) is read. Nothing else may
/// be in them.
QPainterPath iconPath(const QString& name);
/// Path data as above; an empty path where it cannot be read.
QPainterPath parsePathData(const QString& data);

QPixmap iconPixmap(const QString& name, const QColor& colour, int size, double devicePixelRatio = 1);
QIcon icon(const QString& name, const Palette& palette);

}  // namespace pipescope::shell
