#pragma once
#include <QFont>
#include <QPainter>
#include <QStringList>

#include "views/shell/look/palette.h"

namespace pipescope::timeline {

/// Paints a heading and lines next to the pointer, within `bounds`.
void paintCallout(QPainter& painter, const QStringList& lines, const QPoint& pointer, const QRect& bounds,
                  const QFont& font, const shell::Palette& palette);

}  // namespace pipescope::timeline
