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

/// Translates texts in functions that belong to no QObject.
inline QString tr(const char* text) {
  return QObject::tr(text);
}

}  // namespace pipescope::pages
