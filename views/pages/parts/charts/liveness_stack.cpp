#include "views/pages/parts/charts/liveness_stack.h"

#include <QObject>
#include <algorithm>
#include <cmath>

#include "profiler/sections/frame/section.h"
#include "views/pages/parts/data/memory_data.h"
#include "views/pages/parts/data/text.h"

namespace pipescope::pages {
namespace {

using geometry::ColourRole;

QString stackBytes(std::int64_t bytes) {
  return text(formatCell(bytes, sections::Format::bytes));
}

}  // namespace

std::int64_t LivenessStack::base() const {
  return part_ == Part::fullest ? 0
         : part_ == Part::unit  ? data_.ofUnit.alwaysLive.count
                                : data_.liveness.alwaysLive.count;
}

std::int64_t LivenessStack::above(std::size_t step) const {
  if (part_ == Part::unit)
    return step < data_.ofUnit.notAlwaysLive.size() ? data_.ofUnit.notAlwaysLive[step].count : 0;
  const analysis::LivenessPoint& point = data_.liveness.steps[step];
  return part_ == Part::fullest ? point.maxUnitNotAlwaysLive.count : point.notAlwaysLive.count;
}

int LivenessStack::peakStep() const {
  return static_cast<int>(part_ == Part::unit && data_.ofUnit.known ? data_.ofUnit.peakStep
                                                                    : data_.liveness.peakStep);
}

std::vector<StackLayer> LivenessStack::layers(bool withAlwaysLive) const {
  const std::size_t steps = data_.liveness.steps.size();
  std::vector<StackLayer> made;
  if (withAlwaysLive && part_ != Part::fullest)
    made.push_back({ColourRole::alwaysLive, std::vector<std::int64_t>(steps, base()), true});
  StackLayer top{ColourRole::notAlwaysLive, {}, true};
  for (std::size_t step = 0; step < steps; ++step) top.values.push_back(above(step));
  made.push_back(std::move(top));
  return made;
}

std::vector<ChartBand> LivenessStack::bands() const {
  std::vector<ChartBand> made;
  for (std::size_t i = 0; i < data_.liveness.steps.size(); ++i) {
    const model::Pass pass = data_.liveness.steps[i].pass;
    const QString name = text(model::toString(pass));
    const auto at = static_cast<double>(i);
    if (made.empty() || made.back().name != name)
      made.push_back({at, at, name, true, geometry::roleOf(pass)});
    made.back().to = at + 1;
  }
  return made;
}

std::vector<timeline::LegendEntry> LivenessStack::legend(bool withAlwaysLive) const {
  std::vector<timeline::LegendEntry> entries;
  if (withAlwaysLive && part_ != Part::fullest)
    entries.push_back(
        {QObject::tr("always live, %1").arg(stackBytes(base())), ColourRole::alwaysLive, false});
  entries.push_back({part_ == Part::fullest
                         ? QObject::tr("not always live, on the %1 that holds most in this step")
                               .arg(text(data_.shown.unitName))
                         : QObject::tr("not always live"),
                     ColourRole::notAlwaysLive, false});
  return entries;
}

QString LivenessStack::axis() const {
  const QString unit = text(data_.shown.unitName);
  return data_.shown.units <= 1   ? QObject::tr("bytes")
         : part_ == Part::unit    ? QObject::tr("bytes on %1 %2").arg(unit).arg(data_.unit)
         : part_ == Part::fullest ? QObject::tr("bytes on one %1").arg(unit)
                                  : QObject::tr("bytes, sum over %1s").arg(unit);
}

std::pair<double, QString> LivenessStack::limit(std::int64_t most) const {
  const LivenessSpace& space = data_.shown;
  const bool single = space.units <= 1 || part_ != Part::sum;
  const double bytes = livenessLimit(space, single, most).value_or(-1);
  return {bytes,
          single
              ? QObject::tr("%1 per %2").arg(stackBytes(space.bytesPerUnit), text(memoryUnit(space.unitName)))
              : QObject::tr("%1 in all %2s").arg(stackBytes(std::llround(bytes)), text(space.unitName))};
}

QString LivenessStack::describe(int step) const {
  const int steps = static_cast<int>(data_.liveness.steps.size());
  if (step < 0 || step >= steps) return {};
  const analysis::LivenessPoint& point = data_.liveness.steps[static_cast<std::size_t>(step)];
  const QString& name = data_.names[static_cast<std::size_t>(step)];
  const QString what = name.isEmpty() ? text(model::toString(point.pass)) : name;
  if (part_ == Part::fullest)
    return QObject::tr("Step %1 of %2 · %3 · %4 not always live on the fullest %5")
        .arg(groupedCount(step), groupedCount(steps))
        .arg(what, stackBytes(point.maxUnitNotAlwaysLive.count), text(data_.shown.unitName));
  const QString peak = step == peakStep() ? QObject::tr(", the peak") : QString();
  const std::int64_t now = above(static_cast<std::size_t>(step));
  return QObject::tr("Step %1 of %2 · %3 · %4 not always live, %5 in all%6")
      .arg(groupedCount(step), groupedCount(steps))
      .arg(what, stackBytes(now), stackBytes(now + base()), peak);
}

QString LivenessStack::describe(int first, int last) const {
  int most = first;
  for (int step = first; step <= last; ++step) {
    if (above(static_cast<std::size_t>(step)) > above(static_cast<std::size_t>(most))) most = step;
  }
  return QObject::tr("Steps %1 to %2, %3 in all · at most %4 not always live at once, in step %5")
      .arg(groupedCount(first), groupedCount(last), groupedCount(last - first + 1),
           stackBytes(above(static_cast<std::size_t>(most))), groupedCount(most));
}

}  // namespace pipescope::pages
