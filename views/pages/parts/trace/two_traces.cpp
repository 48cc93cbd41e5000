#include "views/pages/parts/trace/two_traces.h"

#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "views/pages/parts/data/text.h"
#include "views/pages/parts/trace/trace_texts.h"
#include "views/timeline/timeline_canvas.h"

namespace pipescope::pages {
namespace {

using base::Ticks;
using geometry::TimeView;

constexpr int kTwoTracesHeight = 280, kTwoTracesQuietMs = 60;

geometry::TimeScale scaleOfTrace(const analysis::Catalog& catalog) {
  geometry::TimeScale scale;
  if (!catalog.devices.empty())
    scale.ticksPerSecond = std::max<std::int64_t>(1, catalog.devices.front().ticksPerSecond);
  // Both sides show time instead of cycles, because the clocks of their devices may differ.
  scale.unit = catalog.target.tickMeaning == model::TickMeaning::cost ? geometry::TimeUnit::costUnits
                                                                      : geometry::TimeUnit::time;
  return scale;
}

/// The trace of the last call; null if there was none.
base::Result<TimelineModelPointer> lastCallOf(const TwoTraces::Side& side, base::Progress& progress) {
  const model::Run* run = side.profile.catalog->lastRunOf(side.executable);
  if (run == nullptr) return TimelineModelPointer();
  analysis::TraceRequest request;
  request.executable = side.executable;
  request.firstRun = request.lastRun = run->id;
  return loadTimeline(*side.profile.source, *side.profile.catalog, request, progress);
}

}  // namespace

TwoTraces::TwoTraces(shell::Page& page, const shell::Palette& palette, QWidget* parent)
    : Panel(palette, tr("Traces"), parent), page_(page), palette_(palette), quiet_(new QTimer(this)) {
  setTitle(tr("Traces"),
           tr("the last call of each, source above target; both show the same stretch of time, counted from "
              "the beginning of the call"));
  addHalf(0, tr("Trace of the source"));
  addHalf(1, tr("Trace of the target"));
  quiet_->setSingleShot(true);
  quiet_->setInterval(kTwoTracesQuietMs);
  connect(quiet_, &QTimer::timeout, this, [this] {
    for (Half& half : halves_) readNear(half);
  });
  setVisible(false);
}

void TwoTraces::addHalf(std::size_t index, const QString& name) {
  Half& half = halves_[index];
  half.range = new shell::TimeRange(this);
  half.canvas = new timeline::TimelineCanvas(palette_, *half.range, this);
  half.canvas->setAccessibleName(name);
  half.canvas->setFixedHeight(kTwoTracesHeight);
  half.canvas->setDescriber([&half](const geometry::TimelineItem& item) {
    return TraceTexts(half.canvas->scene(), *half.side.profile.catalog, half.scale).callout(item);
  });
  body()->addWidget(half.canvas);
  connect(half.range, &shell::TimeRange::changed, this, [this, index] { follow(index); });
}

void TwoTraces::setSides(const Side& source, const Side& target) {
  const int generation = ++generation_;
  auto progress = std::make_shared<shell::SharedProgress>();
  for (Half& half : halves_) {
    if (half.progress) half.progress->cancel();
    half.progress = progress;
  }
  using Models = std::array<TimelineModelPointer, 2>;
  page_.readInBackground(
      this,
      [source, target, progress]() -> base::Result<Models> {
        Models models;
        PIPESCOPE_ASSIGN(models[0], lastCallOf(source, *progress));
        PIPESCOPE_ASSIGN(models[1], lastCallOf(target, *progress));
        return models;
      },
      [this, source, target, generation](base::Result<Models>&& read) {
        if (generation != generation_) return;
        halves_[0].side = source;
        halves_[1].side = target;
        apply(read.ok() ? *read : Models());
      });
}

/// Shows the length of the longer call in both.
void TwoTraces::apply(std::array<TimelineModelPointer, 2> models) {
  double longest = 0;  // seconds
  setVisible(models[0] != nullptr && models[1] != nullptr);
  for (std::size_t i = 0; i < halves_.size(); ++i) {
    Half& half = halves_[i];
    half.model = std::move(models[i]);
    half.near.reset();
    half.progress.reset();
    following_ = true;
    half.canvas->setModel(half.model);
    following_ = false;
    if (!half.model) continue;
    half.scale = scaleOfTrace(*half.side.profile.catalog);
    half.canvas->setTimeScale(half.scale);
    half.canvas->setAxisOrigin(half.model->trace->start);
    half.request = {};
    half.request.executable = half.side.executable;
    half.request.firstRun = half.request.lastRun =
        half.side.profile.catalog->lastRunOf(half.side.executable)->id;
    longest =
        std::max(longest, static_cast<double>((half.model->trace->end - half.model->trace->start).count) /
                              static_cast<double>(half.scale.ticksPerSecond));
  }
  if (!isVisibleTo(parentWidget())) return;
  for (Half& half : halves_) {
    const Ticks start = half.model->trace->start;
    const auto ticks =
        static_cast<std::int64_t>(std::ceil(longest * static_cast<double>(half.scale.ticksPerSecond)));
    following_ = true;
    half.range->reset(TimeView(start, start + Ticks(std::max<std::int64_t>(1, ticks)),
                               std::max(1, half.range->view().width())));
    following_ = false;
  }
  quiet_->start();
}

/// Moves the other trace to the same stretch of time.
void TwoTraces::follow(std::size_t moved) {
  if (following_) return;
  const Half &from = halves_[moved], &to = halves_[1 - moved];
  if (!from.model || !to.model) return;
  const long double ratio =
      static_cast<long double>(to.scale.ticksPerSecond) / static_cast<long double>(from.scale.ticksPerSecond);
  const auto moment = [&](Ticks time) {
    const auto since = static_cast<long double>((time - from.model->trace->start).count);
    return to.model->trace->start + Ticks(static_cast<std::int64_t>(std::llround(since * ratio)));
  };
  const Ticks start = moment(from.range->start());
  const Ticks end =
      std::max(moment(from.range->end()), start + Ticks(static_cast<std::int64_t>(TimeView::kShortest)));
  following_ = true;
  to.range->show(TimeView(start, end, std::max(1, to.range->view().width())));
  following_ = false;
  quiet_->start();
}

/// Reads three times the visible part in detail if the trace is large.
void TwoTraces::readNear(Half& half) {
  if (!half.model || half.canvas->isNear()) return;
  if (half.progress) half.progress->cancel();
  half.progress = std::make_shared<shell::SharedProgress>();
  analysis::TraceRequest request = half.request;
  const Ticks from = half.range->start(), to = half.range->end();
  request.large = half.near ? half.near->trace : half.model->trace;
  request.from = from - (to - from);
  request.to = to + (to - from);
  page_.readInBackground(
      this,
      [held = half.side.profile, request, progress = half.progress, counters = half.model->counters] {
        return loadTimelineWindow(*held.source, *held.catalog, request, counters, *progress);
      },
      [&half, progress = half.progress, base = half.model](auto&& read) {
        if (progress != half.progress || base != half.model) return;
        half.progress.reset();
        if (!read.ok()) return;
        half.near = *read;
        half.canvas->setNear(half.near);
      });
}

}  // namespace pipescope::pages
