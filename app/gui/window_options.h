#pragma once
#include <QSize>
#include <QString>
#include <QStringList>
#include <optional>

#include "profiler/base/result.h"

namespace pipescope::gui {

/// The options of pipescope-gui's command line.
struct WindowOptions {
  QStringList profiles;
  QString page, executable, at, lane;  ///< empty if not given
  QString compare;                     ///< the source of a comparison; empty: nothing is compared
  QString screenshot;                  ///< empty if no picture is wanted
  bool overwrite = false;              ///< the picture may replace a file of another kind
  std::optional<QSize> size;           ///< size of the window or picture
  std::optional<QString> theme;        ///< light or dark
  bool help = false, version = false;
};

/// Reads the arguments that follow the program's name. An error message is for the user.
base::Result<WindowOptions> parseOptions(const QStringList& arguments);
QString helpText();

}  // namespace pipescope::gui
