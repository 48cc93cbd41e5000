#include "views/pages/parts/trace/trace_details.h"

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
#include <cmath>

#include "views/pages/parts/data/text.h"

namespace pipescope::pages {

using geometry::TimelineItem;

TraceDetails::TraceDetails(const shell::Palette& palette, QWidget* parent)
    : QWidget(parent),
      title_(new QLabel(this)),
      sentence_(new QLabel(this)),
      zoom_(new QPushButton(tr("Zoom here (F)"), this)),
      cause_(new QPushButton(tr("Go to what it waits for (Enter)"), this)),
      facts_(new FactGrid(palette, this)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(14, 10, 14, 8);
  layout->setSpacing(6);
  auto* head = new QHBoxLayout;
  head->setSpacing(8);
  title_->setTextFormat(Qt::PlainText);
  QFont bold = font();
  bold.setBold(true);
  title_->setFont(bold);
  head->addWidget(title_, 1);
  head->addWidget(cause_);
  head->addWidget(zoom_);
  layout->addLayout(head);
  sentence_->setTextFormat(Qt::PlainText);
  sentence_->setWordWrap(true);
  layout->addWidget(sentence_);
  layout->addWidget(facts_);
  layout->addStretch();
  connect(zoom_, &QPushButton::clicked, this, &TraceDetails::zoomWanted);
  connect(cause_, &QPushButton::clicked, this, &TraceDetails::causeWanted);
  clear();
}

void TraceDetails::show(const TraceTexts& texts, const TimelineItem& item, bool hasCause) {
  zoom_->setVisible(true);
  cause_->setVisible(hasCause);
  sentence_->setVisible(item.kind == TimelineItem::Kind::wait);
  title_->setText(texts.title(item));
  sentence_->setText(texts.sentence(item));
  facts_->setFacts(texts.facts(item));
}

void TraceDetails::addUses(const analysis::NameUse& use, const geometry::TimeScale& scale) {
  std::vector<ShownFact> facts = facts_->facts();
  const auto time = [&](base::Ticks ticks) { return text(formatDuration(ticks, scale)); };
  facts.push_back({tr("Steps of this name"), text(geometry::groupedNumber(use.count)),
                   tr("in all calls of this executable")});
  facts.push_back({tr("Their sum"), time(use.sum), tr("lengths of all steps of this name")});
  facts.push_back(
      {tr("Shortest · mean · longest"),
       tr("%1 · %2 · %3").arg(time(use.min), time(base::Ticks(std::llround(use.mean()))), time(use.max)),
       tr("of all steps of this name")});
  facts_->setFacts(std::move(facts));
}

void TraceDetails::clear() {
  zoom_->setVisible(false);
  cause_->setVisible(false);
  sentence_->setVisible(false);
  title_->setText(tr("Nothing is selected: click something on the timeline."));
  facts_->setFacts({});
}

shell::Selected selectedOf(const geometry::TimelineScene& scene, const TimelineItem& item) {
  const analysis::Trace& trace = *scene.model()->trace;
  shell::Selected selected;
  if (item.device < 0) return selected;
  const analysis::DeviceTrace& device = trace.devices[static_cast<std::size_t>(item.device)];
  const analysis::TraceTrack& track = device.tracks[static_cast<std::size_t>(item.track)];
  selected.device = device.id;
  selected.start = item.start;
  selected.end = item.end;
  selected.name = text(scene.pathOf(item));
  switch (item.kind) {
    case TimelineItem::Kind::pass:
    case TimelineItem::Kind::group:
    case TimelineItem::Kind::step: {
      const int index = item.kind == TimelineItem::Kind::pass
                            ? track.passes[static_cast<std::size_t>(item.index)].firstPlacement
                            : item.placement;
      const analysis::TracePlacement& placement = track.placements[static_cast<std::size_t>(index)];
      selected.kind = item.kind == TimelineItem::Kind::step ? shell::Selected::Kind::step
                                                            : shell::Selected::Kind::placement;
      selected.placement = placement.id;
      selected.stage = placement.stage;
      selected.microBatch = placement.microBatch;
      selected.step = item.box;
      const analysis::FlameBox* box = scene.flameBox(item);
      const analysis::TraceSegment* segment = trace.segmentOf(placement);
      if (box != nullptr && box->step >= 0 && segment != nullptr)
        selected.program = segment->steps[static_cast<std::size_t>(box->step)].program;
      break;
    }
    case TimelineItem::Kind::wait:
      selected.kind = shell::Selected::Kind::wait;
      selected.stage = track.waits[static_cast<std::size_t>(item.index)].stage;
      break;
    case TimelineItem::Kind::transfer:
      selected.kind = shell::Selected::Kind::transfer;
      selected.transfer = trace.transfers[static_cast<std::size_t>(item.index)].id;
      break;
    case TimelineItem::Kind::far:
    case TimelineItem::Kind::counter:
      selected.kind = shell::Selected::Kind::device;
      break;
    case TimelineItem::Kind::wall:
    case TimelineItem::Kind::none:
      break;
  }
  return selected;
}

}  // namespace pipescope::pages
