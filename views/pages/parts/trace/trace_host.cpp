#include "views/pages/parts/trace/trace_host.h"

#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>
#include <vector>

#include "views/pages/parts/layout/host_details.h"
#include "views/shell/background.h"
#include "views/timeline/host_canvas.h"

namespace pipescope::pages {

using analysis::HostTimeline;

TraceHost::TraceHost(shell::Page& page, shell::PageContext& context, QWidget* parent)
    : QWidget(parent), page_(page), context_(context), note_(new QLabel(this)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(2);
  note_->setContentsMargins(12, 0, 12, 2);
  note_->setText(
      tr("Wall time of the host, for the visible part of the trace: each call begins and ends where "
         "it does on the devices."));
  note_->setWordWrap(true);
  shell::Palette::makeQuiet(*note_);
  layout->addWidget(note_);
  connect(&context.timeRange, &shell::TimeRange::changed, this, [this] {
    if (isVisible()) followRange();
  });
}

void TraceHost::follow() {
  const shell::ProfileSnapshot* snapshot = context_.session.snapshot();
  if (snapshot == nullptr) return;
  page_.readInBackground(
      this,
      [held = *snapshot] {
        const auto blocks = held.source->blocks<model::HostSpan>();
        return blocks.ok() &&
               std::ranges::any_of(*blocks, [](const model::BlockInfo& block) { return block.rows > 0; });
      },
      [this](bool any) {
        Q_EMIT possible(any);
        if (any && isVisible()) read();
      });
}

void TraceHost::makeCanvas() {
  canvas_ = new timeline::HostCanvas(context_.palette, this);
  canvas_->setDescriber([this](const geometry::HostHit& hit) { return hostCallout(*timeline_, hit); });
  static_cast<QVBoxLayout*>(layout())->insertWidget(0, canvas_, 1);
}

void TraceHost::read() {
  const shell::ProfileSnapshot* snapshot = context_.session.snapshot();
  if (snapshot == nullptr || read_ == snapshot->catalog) return;
  if (canvas_ == nullptr) makeCanvas();
  read_ = snapshot->catalog;
  struct Read {
    std::shared_ptr<const HostTimeline> timeline;
    analysis::HostAlignment alignment{{}, 0};
  };
  page_.readInBackground(
      this,
      [held = *snapshot]() -> base::Result<Read> {
        base::SilentProgress progress;
        PIPESCOPE_ASSIGN(auto timeline, analysis::hostTimeline(*held.source, progress));
        const std::int64_t zero = timeline->zero;
        const auto& runs = held.catalog->runs;
        return Read{std::move(timeline),
                    analysis::HostAlignment(std::vector<model::Run>(runs.begin(), runs.end()), zero)};
      },
      [this, catalog = read_](base::Result<Read>&& made) {
        if (catalog != read_) return;
        if (!made.ok()) return note_->setText(QString::fromStdString(made.error().message));
        timeline_ = made->timeline;
        alignment_ = std::move(made->alignment);
        canvas_->setTimeline(timeline_, false);
        followRange();
      });
}

/// Shows the wall time of what the trace shows.
void TraceHost::followRange() {
  if (!timeline_ || alignment_.empty()) return;
  const geometry::TimeView& trace = context_.timeRange.view();
  const base::Ticks start = alignment_.onHost(trace.start()),
                    end = std::max(alignment_.onHost(trace.end() - base::Ticks(1)), start + base::Ticks(1));
  canvas_->show(geometry::TimeView(start, end, std::max(1, canvas_->view().width())));
}

void TraceHost::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  read();
  followRange();
}

void TraceHost::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  followRange();
}

}  // namespace pipescope::pages
