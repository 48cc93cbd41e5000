#include "views/pages/parts/trace/trace_texts.h"

#include <algorithm>
#include <cmath>

#include "profiler/analysis/step_mean.h"
#include "profiler/analysis/timeline/source_lines.h"
#include "profiler/geometry/counter_text.h"
#include "profiler/geometry/element.h"
#include "profiler/geometry/timeline/timeline_links.h"
#include "profiler/sections/frame/section.h"
#include "views/pages/parts/data/text.h"

namespace pipescope::pages {

using geometry::at;
using geometry::formatDuration;
using geometry::TimelineItem;
using Kind = TimelineItem::Kind;
using sections::Format;

namespace {

QString bytesText(base::Bytes bytes) {
  return text(formatCell(bytes.count, Format::bytes));
}
QString percent(double share) {
  return text(formatCell(share, Format::fraction));
}

QString unitsOf(const analysis::DeviceTrace& device) {
  return device.unitName.empty() ? tr("units") : text(device.unitName) + QLatin1Char('s');
}

QString causeSentence(model::WaitCause cause) {
  switch (cause) {
    case model::WaitCause::fill:
      return tr("no micro-batch has reached this stage yet in this flush");
    case model::WaitCause::drain:
      return tr("this stage has finished all its micro-batches of this flush");
    case model::WaitCause::slowerStage:
      return tr("another stage is slower, and its work is not finished");
    case model::WaitCause::exchange:
      return tr("data is being sent between devices");
    case model::WaitCause::collective:
      return tr("a collective operation has not finished");
    case model::WaitCause::host:
      return tr("the host link or the host's call is not ready");
    case model::WaitCause::update:
      return tr("another device updates its weights");
  }
  return tr("a cause that this version does not know");
}

}  // namespace

const analysis::TraceTrack& TraceTexts::track(const TimelineItem& item) const {
  return at(at(trace_.devices, item.device).tracks, item.track);
}

const model::Wait& TraceTexts::wait(const TimelineItem& item) const {
  return at(track(item).waits, item.index);
}

const analysis::TracePlacement& TraceTexts::placement(const TimelineItem& item) const {
  const int index =
      item.kind == Kind::pass ? at(track(item).passes, item.index).firstPlacement : item.placement;
  return at(track(item).placements, index);
}

QString TraceTexts::device(int index) const {
  return index < 0 ? tr("host") : text(at(trace_.devices, index).name);
}
QString TraceTexts::peer(model::LaneId lane) const {
  return device(trace_.deviceOfLane(lane));
}

QString TraceTexts::time(base::Ticks ticks) const {
  return text(formatDuration(ticks, scale_));
}

/// Writes a length in the chosen unit; cycles are followed by the time.
QString TraceTexts::length(const TimelineItem& item) const {
  const base::Ticks ticks = item.end - item.start;
  if (scale_.unit != geometry::TimeUnit::cycles) return time(ticks);
  return QStringLiteral("%1 (%2)").arg(
      time(ticks), text(formatDuration(ticks, {geometry::TimeUnit::time, scale_.ticksPerSecond})));
}

const analysis::FlameBox& TraceTexts::box(const TimelineItem& item) const {
  static const analysis::FlameBox none;
  const analysis::FlameBox* found = scene_.flameBox(item);
  return found == nullptr ? none : *found;
}

const model::Step* TraceTexts::step(const TimelineItem& item) const {
  if (item.kind != Kind::step) return nullptr;
  const analysis::FlameBox& found = box(item);
  return found.step < 0 ? nullptr : &at(trace_.segmentOf(placement(item))->steps, found.step);
}

/// The kind of a step's program, which the trace holds so that the catalog need not be read.
QString TraceTexts::programOf(const TimelineItem& item) const {
  const auto& programs = trace_.segmentOf(placement(item))->stepPrograms;
  const auto index = static_cast<std::size_t>(box(item).step);
  return index < programs.size() ? text(at(trace_.names, programs[index])) : QString();
}

QString TraceTexts::title(const TimelineItem& item) const {
  switch (item.kind) {
    case Kind::pass: {
      const analysis::TracePlacement& first = placement(item);
      const QString pass = text(model::toString(first.pass)), label = text(scene_.labelOf(item));
      if (first.microBatch >= 0)
        return tr("%1 · %2 of micro-batch %3").arg(label, pass).arg(first.microBatch);
      return label == pass ? pass : tr("%1 · %2").arg(label, pass);
    }
    case Kind::wait:
      return tr("%1 waits: %2").arg(device(item.device), text(scene_.labelOf(item)));
    case Kind::group:
    case Kind::step:
      return text(scene_.pathOf(item));
    case Kind::transfer:
    case Kind::far:
    case Kind::counter:
    case Kind::wall:
      return text(scene_.labelOf(item));
    case Kind::none:
      break;
  }
  return {};
}

bool TraceTexts::waitsForItself(const TimelineItem& item) const {
  const model::Wait& row = wait(item);
  return row.waitedForDevice.valid() && trace_.deviceIndex(row.waitedForDevice) == item.device;
}

QString TraceTexts::waitedFor(const TimelineItem& item) const {
  // The item's own part is done, and that of others is not.
  if (waitsForItself(item) && wait(item).cause == model::WaitCause::exchange) return tr("copies of others");
  if (waitsForItself(item) && wait(item).cause == model::WaitCause::collective)
    return waitsForSharedLinks(item) ? tr("what others send over the same links") : tr("other replicas");
  const TimelineItem cause = geometry::waitedFor(scene_, item);
  if (cause) return tr("%1 on %2").arg(text(scene_.labelOf(cause)), device(cause.device));
  const model::Wait& row = wait(item);
  if (row.waitedForDevice.valid()) return device(trace_.deviceIndex(row.waitedForDevice));
  return tr("the host");
}

QString TraceTexts::sentence(const TimelineItem& item) const {
  if (item.kind != Kind::wait) return {};
  const model::Wait& row = wait(item);
  const QString why = tr("%1 does nothing because %2").arg(device(item.device), causeSentence(row.cause));
  if (row.cause == model::WaitCause::host) return why + QLatin1Char('.');
  if (!waitsForItself(item)) return tr("%1. It waits for %2.").arg(why, waitedFor(item));
  return row.cause != model::WaitCause::exchange
             ? why + QLatin1Char('.')
             : tr("%1. Its own copies have ended; all devices begin the next pipeline cycle together.")
                   .arg(why);
}

QString TraceTexts::counterValue(const TimelineItem& item) const {
  const analysis::CounterSeries& series =
      at(*scene_.model()->counters, at(scene_.layout().rows, item.row).lane);
  const analysis::CounterPoint& point = at(series.points, item.index);
  const auto shown = [&](double value) { return text(geometry::counterText(value, series.counter.unit)); };
  if (point.count > 1 && point.smallest < point.largest)
    return tr("%1 … %2, %3 samples").arg(shown(point.smallest), shown(point.largest)).arg(point.count);
  return shown(point.last);
}

QString TraceTexts::wallTime(const TimelineItem& item) const {
  const model::Run& run = at(trace_.runs, item.index);
  return text(formatDuration(base::Ticks(run.wallEndNs - run.wallStartNs),
                             {geometry::TimeUnit::time, 1'000'000'000}));
}

/// Describes what the tile under the pointer does in the step.
QString TraceTexts::unitTime(const TimelineItem& item) const {
  const analysis::DeviceTrace& on = at(trace_.devices, item.device);
  const QString name = tr("%1 %2").arg(text(on.unitName)).arg(item.unit);
  for (const analysis::UnitTicks& span : scene_.unitsOf(item)) {
    if (item.unit < span.firstUnit || item.unit >= span.firstUnit + span.unitCount) continue;
    const base::Ticks axis(std::llround(static_cast<double>(span.ticks.count) * on.axisTicksPerTick));
    return tr("%1 works %2").arg(name, time(axis));
  }
  return scene_.unitsOf(item).empty() ? name : tr("%1 has no work in this step").arg(name);
}

QStringList TraceTexts::callout(const TimelineItem& item) const {
  if (!item) return {};
  QStringList lines = {title(item), length(item)};
  switch (item.kind) {
    case Kind::pass:
      lines << tr("%1, stage %2").arg(device(item.device)).arg(placement(item).stage);
      break;
    case Kind::wait:
      lines << tr("for %1").arg(waitedFor(item));
      break;
    case Kind::step:
      if (const model::Step* row = step(item)) {
        const bool spread = row->kind == model::StepKind::compute && row->activeUnits > 0 &&
                            at(trace_.devices, item.device).units > 1;
        lines << text(model::toString(row->kind)) +
                     (spread ? tr(", %1 %2s")
                                   .arg(text(geometry::groupedNumber(row->activeUnits)),
                                        text(at(trace_.devices, item.device).unitName))
                             : QString());
        if (const model::Collective* const own = collectiveOf(row->program))
          lines.back() += tr(", %1 axis").arg(text(model::toString(own->axis)));
      }
      break;
    case Kind::group:
      lines << tr("in %1").arg(text(geometry::passLabel(placement(item).pass, placement(item).microBatch)));
      break;
    case Kind::transfer: {
      const model::Transfer& row = at(trace_.transfers, item.index);
      lines << tr("%1 → %2, %3").arg(peer(row.fromLane), peer(row.toLane), bytesText(row.bytes));
      break;
    }
    case Kind::far: {
      const analysis::FarSpan& span = at(track(item).far, item.index);
      lines << tr("%1 works %2 of the time. Zoom in to see the passes.")
                   .arg(device(item.device), percent(span.busy));
      break;
    }
    case Kind::counter:
      lines[1] = counterValue(item);
      lines << tr("at %1").arg(time(item.start));
      break;
    case Kind::wall:
      lines << tr("%1 on the host").arg(wallTime(item));
      break;
    case Kind::none:
      break;
  }
  if (item.unit >= 0) lines << unitTime(item);
  if (lines[2].endsWith(QStringLiteral("stage -1"))) lines[2] = device(item.device);
  return lines;
}

std::vector<ShownFact> TraceTexts::facts(const TimelineItem& item) const {
  Facts facts;
  if (item.unit >= 0) facts.push_back({tr("Under the pointer"), unitTime(item), {}});
  switch (item.kind) {
    case Kind::pass:
      addPass(facts, item);
      break;
    case Kind::wait:
      addWait(facts, item);
      break;
    case Kind::group:
    case Kind::step:
      addStep(facts, item);
      break;
    case Kind::transfer:
      addTransfer(facts, item);
      break;
    case Kind::counter:
      facts.push_back({tr("Value"), counterValue(item), {}});
      if (item.device >= 0) facts.push_back({tr("Device"), device(item.device), {}});
      addWhen(facts, item);
      break;
    case Kind::wall:
      facts.push_back({tr("On the host"), wallTime(item), tr("wall time of the emulator")});
      addWhen(facts, item);
      break;
    case Kind::far:
      facts.push_back({tr("Device"), device(item.device), {}});
      facts.push_back({tr("Works"), percent(at(track(item).far, item.index).busy), tr("of this time")});
      addWhen(facts, item);
      break;
    case Kind::none:
      break;
  }
  return facts;
}

void TraceTexts::addWhen(Facts& facts, const TimelineItem& item) const {
  facts.push_back({tr("Start"), time(item.start), tr("since the start of the first call")});
  facts.push_back({tr("Length"), length(item), {}});
  facts.push_back({tr("End"), time(item.end), {}});
}

void TraceTexts::addWhere(Facts& facts, const analysis::TracePlacement& row) const {
  facts.push_back({tr("Pass"), text(model::toString(row.pass)), {}});
  if (row.stage >= 0) facts.push_back({tr("Stage"), QString::number(row.stage), {}});
  if (row.microBatch >= 0)
    facts.push_back(
        {tr("Micro-batch"), QString::number(row.microBatch), tr("number within the flush, from 0")});
  if (row.iteration >= 0)
    facts.push_back({tr("Iteration"), QString::number(row.iteration), tr("number in the call, from 0")});
  facts.push_back({tr("Call"), QString::number(catalog_.callNumber(row.run)),
                   tr("number of the call from the host, from 1")});
  if (row.slot >= 0) facts.push_back({tr("Pipeline cycle"), QString::number(row.slot), {}});
}

void TraceTexts::addPass(Facts& facts, const TimelineItem& item) const {
  const analysis::TracePlacement& first = placement(item);
  facts.push_back({tr("Device"), device(item.device), {}});
  addWhere(facts, first);
  addWhen(facts, item);
  const analysis::PassSpan& pass = at(track(item).passes, item.index);
  analysis::TicksByKind sums{};
  base::Bytes streamIn, streamOut;
  for (int i = 0; i < pass.placements; ++i) {
    const analysis::TraceSegment* segment =
        trace_.segmentOf(at(track(item).placements, pass.firstPlacement + i));
    if (segment == nullptr) continue;
    for (std::size_t kind = 0; kind < sums.size(); ++kind) sums[kind] += segment->use.byKind[kind];
    streamIn += segment->use.streamIn;
    streamOut += segment->use.streamOut;
  }
  const double whole = std::max(1.0, static_cast<double>((item.end - item.start).count) /
                                         at(trace_.devices, item.device).axisTicksPerTick);
  for (std::size_t kind = 0; kind + 1 < sums.size(); ++kind) {
    if (sums[kind] == 0) continue;
    const auto name = text(model::toString(static_cast<model::StepKind>(kind)));
    facts.push_back({tr("of which %1").arg(name), percent(static_cast<double>(sums[kind]) / whole), {}});
  }
  if (streamIn.count > 0) facts.push_back({tr("Stream in"), bytesText(streamIn), {}});
  if (streamOut.count > 0) facts.push_back({tr("Stream out"), bytesText(streamOut), {}});
  for (const int transfer : geometry::transfersOf(scene_, item)) {
    const model::Transfer& row = at(trace_.transfers, transfer);
    const bool in = trace_.deviceOfLane(row.toLane) == item.device;
    facts.push_back({in ? tr("Input") : tr("Output"),
                     tr("%1 %2 %3")
                         .arg(bytesText(row.bytes), in ? tr("from") : tr("to"),
                              in ? peer(row.fromLane) : peer(row.toLane)),
                     {}});
  }
}

void TraceTexts::addStep(Facts& facts, const TimelineItem& item) const {
  facts.push_back({tr("Name path"), text(scene_.pathOf(item)), {}});
  const model::Step* row = step(item);
  const analysis::DeviceTrace& on = at(trace_.devices, item.device);
  if (row != nullptr) {
    facts.push_back({tr("Kind"), text(model::toString(row->kind)), {}});
    const QString program = programOf(item);
    if (!program.isEmpty()) facts.push_back({tr("Program"), program, {}});
    if (const model::Collective* const own = collectiveOf(row->program))
      facts.push_back({tr("Axis"), tr("%1 · %2 chips").arg(text(model::toString(own->axis))).arg(own->ranks),
                       tr("of the mesh, along which chips do this together")});
    addSource(facts, row->lane, item.start);
  }
  facts.push_back({tr("Device"), device(item.device), {}});
  addWhere(facts, placement(item));
  addWhen(facts, item);
  if (row == nullptr) return;
  if (on.units > 1) addUnits(facts, *row, on);
  const QString in = on.units > 1 ? tr("sum over %1").arg(unitsOf(on)) : QString();
  if (row->bytesIn.count > 0) facts.push_back({tr("Received"), bytesText(row->bytesIn), in});
  if (row->bytesOut.count > 0) facts.push_back({tr("Sent"), bytesText(row->bytesOut), in});
}

/// The collective of a program; null: it is none.
const model::Collective* TraceTexts::collectiveOf(model::ProgramId program) const {
  if (!catalog_.programs.contains(program)) return nullptr;
  const auto found = trace_.collectives.find(catalog_.programs[program].op);
  return found == trace_.collectives.end() ? nullptr : &found->second;
}

/// Axis of the collective that an emulated wait is for, as in section waits: places wait for each other where
/// they add up the gradients of a weight that each of them has. None: it waits for something else.
std::optional<model::MeshAxis> TraceTexts::axisOf(const TimelineItem& item) const {
  const model::Wait& row = wait(item);
  if (row.cause != model::WaitCause::collective || catalog_.measured()) return std::nullopt;
  const std::vector<std::int32_t>& held = at(trace_.devices, item.device).stages;
  const std::optional<analysis::AwaitedPlacement> awaited = awaitedBy(item);
  const model::Run* run = catalog_.runs.find(row.run);
  return analysis::WaitAxes(catalog_, run == nullptr ? model::ExecutableId() : run->executable)
      .of(row, awaited ? &*awaited : nullptr,
          [&](int stage) { return std::ranges::find(held, stage) != held.end(); });
}

std::optional<analysis::AwaitedPlacement> TraceTexts::awaitedBy(const TimelineItem& item) const {
  const std::optional<analysis::PlacementPlace> late = trace_.find(wait(item).waitedFor);
  if (!late) return std::nullopt;
  const analysis::TracePlacement& placement = trace_.at(*late);
  const analysis::TraceSegment* segment = trace_.segmentOf(placement);
  return analysis::AwaitedPlacement{wait(item).waitedForDevice, placement.stage, placement.pass,
                                    segment == nullptr ? model::SegmentId() : segment->id};
}

/// True if others made collectives in a pass of the device longer.
bool TraceTexts::waitsForSharedLinks(const TimelineItem& item) const {
  const std::optional<analysis::AwaitedPlacement> awaited = awaitedBy(item);
  return awaited && !catalog_.measured() && analysis::waitsForSharedLinks(wait(item), *awaited);
}

/// Adds the line of the program that started a recorded step, where the trace has its functions.
void TraceTexts::addSource(Facts& facts, model::LaneId lane, base::Ticks start) const {
  if (!catalog_.measured()) return;
  const auto line = analysis::sourceLineOf(trace_, catalog_, lane, start);
  if (!line) return;
  facts.push_back({tr("Source"),
                   tr("%1, line %2, in %3").arg(text(line->file)).arg(line->line).arg(text(line->function)),
                   tr("the function of the recorded program that runs when the work is launched")});
}

/// Adds how a step is spread over the units of its device.
void TraceTexts::addUnits(Facts& facts, const model::Step& step, const analysis::DeviceTrace& on) const {
  const model::Step* row = &step;
  const QString units = unitsOf(on);
  if (row->activeUnits > 0)
    facts.push_back(
        {tr("Active %1").arg(units),
         tr("%1 of %2")
             .arg(text(geometry::groupedNumber(row->activeUnits)), text(geometry::groupedNumber(on.units))),
         tr("%1 that have work").arg(units)});
  if (row->kind == model::StepKind::compute) {
    const auto ticks = [&](double value) {
      const base::Ticks axis(std::llround(value * on.axisTicksPerTick));
      return scale_.unit == geometry::TimeUnit::cycles ? text(geometry::groupedNumber(axis.count))
                                                       : time(axis);
    };
    const bool known = row->activeUnits > 0;
    facts.push_back({known ? tr("Min · mean · max, active %1").arg(units) : tr("Min · mean · max"),
                     tr("%1 · %2 · %3")
                         .arg(ticks(static_cast<double>(row->minTicks.count)),
                              ticks(analysis::meanOfActive(*row, on.units)),
                              ticks(static_cast<double>(row->maxTicks.count))),
                     tr("all three over the %1 that have work in the step").arg(units)});
    if (row->maxTicks.count > 0)
      facts.push_back({tr("Balance"), percent(row->meanTicks / static_cast<double>(row->maxTicks.count)),
                       tr("mean over all %1, idle ones as 0 ÷ slowest").arg(units)});
  }
}

void TraceTexts::addWait(Facts& facts, const TimelineItem& item) const {
  const model::Wait& row = wait(item);
  facts.push_back({tr("Device"), device(item.device), {}});
  facts.push_back({tr("Cause"), text(model::toString(row.cause)), causeSentence(row.cause)});
  if (const std::optional<model::MeshAxis> axis = axisOf(item))
    facts.push_back({tr("Axis"), text(model::toString(*axis)), tr("of the mesh, along which chips wait")});
  facts.push_back({tr("Waits for"), waitedFor(item), tr("the wait ends when this has finished")});
  addWhen(facts, item);
  if (row.iteration >= 0)
    facts.push_back({tr("Iteration"), QString::number(row.iteration), tr("number in the call, from 0")});
  facts.push_back({tr("Call"), QString::number(catalog_.callNumber(row.run)),
                   tr("number of the call from the host, from 1")});
  if (row.slot >= 0) facts.push_back({tr("Pipeline cycle"), QString::number(row.slot), {}});
}

void TraceTexts::addTransfer(Facts& facts, const TimelineItem& item) const {
  const model::Transfer& row = at(trace_.transfers, item.index);
  facts.push_back({tr("Kind"), text(model::toString(row.kind)), {}});
  facts.push_back({tr("From"), peer(row.fromLane), {}});
  facts.push_back({tr("To"), peer(row.toLane), {}});
  facts.push_back({tr("Bytes"), bytesText(row.bytes), {}});
  addWhen(facts, item);
  const double seconds = base::toSeconds(item.end - item.start, trace_.timebase());
  if (seconds > 0 && scale_.unit != geometry::TimeUnit::costUnits) {
    facts.push_back({tr("Rate"),
                     tr("%1 GB/s").arg(static_cast<double>(row.bytes.count) / seconds / 1e9, 0, 'f', 2),
                     tr("bytes ÷ length")});
  }
  if (catalog_.links.contains(row.link))
    facts.push_back({tr("Link"), text(catalog_.links[row.link].name), {}});
  if (row.microBatch >= 0) facts.push_back({tr("Micro-batch"), QString::number(row.microBatch), {}});
  if (row.iteration >= 0) facts.push_back({tr("Iteration"), QString::number(row.iteration), {}});
  facts.push_back({tr("Call"), QString::number(catalog_.callNumber(row.run)), {}});
}

}  // namespace pipescope::pages
