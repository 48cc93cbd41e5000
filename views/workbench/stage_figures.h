#pragma once
// Predictions in words.
#include <QString>
#include <QStringList>
#include <optional>

#include "views/workbench/stage_places.h"

namespace pipescope::workbench {

/// The lines of a stage: its time and how full its device is, with what has changed from `before`.
QStringList stageFigures(const std::optional<Prediction>& prediction, const std::optional<Prediction>& before,
                         int stage);
/// How full the fullest unit of the stage's device is; 0: its size is not known.
double fillOf(const PredictedStage& stage);
QString stageTip(const StagePlace& place, int stage, const std::optional<Prediction>& prediction);
/// The whole configuration in one line. `start`: the samples per second with which changes are compared.
QString predictionSentence(const Prediction& prediction, std::optional<double> start);
/// Which stages' devices lack memory, and how much the fullest lacks; empty where the model fits.
QString shortageSentence(const Prediction& prediction);

}  // namespace pipescope::workbench
