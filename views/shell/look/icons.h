#pragma once
#include <QIcon>
#include <QPainterPath>

namespace pipescope::shell {

class Palette;

/// Icons are line drawings of 24 × 24 units, built in from resources/icons and drawn in the theme's colours.
/// Only path data with the commands M L H V C A Z (in both cases) is read from an SVG file, so the files must
/// not contain anything else.
QPainterPath iconPath(const QString& name);
/// Parses such path data; returns an empty path if it cannot be read.
QPainterPath parsePathData(const QString& data);

QPixmap iconPixmap(const QString& name, const QColor& colour, int size, double devicePixelRatio = 1);
QIcon icon(const QString& name, const Palette& palette);

}  // namespace pipescope::shell
