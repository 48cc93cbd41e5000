#include "views/workbench/stage_places.h"

#include <QObject>
#include <algorithm>

namespace pipescope::workbench {
namespace {

const auto kStages = QStringLiteral("stages");

QString stagePath(int stage, const QString& key) {
  return QStringLiteral("stages[%1].%2").arg(stage).arg(key);
}

void sortBlocks(const StagePlaces& places, QStringList& blocks) {
  std::sort(blocks.begin(), blocks.end(), [&](const QString& a, const QString& b) {
    return places.order.indexOf(a) < places.order.indexOf(b);
  });
}

/// Takes a block out of its stage. Returns the position at which that stage is, or was.
int takeOut(StagePlaces& places, const QString& block) {
  const int from = stageOf(places, block);
  if (from < 0) return from;
  StagePlace& stage = places.stages[static_cast<std::size_t>(from)];
  stage.blocks.removeAll(block);
  return from;
}

void dropEmpty(StagePlaces& places) {
  std::erase_if(places.stages, [](const StagePlace& stage) { return stage.blocks.isEmpty(); });
}

}  // namespace

StagePlaces placesOf(const Draft& draft, const Prediction& prediction) {
  StagePlaces places;
  const int given = draft.count(kStages);
  const bool cuts =
      draft.given(QStringLiteral("execution.cuts")) || draft.given(QStringLiteral("execution.stages"));
  const bool same = given == static_cast<int>(prediction.stages.size());
  for (int i = 0; i < static_cast<int>(prediction.stages.size()); ++i) {
    const PredictedStage& stage = prediction.stages[static_cast<std::size_t>(i)];
    places.stages.push_back({stage.blocks, stage.device, same ? i : -1});
    places.order += stage.blocks;
    // The compiler names the part of a block that lies in stage 2 "block/stage2".
    const QString part = QStringLiteral("/stage%1").arg(i);
    for (const QString& block : stage.blocks) {
      if (cuts && block.endsWith(part)) places.divided = block.chopped(part.size());
    }
  }
  for (int i = 0; i < given; ++i) {
    const QString path = stagePath(i, QStringLiteral("device"));
    places.namesDevices = places.namesDevices || (draft.given(path) && draft.value(path).toInt() >= 0);
  }
  return places;
}

QString whyFixed(const StagePlaces& places) {
  if (places.divided.isEmpty()) return {};
  return QObject::tr(
             "A stage begins within the block %1. Blocks can be moved only where stages consist of "
             "whole blocks.")
      .arg(places.divided);
}

int stageOf(const StagePlaces& places, const QString& block) {
  for (std::size_t i = 0; i < places.stages.size(); ++i) {
    if (places.stages[i].blocks.contains(block)) return static_cast<int>(i);
  }
  return -1;
}

int nextDevice(const StagePlaces& places) {
  int next = 0;
  for (const StagePlace& stage : places.stages) next = std::max(next, stage.device + 1);
  return next;
}

StagePlaces withBlockIn(StagePlaces places, const QString& block, int stage) {
  if (stage < 0 || stage >= static_cast<int>(places.stages.size())) return places;
  takeOut(places, block);
  QStringList& blocks = places.stages[static_cast<std::size_t>(stage)].blocks;
  blocks << block;
  sortBlocks(places, blocks);
  dropEmpty(places);
  return places;
}

StagePlaces withBlockAlone(StagePlaces places, const QString& block, int device) {
  const int from = stageOf(places, block);
  if (from < 0 || places.stages[static_cast<std::size_t>(from)].blocks.size() < 2) return places;
  const bool first = places.stages[static_cast<std::size_t>(from)].blocks.front() == block;
  takeOut(places, block);
  places.stages.insert(places.stages.begin() + from + (first ? 0 : 1), {{block}, device, -1});
  return places;
}

StagePlaces withStageOn(StagePlaces places, int stage, int device) {
  if (stage < 0 || stage >= static_cast<int>(places.stages.size()) || device < 0) return places;
  StagePlace& moved = places.stages[static_cast<std::size_t>(stage)];
  if (moved.device == device) return places;
  moved.device = device;
  places.namesDevices = true;
  return places;
}

void apply(const StagePlaces& places, Draft& draft) {
  const Draft before = draft;
  draft.clear(kStages);
  for (const char* path :
       {"execution.layers_per_stage", "execution.stages", "execution.cuts", "execution.cut_devices"})
    draft.remove(QLatin1String(path));
  for (int i = 0; i < static_cast<int>(places.stages.size()); ++i) {
    const StagePlace& stage = places.stages[static_cast<std::size_t>(i)];
    for (const KeyRow& key : draft.keys().all()) {
      if (stage.from < 0 || !key.path.startsWith(QStringLiteral("stages[]."))) continue;
      const QString own = key.path.mid(9), old = stagePath(stage.from, own);
      if (before.given(old)) draft.set(stagePath(i, own), before.value(old));
    }
    draft.set(stagePath(i, QStringLiteral("blocks")), quotedList(stage.blocks));
    const QString device = stagePath(i, QStringLiteral("device"));
    if (places.namesDevices) {
      draft.set(device, QString::number(stage.device));
    } else {
      draft.remove(device);
    }
  }
}

}  // namespace pipescope::workbench
