#pragma once
// Texts of the profile as Qt strings.
#include <QObject>
#include <QString>
#include <string>

#include "profiler/geometry/timeline/time_axis.h"

namespace pipescope::pages {

/// Converts UTF-8 to a QString.
inline QString text(const std::string& from) {
  return QString::fromStdString(from);
}

/// A count with separators between thousands.
inline QString groupedCount(int count) {
  return text(geometry::groupedNumber(count));
}

/// The text with spaces at which no line is broken: between a figure and its unit or what it counts, and
/// around "1.1 × the mean", and within the items of a list like "fill 36,158 · drain 27,459".
QString unbroken(QString text);

/// A shown number as other programs read it: with a hyphen instead of a minus sign.
inline QString copied(QString shown) {
  const QChar minus(0x2212);
  if (shown.size() > 1 && shown.at(0) == minus && shown.at(1).isDigit()) shown[0] = QLatin1Char('-');
  return shown;
}

/// Translates texts in functions that belong to no QObject.
inline QString tr(const char* text) {
  return QObject::tr(text);
}

}  // namespace pipescope::pages
