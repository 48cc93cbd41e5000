#include "views/pages/parts/trace/trace_remarks.h"

#include <QStringList>

#include "views/pages/parts/data/text.h"

namespace pipescope::pages {
namespace {

QString otherReplicas(const analysis::Trace& trace) {
  const auto shown = static_cast<std::int64_t>(trace.recordedReplicas.size());
  if (shown == 0 || shown >= trace.replicas) return {};
  if (shown == 1) {
    return tr("Replica %1 of %2 is shown: the others do the same at the same time and are not recorded one "
              "by one.")
        .arg(trace.recordedReplicas.front())
        .arg(trace.replicas);
  }
  return tr("%1 of %2 replicas are shown: each of the others does the same as one of them and is not "
            "recorded.")
      .arg(shown)
      .arg(trace.replicas);
}

}  // namespace

TraceRemarks traceRemarks(const analysis::Trace& trace) {
  QStringList sentences;
  if (trace.damagedRows > 0)
    sentences << tr("%1 rows of this trace contradict others and are left out.").arg(trace.damagedRows);
  std::size_t crowded = 0, transfers = 0;
  for (const analysis::DeviceTrace& device : trace.devices) {
    crowded += device.crowded.size();
    // A large trace has one row for all transfers of a direction, which shows when something moves.
    if (trace.large) continue;
    for (const analysis::TransferLane& lane : device.crowdedTransfers) transfers += lane.transfers.size();
  }
  if (transfers > 0)
    sentences << tr("%1 transfers overlap too many others to be drawn. They count.").arg(transfers);
  if (crowded > 0)
    sentences << tr("%1 passes overlap others on their lane. They count, but a trace of this length does not "
                    "draw them.")
                     .arg(crowded);
  const bool damaged = !sentences.isEmpty();
  if (const QString others = otherReplicas(trace); !others.isEmpty()) sentences << others;
  if (trace.ranks > 1)
    sentences << tr("Each device stands for the %1 that share the work of its place.").arg(trace.ranks);
  return {sentences.join(QLatin1Char(' ')), damaged ? shell::NoticeKind::warning : shell::NoticeKind::info};
}

}  // namespace pipescope::pages
