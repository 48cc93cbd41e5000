#pragma once
#include <QStringList>
#include <optional>
#include <vector>

#include "profiler/analysis/pipeline/wait_axes.h"
#include "profiler/geometry/timeline/time_axis.h"
#include "profiler/geometry/timeline/timeline_scene.h"
#include "views/pages/parts/layout/facts.h"

namespace pipescope::pages {

/// Describes the items of a timeline in words. It holds references, so make it where it is used.
class TraceTexts {
 public:
  TraceTexts(const geometry::TimelineScene& scene, const analysis::Catalog& catalog,
             const geometry::TimeScale& scale)
      : scene_(scene), trace_(*scene.model()->trace), catalog_(catalog), scale_(scale) {}

  /// Title such as "F3 · forward of micro-batch 3".
  QString title(const geometry::TimelineItem& item) const;
  /// A sentence with the cause of a wait and what it waits for; empty for other items.
  QString sentence(const geometry::TimelineItem& item) const;
  /// A heading and a few lines for the callout at the pointer.
  QStringList callout(const geometry::TimelineItem& item) const;
  /// All facts about the item.
  std::vector<ShownFact> facts(const geometry::TimelineItem& item) const;
  /// Names what a wait waited for, such as "B3 on IPU1", or "the host" if it is no placement.
  QString waitedFor(const geometry::TimelineItem& wait) const;
  /// True for a wait that names its own device, because its own part of copies is done and others are not.
  bool waitsForItself(const geometry::TimelineItem& wait) const;

 private:
  using Facts = std::vector<ShownFact>;
  const analysis::TraceTrack& track(const geometry::TimelineItem& item) const;
  const model::Wait& wait(const geometry::TimelineItem& item) const;
  const analysis::TracePlacement& placement(const geometry::TimelineItem& item) const;
  QString device(int index) const;
  QString peer(model::LaneId lane) const;
  QString time(base::Ticks ticks) const;
  QString length(const geometry::TimelineItem& item) const;
  void addWhen(Facts& facts, const geometry::TimelineItem& item) const;
  void addWhere(Facts& facts, const analysis::TracePlacement& placement) const;
  void addPass(Facts& facts, const geometry::TimelineItem& item) const;
  void addSource(Facts& facts, model::LaneId lane, base::Ticks start) const;
  void addUnits(Facts& facts, const model::Step& step, const analysis::DeviceTrace& on) const;
  void addStep(Facts& facts, const geometry::TimelineItem& item) const;
  void addWait(Facts& facts, const geometry::TimelineItem& item) const;
  void addTransfer(Facts& facts, const geometry::TimelineItem& item) const;
  QString wallTime(const geometry::TimelineItem& item) const;
  QString unitTime(const geometry::TimelineItem& item) const;
  QString counterValue(const geometry::TimelineItem& item) const;
  const analysis::FlameBox& box(const geometry::TimelineItem& item) const;
  const model::Step* step(const geometry::TimelineItem& item) const;
  const model::Collective* collectiveOf(model::ProgramId program) const;
  std::optional<model::MeshAxis> axisOf(const geometry::TimelineItem& item) const;
  std::optional<analysis::AwaitedPlacement> awaitedBy(const geometry::TimelineItem& item) const;
  bool waitsForSharedLinks(const geometry::TimelineItem& item) const;
  QString programOf(const geometry::TimelineItem& item) const;

  const geometry::TimelineScene& scene_;
  const analysis::Trace& trace_;
  const analysis::Catalog& catalog_;
  geometry::TimeScale scale_;
};

}  // namespace pipescope::pages
