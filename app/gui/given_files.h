#pragma once
// Several files that are given together: on the command line, or dropped onto a window.
#include <QString>
#include <QStringList>
#include <functional>

#include "views/shell/main_window.h"

namespace pipescope::gui {

/// Kinds of several files that are given together.
enum class GivenFiles {
  ranks,   ///< traces that state different ranks of one run, or are named so, as rank0.json and rank1.json
  traces,  ///< traces that may be ranks of one run, or not
  others,  ///< profiles, configurations, tables of sweeps, folders: at most one trace among them
  mixed,   ///< several traces and other files
};
/// Reads the beginning of each file.
GivenFiles kindOf(const QStringList& files);

/// Makes a folder with links to the files in the folder `cache`, so that they are imported as one run. The
/// same files give the same folder. Error: it cannot be written.
base::Result<QString> folderOfRanks(const QStringList& files, const QString& cache);

/// The ways in which files open.
struct GivenOpeners {
  QString cache;                               ///< folder for the links to files that are one run
  std::function<void(const QString&)> here;    ///< in the window
  std::function<void(const QString&)> beside;  ///< in a window of its own
};

/// Opens files that were dropped onto a window. Ranks become one import in it, and two other files are
/// compared. The user is asked about anything else.
void takeDropped(shell::MainWindow& window, const QStringList& files, const GivenOpeners& openers);

/// Asks what to do with the files, and does it. If each file opens by itself, the first one opens in
/// `window`.
void askAbout(shell::MainWindow& window, GivenFiles kind, const QStringList& files,
              const GivenOpeners& openers);

}  // namespace pipescope::gui
