#include "views/workbench/stage_figures.h"

#include <QObject>
#include <algorithm>
#include <cmath>

#include "profiler/sections/frame/section.h"
#include "profiler/sections/stage_texts.h"

namespace pipescope::workbench {
namespace {

/// Smaller changes, in percent or percentage points, are not shown.
constexpr double kLeastChange = 0.05;

QString tr(const char* text) {
  return QObject::tr(text);
}

QString timeText(double milliseconds) {
  return QString::fromStdString(sections::formatCell(milliseconds / 1e3, sections::Format::seconds));
}

QString bytesText(qint64 bytes) {
  return QString::fromStdString(sections::formatCell(std::int64_t{bytes}, sections::Format::bytes));
}

QString shareText(double share) {
  return QString::fromStdString(sections::formatCell(share, sections::Format::fraction));
}

/// "+12.0" or "−3.1"; empty if too little has changed.
QString signedText(double change) {
  if (std::abs(change) < kLeastChange) return {};
  return (change > 0 ? QStringLiteral("+") : QStringLiteral("−")) + QString::number(std::abs(change), 'f', 1);
}

/// The change in percent.
QString changeText(double now, double before) {
  const QString change = before > 0 ? signedText(100 * (now / before - 1)) : QString();
  return change.isEmpty() ? change : tr("%1 %").arg(change);
}

}  // namespace

double fillOf(const PredictedStage& stage) {
  return stage.roomBytes > 0 ? static_cast<double>(stage.usedBytes) / static_cast<double>(stage.roomBytes)
                             : 0;
}

QStringList stageFigures(const std::optional<Prediction>& prediction, const std::optional<Prediction>& before,
                         int stage) {
  const auto index = static_cast<std::size_t>(stage);
  if (!prediction || stage < 0 || index >= prediction->stages.size()) return {};
  const PredictedStage& now = prediction->stages[index];
  QStringList lines = {timeText(now.occupiedMs),
                       now.missingBytes > 0 ? tr("lacks %1").arg(bytesText(now.missingBytes))
                       : now.roomBytes > 0  ? tr("memory %1").arg(shareText(fillOf(now)))
                                            : tr("memory unknown")};
  if (!before || index >= before->stages.size()) return lines;
  const PredictedStage& old = before->stages[index];
  if (const QString change = changeText(now.occupiedMs, old.occupiedMs); !change.isEmpty())
    lines[0] += QStringLiteral("  ") + change;
  const QString was = shareText(fillOf(old));
  if (now.missingBytes <= 0 && !signedText(100 * (fillOf(now) - fillOf(old))).isEmpty())
    lines[1] = tr("memory %1, was %2").arg(shareText(fillOf(now)), was);
  return lines;
}

QString stageTip(const StagePlace& place, int stage, const std::optional<Prediction>& prediction) {
  QString tip = tr("Stage %1 on device %2: %3")
                    .arg(stage)
                    .arg(place.device)
                    .arg(place.blocks.join(QStringLiteral(", ")));
  if (!prediction || stage >= static_cast<int>(prediction->stages.size())) return tip;
  const PredictedStage& predicted = prediction->stages[static_cast<std::size_t>(stage)];
  tip += tr("\nPer micro-batch: forward %1, recompute %2, backward %3, host "
            "copies %4, exchange %5")
             .arg(timeText(predicted.forwardMs), timeText(predicted.recomputeMs),
                  timeText(predicted.backwardMs), timeText(predicted.hostMs), timeText(predicted.exchangeMs));
  if (predicted.roomBytes > 0)
    tip += tr("\nLargest address span on a tile or card of the device: %1 of %2")
               .arg(bytesText(predicted.usedBytes), bytesText(predicted.roomBytes));
  return tip;
}

QString shortageSentence(const Prediction& prediction) {
  if (prediction.fits) return {};
  std::vector<int> lacking;
  int most = -1;
  for (std::size_t s = 0; s < prediction.stages.size(); ++s) {
    const qint64 missing = prediction.stages[s].missingBytes;
    if (missing <= 0) continue;
    lacking.push_back(static_cast<int>(s));
    if (most < 0 || missing > prediction.stages[static_cast<std::size_t>(most)].missingBytes)
      most = lacking.back();
  }
  // Another executable may need more than the one whose stages are shown.
  if (most < 0) return tr("A device lacks %1.").arg(bytesText(prediction.missingBytes));
  const QString bytes = bytesText(prediction.stages[static_cast<std::size_t>(most)].missingBytes);
  if (lacking.size() == 1)
    return tr("The device of stage %1 lacks %2 where it is fullest.").arg(most).arg(bytes);
  const QString names = QString::fromStdString(sections::stageNames(lacking, prediction.stages.size()));
  return tr("The devices of %1 lack memory: that of stage %2 lacks most, %3 where it is fullest.")
      .arg(names)
      .arg(most)
      .arg(bytes);
}

QString predictionSentence(const Prediction& prediction, std::optional<double> start) {
  QString sentence = tr("%1 samples/s")
                         .arg(QString::fromStdString(
                             sections::formatCell(prediction.samplesPerSecond, sections::Format::amount)));
  if (prediction.mostSamplesPerSecond > 0) {
    const auto rate = [](double value) {
      return QString::fromStdString(sections::formatCell(value, sections::Format::amount));
    };
    sentence += tr(", 80 %: %1 … %2")
                    .arg(rate(prediction.leastSamplesPerSecond), rate(prediction.mostSamplesPerSecond));
  }
  if (const QString change = changeText(prediction.samplesPerSecond, start.value_or(0)); !change.isEmpty())
    sentence += tr(" (%1 from the start)").arg(change);
  sentence += prediction.fits ? tr(" · fits") : tr(" · does not fit");
  const std::vector<int> limiting = prediction.limitingStages();
  if (prediction.stages.size() > 1 && !limiting.empty()) {
    const QString names = QString::fromStdString(sections::stageNames(limiting, prediction.stages.size()));
    sentence += limiting.size() == prediction.stages.size() ? tr(" · %1 take equally long").arg(names)
                : limiting.size() == 1                      ? tr(" · %1 limits").arg(names)
                                                            : tr(" · %1 limit").arg(names);
  }
  sentence += tr(" · %1 · %2")
                  .arg(prediction.schedule,
                       prediction.devices == 1 ? tr("1 device") : tr("%1 devices").arg(prediction.devices));
  if (prediction.replicas > 1) sentence += tr(" in %1 replicas").arg(prediction.replicas);
  return sentence;
}

QString columnHeading(int device, std::size_t columns, const std::optional<Prediction>& prediction) {
  const int places = static_cast<int>(columns) * (prediction ? std::max(1, prediction->replicas) : 1);
  const int ranks = prediction && places > 0 ? prediction->devices / places : 1;
  return ranks > 1 ? tr("Place %1 · %2 devices").arg(device).arg(ranks) : tr("Device %1").arg(device);
}

}  // namespace pipescope::workbench
