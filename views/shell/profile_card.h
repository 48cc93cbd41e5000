#pragma once
// Facts of a profile for its card among the recent ones.
#include <QDateTime>
#include <QString>
#include <vector>

#include "profiler/geometry/shapes.h"
#include "views/shell/profile_session.h"

namespace pipescope::shell {

struct ProfileCard {
  /// A pass in the small picture of the pipeline: shares of the picture's width, and its row.
  struct Box {
    float from = 0, to = 0;
    int row = 0;
    geometry::ColourRole role = geometry::ColourRole::forward;
  };
  bool isMissing = false;  ///< there is no such file
  bool isRead = false;     ///< the facts below are known
  QDateTime changed;
  QString work;    ///< model, strategy and division
  QString system;  ///< system and state, if the run has not ended well
  QString rate, fit;
  QString sentence;  ///< of a sample: stands in place of work, fit and date
  bool fits = true;
  std::vector<Box> boxes;
  int rows = 0;
};

/// Reads the facts on a worker. A file that is no profile, is very large, or cannot be read has only its
/// date.
ProfileCard readCard(const QString& path, const Opener& opener);

}  // namespace pipescope::shell
