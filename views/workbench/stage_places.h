#pragma once
// Stage and device of each block, which the user changes by dragging.
#include <QStringList>
#include <vector>

#include "views/workbench/draft.h"
#include "views/workbench/prediction.h"

namespace pipescope::workbench {

struct StagePlace {
  QStringList blocks;
  int device = 0;
  int from = -1;  ///< the entry of [[stages]] that it came from, whose other settings it keeps; −1: none
  friend bool operator==(const StagePlace&, const StagePlace&) = default;
};

struct StagePlaces {
  std::vector<StagePlace> stages;
  /// True if the configuration names the device of each stage. Otherwise the schedule decides.
  bool namesDevices = false;
  /// All blocks, in the order of the model.
  QStringList order;
  /// A block that is divided between stages; empty: stages consist of whole blocks.
  QString divided;
  friend bool operator==(const StagePlaces&, const StagePlaces&) = default;
};

/// The stages of a draft as a prediction found them.
StagePlaces placesOf(const Draft& draft, const Prediction& prediction);
/// Says why the blocks cannot be moved. Empty: they can.
QString whyFixed(const StagePlaces& places);

/// A block in another stage. A stage that loses its last block goes.
StagePlaces withBlockIn(StagePlaces places, const QString& block, int stage);
/// A block in a stage of its own on this device, beside the stage where it was.
StagePlaces withBlockAlone(StagePlaces places, const QString& block, int device);
/// A stage on another device. The configuration then names the devices of all stages.
StagePlaces withStageOn(StagePlaces places, int stage, int device);
/// The device after the last one that holds a stage.
int nextDevice(const StagePlaces& places);
/// The stage that holds a block; −1: none.
int stageOf(const StagePlaces& places, const QString& block);

/// Writes the stages into the draft, in place of every other setting that says what the stages are.
void apply(const StagePlaces& places, Draft& draft);

}  // namespace pipescope::workbench
