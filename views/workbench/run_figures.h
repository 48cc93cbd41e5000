#pragma once
// The key figures of a recorded run, as its reports show them.
#include <QString>
#include <vector>

#include "profiler/model/rows.h"
#include "views/shell/profile_session.h"

namespace pipescope::workbench {

struct RunFigures {
  QString state, stepTime, stepInterval, samplesPerSecond, bubble, imbalance, fits, loss;
  /// The options of the run, from which it can be run again.
  std::vector<model::ConfigurationEntry> options;
};

/// Reads a profile. Call it on a worker.
base::Result<RunFigures> readFigures(const shell::Opener& open, const QString& profile);

}  // namespace pipescope::workbench
