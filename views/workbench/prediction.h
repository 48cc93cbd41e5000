#pragma once
// Prediction for a configuration, as `pipescope plan --present --format json` prints it.
#include <QByteArray>
#include <QMetaType>
#include <QString>
#include <QStringList>
#include <vector>

#include "profiler/base/result.h"

namespace pipescope::workbench {

/// One stage. Times are those of a micro-batch; memory is the largest address span of a unit (tile, card) of
/// the stage's device, and what a unit has room for.
struct PredictedStage {
  QStringList blocks;
  int device = 0;
  double forwardMs = 0, recomputeMs = 0, backwardMs = 0, hostMs = 0, exchangeMs = 0;
  double occupiedMs = 0;  ///< passes, host copies and exchange; copies may run beside the passes
  qint64 usedBytes = 0, roomBytes = 0, missingBytes = 0;
};

struct Prediction {
  std::vector<PredictedStage> stages;
  double samplesPerSecond = 0;
  double leastSamplesPerSecond = 0, mostSamplesPerSecond = 0;  ///< the interval of 80 %; 0: nobody knows
  bool fits = true;
  qint64 missingBytes = 0;
  int devices = 0, replicas = 1;
  QString schedule;
  QStringList remarks;
  /// The stages that take longest. Stages that take nearly as long (analysis::kEqualStages) count as equal.
  std::vector<int> limitingStages() const;
};

/// Reads the JSON that `pipescope plan --present` prints.
base::Result<Prediction> parsePrediction(const QByteArray& json);

}  // namespace pipescope::workbench

Q_DECLARE_METATYPE(pipescope::workbench::Prediction)
