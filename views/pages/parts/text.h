#pragma once
// Texts of the profile as Qt's strings.
#include <QObject>
#include <QString>
#include <string>

namespace pipescope::pages {

/// UTF-8 to QString.
inline QString text(const std::string& from) {
  return QString::fromStdString(from);
}

/// For functions that belong to no QObject.
inline QString tr(const char* text) {
  return QObject::tr(text);
}

}  // namespace pipescope::pages
