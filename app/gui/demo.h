#pragma once
#include <QString>
#include <QStringList>
#include <functional>
#include <vector>

#include "profiler/base/result.h"
#include "views/shell/home.h"

class QObject;

namespace pipescope::gui {

/// Files and folders of the demo.
struct DemoPlaces {
  QString program;      ///< path of pipescope, which is in the same folder as this program
  QStringList samples;  ///< folders to search for mnist/pipelined.toml, in this order
  QString folder;       ///< folder for the profile; created if it is missing
};
/// The folders in which the samples may be: beside the installed program, or in the source.
QStringList sampleFolders();
/// The configurations among the samples, each with the first sentence of its comment. Call it on a worker.
std::vector<shell::Sample> listSamples();
/// The files and folders for the running program.
DemoPlaces demoPlaces();

/// Runs the sample that comes with the program, without numerics. Passes the path of the profile or an error
/// to `done`. A worker thread searches the files. `done` is called in the event loop of `owner`'s thread, but
/// not if `owner` is destroyed first.
void makeDemo(QObject* owner, const DemoPlaces& places, std::function<void(base::Result<QString>)> done);

}  // namespace pipescope::gui
