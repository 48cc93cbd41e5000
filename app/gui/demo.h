#pragma once
#include <QString>
#include <QStringList>
#include <functional>

#include "profiler/base/result.h"

class QObject;

namespace pipescope::gui {

/// Where the demo's parts are.
struct DemoPlaces {
  QString program;      ///< pipescope, beside the window's program
  QStringList samples;  ///< folders that may hold mnist/pipelined.toml, the first that does is taken
  QString folder;       ///< where the profile goes; made where it is not there
};
/// Those of the running program.
DemoPlaces demoPlaces();

/// Runs the sample that comes with the program, without numerics, and says where its profile is, or why there
/// is none. Looks for files on a worker; `done` is called in the event loop of `owner`'s thread, unless
/// `owner` is gone by then.
void makeDemo(QObject* owner, const DemoPlaces& places, std::function<void(base::Result<QString>)> done);

}  // namespace pipescope::gui
