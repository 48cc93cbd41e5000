#pragma once
// Texts of the profile as Qt strings.
#include <QObject>
#include <QString>
#include <string>

namespace pipescope::pages {

/// Converts UTF-8 to a QString.
inline QString text(const std::string& from) {
  return QString::fromStdString(from);
}

/// Translates texts in functions that belong to no QObject.
inline QString tr(const char* text) {
  return QObject::tr(text);
}

}  // namespace pipescope::pages
