#include "views/pages/parts/layout/host_details.h"

#include <algorithm>

#include "profiler/geometry/timeline/time_axis.h"
#include "views/pages/parts/data/text.h"

namespace pipescope::pages {
namespace {

using analysis::HostItem;
using analysis::HostLane;
using analysis::HostTimeline;
using base::Ticks;
using geometry::HostHit;

QString wallTime(Ticks time) {
  return text(geometry::formatDuration(time, {geometry::TimeUnit::time, 1'000'000'000}));
}

QString titleOf(const HostTimeline& timeline, const HostHit& hit) {
  if (hit.kind == HostHit::Kind::call) return text(timeline.calls[hit.index].name);
  if (hit.kind == HostHit::Kind::curve) return text(timeline.curves[hit.lane].name);
  return text(timeline.names[static_cast<std::size_t>(hostNameOf(timeline, hit))].name);
}

Ticks startOf(const HostTimeline& timeline, const HostHit& hit) {
  switch (hit.kind) {
    case HostHit::Kind::call:
      return timeline.calls[hit.index].start;
    case HostHit::Kind::span:
      return timeline.lanes[hit.lane].spans[hit.index].start;
    case HostHit::Kind::event:
      return timeline.lanes[hit.lane].events[hit.index].time;
    case HostHit::Kind::curve:
      break;
  }
  return timeline.curves[hit.lane].points[hit.index].time;
}

/// The call in which a moment lies; null: none.
const analysis::HostCall* callAt(const HostTimeline& timeline, Ticks time) {
  const auto after = std::ranges::upper_bound(timeline.calls, time, {}, &analysis::HostCall::start);
  if (after == timeline.calls.begin()) return nullptr;
  const analysis::HostCall& call = *(after - 1);
  return call.end > time ? &call : nullptr;
}

/// The names around a span, outermost first, and its own.
QString pathOf(const HostTimeline& timeline, const HostLane& lane, std::size_t span) {
  constexpr int kMostParts = 12;
  QStringList parts;
  for (auto at = static_cast<std::int32_t>(span); at >= 0 && parts.size() < kMostParts;) {
    const HostItem& item = lane.spans[static_cast<std::size_t>(at)];
    parts.prepend(text(timeline.names[static_cast<std::size_t>(item.name)].name));
    at = item.parent;
  }
  return parts.join(QStringLiteral(" → "));
}

QString valueText(const analysis::HostCurve& curve, double value) {
  const QString number = QString::number(value, 'g', 6);
  return curve.unit.empty() ? number : number + QLatin1Char(' ') + text(curve.unit);
}

}  // namespace

int hostNameOf(const HostTimeline& timeline, const HostHit& hit) {
  if (hit.kind == HostHit::Kind::span) return timeline.lanes[hit.lane].spans[hit.index].name;
  if (hit.kind == HostHit::Kind::event) return timeline.lanes[hit.lane].events[hit.index].name;
  return -1;
}

QStringList hostCallout(const HostTimeline& timeline, const HostHit& hit) {
  QStringList lines{titleOf(timeline, hit)};
  if (hit.kind == HostHit::Kind::call) {
    const analysis::HostCall& call = timeline.calls[hit.index];
    lines << wallTime(call.end - call.start);
  } else if (hit.kind == HostHit::Kind::curve) {
    const analysis::HostCurve& curve = timeline.curves[hit.lane];
    lines << valueText(curve, curve.points[hit.index].value);
  } else {
    const HostLane& lane = timeline.lanes[hit.lane];
    lines << tr("%1, on %2")
                 .arg(text(timeline.names[static_cast<std::size_t>(hostNameOf(timeline, hit))].channel),
                      text(lane.title()));
    if (hit.kind == HostHit::Kind::span) {
      const HostItem& item = lane.spans[hit.index];
      lines << (item.self == item.length()
                    ? wallTime(item.length())
                    : tr("%1, of which %2 of its own").arg(wallTime(item.length()), wallTime(item.self)));
    }
  }
  lines << tr("at %1").arg(wallTime(startOf(timeline, hit)));
  return lines;
}

std::vector<ShownFact> hostFacts(const HostTimeline& timeline, const HostHit& hit) {
  const Ticks start = startOf(timeline, hit);
  std::vector<ShownFact> facts{{tr("Name"), titleOf(timeline, hit), {}}};
  const auto add = [&](const QString& label, const QString& value, const QString& doc = {}) {
    facts.push_back({label, value, doc});
  };
  if (hit.kind == HostHit::Kind::call) {
    add(tr("Length"), wallTime(timeline.calls[hit.index].end - start),
        tr("wall time in which the host computed the call"));
  } else if (hit.kind == HostHit::Kind::curve) {
    const analysis::HostCurve& curve = timeline.curves[hit.lane];
    add(tr("Chart"), curve.pinned ? tr("value of the model, at the end of its call") : text(curve.chart));
    add(tr("Value"), valueText(curve, curve.points[hit.index].value), tr("from this time on"));
    add(tr("Range"), tr("%1 … %2").arg(valueText(curve, curve.smallest), valueText(curve, curve.largest)),
        tr("of the whole series"));
  } else {
    const HostLane& lane = timeline.lanes[hit.lane];
    add(tr("Channel"), text(timeline.names[static_cast<std::size_t>(hostNameOf(timeline, hit))].channel));
    add(tr("Thread"), text(lane.title()));
    if (hit.kind == HostHit::Kind::span) {
      const HostItem& item = lane.spans[hit.index];
      add(tr("Length"), wallTime(item.length()));
      add(tr("Own time"), wallTime(item.self), tr("without the spans directly in it"));
      add(tr("Within"), pathOf(timeline, lane, hit.index), tr("the spans around it, the outermost first"));
    }
  }
  add(tr("Start"), wallTime(start), tr("since the first recorded moment"));
  if (hit.kind != HostHit::Kind::call) {
    const analysis::HostCall* call = callAt(timeline, start);
    add(tr("Call"), call == nullptr ? tr("between calls") : text(call->name), tr("that ran at its start"));
  }
  return facts;
}

}  // namespace pipescope::pages
