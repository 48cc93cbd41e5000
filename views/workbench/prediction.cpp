#include "views/workbench/prediction.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>

#include "profiler/analysis/pipeline/stages.h"

namespace pipescope::workbench {
namespace {

QStringList textsIn(const QJsonValue& value) {
  QStringList texts;
  for (const QJsonValue& each : value.toArray()) texts << each.toString();
  return texts;
}

PredictedStage stageIn(const QJsonObject& json) {
  PredictedStage stage;
  const auto number = [&](const char* key) { return json[QLatin1String(key)].toDouble(); };
  stage.blocks = textsIn(json[QStringLiteral("layers")]);
  stage.device = json[QStringLiteral("device")].toInt();
  stage.forwardMs = number("forward_ms");
  stage.recomputeMs = number("recompute_ms");
  stage.backwardMs = number("backward_ms");
  stage.hostMs = number("host_ms");
  stage.exchangeMs = number("exchange_ms");
  stage.occupiedMs = number("occupied_ms");
  stage.usedBytes = static_cast<qint64>(number("largest_span_bytes"));
  stage.roomBytes = static_cast<qint64>(number("unit_capacity_bytes"));
  stage.missingBytes = static_cast<qint64>(number("missing_bytes"));
  return stage;
}

}  // namespace

base::Result<Prediction> parsePrediction(const QByteArray& bytes) {
  const QJsonObject json = QJsonDocument::fromJson(bytes).object();
  const QJsonArray stages = json[QStringLiteral("stages")].toArray();
  if (stages.isEmpty())
    return base::badInput(
        "The prediction cannot be read: the program pipescope and the window may have different versions.");
  Prediction prediction;
  for (const QJsonValue& stage : stages) prediction.stages.push_back(stageIn(stage.toObject()));
  prediction.samplesPerSecond = json[QStringLiteral("samples_per_second")].toDouble();
  prediction.leastSamplesPerSecond = json[QStringLiteral("samples_per_second_least")].toDouble();
  prediction.mostSamplesPerSecond = json[QStringLiteral("samples_per_second_most")].toDouble();
  prediction.fits = json[QStringLiteral("fits")].toBool();
  prediction.missingBytes = static_cast<qint64>(json[QStringLiteral("missing_bytes")].toDouble());
  prediction.devices = json[QStringLiteral("devices")].toInt();
  prediction.replicas = json[QStringLiteral("replicas")].toInt(1);
  prediction.schedule = json[QStringLiteral("schedule")].toString();
  prediction.remarks = textsIn(json[QStringLiteral("remarks")]);
  return prediction;
}

std::vector<int> Prediction::limitingStages() const {
  double longest = 0;
  for (const PredictedStage& stage : stages) longest = std::max(longest, stage.occupiedMs);
  std::vector<int> limiting;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (longest > 0 && stages[s].occupiedMs >= longest * (1 - analysis::kEqualStages))
      limiting.push_back(static_cast<int>(s));
  }
  return limiting;
}

}  // namespace pipescope::workbench
