#pragma once
#include <QString>
#include <QStringList>
#include <functional>
#include <vector>

#include "profiler/base/result.h"
#include "views/shell/home.h"

class QObject;

namespace pipescope::shell {
class MainWindow;
}  // namespace pipescope::shell

namespace pipescope::gui {

/// Files and folders of the samples.
struct SamplePlaces {
  QString program;      ///< path of pipescope, which is in the same folder as this program
  QStringList samples;  ///< folders that may hold the samples, in the order in which they are tried
  QString folder;       ///< folder for the profiles; created if it is missing
};
/// The folders in which the samples may be: beside the installed program, or in the source.
QStringList sampleFolders();
/// The configurations among the samples, each with the first sentence of its comment. Call it on a worker.
std::vector<shell::Sample> listSamples();
/// The files and folders for the running program.
SamplePlaces samplePlaces();

/// Runs a sample, such as "mnist/pipelined.toml", without numerics. A profile that is newer than the program
/// and the sample is taken as it is. Passes the path of the profile or an error to `done`. A worker thread
/// searches the files. `done` is called in the event loop of `owner`'s thread, but not if `owner` is
/// destroyed first; a run that goes on ends with it.
void runSample(QObject* owner, const SamplePlaces& places, const QString& sample,
               std::function<void(base::Result<QString>)> done);

/// Offers the samples on the start page of a window: runs the one that is clicked and opens its profile.
/// `withCards`: their small pictures are made one after the other while the start page waits for the user.
void offerSamples(shell::MainWindow& window, const SamplePlaces& places, const shell::Opener& opener,
                  bool withCards);

}  // namespace pipescope::gui
