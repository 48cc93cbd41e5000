#pragma once
// Makes profiles of other tools' traces for the window.
#include <QString>
#include <functional>
#include <string>

#include "profiler/base/result.h"

namespace pipescope::gui {

/// Places at which traces are imported.
struct ImportPlaces {
  QString program;  ///< path of pipescope
  QString cache;    ///< folder for the profiles; created if it is missing
};
/// The places for the running program: pipescope in its folder, and the user's cache folder.
ImportPlaces importPlaces();

/// True if the file, or a file of the folder, may be a trace: anything that is no SQLite database.
bool mayBeTrace(const std::string& path);

/// The name of the profile of a trace within the cache folder. It depends on the path, size and time of the
/// file, or of all files of a folder, so a trace that has changed is imported again.
QString importedName(const std::string& path);

/// Imports a trace with `pipescope import` in a process of its own, unless the cache holds its profile
/// already, and returns the profile's path. Tells how far it is, such as "Importing run.json: reading, 45 %".
/// Ends the process and returns an error once `stopped` is true. Keeps the profiles of the last 20 traces.
/// Call it on a worker.
base::Result<std::string> importTrace(const std::string& path, const ImportPlaces& places,
                                      const std::function<void(const QString&)>& tell,
                                      const std::function<bool()>& stopped);

}  // namespace pipescope::gui
