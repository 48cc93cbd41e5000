#pragma once
#include <QSize>
#include <QString>
#include <QStringList>
#include <optional>

#include "profiler/base/result.h"

namespace pipescope::gui {

/// What pipescope-gui is asked to do.
struct Options {
  QStringList profiles;
  QString page, executable, at, lane;  ///< empty: not given
  QString screenshot;                  ///< empty: none
  std::optional<QSize> size;           ///< of window or picture
  std::optional<QString> theme;        ///< light or dark
  bool help = false, version = false;
};

/// `arguments` without the program's name. An error is a sentence for a user.
base::Result<Options> parseOptions(const QStringList& arguments);
QString helpText();

}  // namespace pipescope::gui
