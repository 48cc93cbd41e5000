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
/// Returns the share of the fullest unit of the stage's device that is full; 0: its size is not known.
double fillOf(const PredictedStage& stage);
/// Tool tip of a stage, with its figures in full.
QString stageTip(const StagePlace& place, int stage, const std::optional<Prediction>& prediction);
/// The whole configuration in one line. `start`: the samples per second with which changes are compared.
QString predictionSentence(const Prediction& prediction, std::optional<double> start);
/// The heading of a column of the board: "Device 2", or "Place 2 · 4 devices" if ranks share its stages.
QString columnHeading(int device, std::size_t columns, const std::optional<Prediction>& prediction);
/// Names the stages whose devices lack memory, and the bytes that the fullest lacks; empty if the model fits.
QString shortageSentence(const Prediction& prediction);

}  // namespace pipescope::workbench
