#include "views/pages/parts/charts/lifetimes_view.h"

#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>
#include <set>

#include "views/pages/parts/data/memory_data.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/tables/row_menu.h"
#include "views/timeline/item_chart.h"
#include "views/timeline/legend.h"

namespace pipescope::pages {
namespace {

QString describeLife(const LifeRows& lives, int row) {
  const geometry::LifeRow& life = lives.rows[static_cast<std::size_t>(row)];
  QStringList spans;
  for (const auto& [from, to] : life.spans)
    spans << (from + 1 == to ? groupedCount(from)
                             : QObject::tr("%1–%2").arg(groupedCount(from), groupedCount(to - 1)));
  return QObject::tr("%1 · %2 · %3 · live in steps %4")
      .arg(text(life.name), text(life.note), memoryWords(lives.categories[static_cast<std::size_t>(row)]),
           spans.join(QStringLiteral(", ")));
}

}  // namespace

LifetimesView::LifetimesView(shell::PageContext& context, shell::Page& page, QWidget* parent)
    : QWidget(parent), context_(context), page_(page), note_(new QLabel(this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(6);
  shell::Palette::makeQuiet(*note_);
  legend_ = new timeline::Legend(context.palette, this);
  auto* scroll = new QScrollArea(this);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  chart_ = new timeline::ItemChart(context.palette, scroll);
  chart_->setAccessibleName(tr("Lifetimes of variables"));
  scroll->setWidget(chart_);
  scroll->viewport()->setAutoFillBackground(false);  // the panel shows through
  chart_->setAutoFillBackground(false);
  column->addWidget(note_);
  column->addWidget(scroll, 1);
  column->addWidget(legend_);
  connect(chart_, &timeline::ItemChart::clicked, this, [this](int row) {
    chart_->setMarked(row);
    context_.selection.set(subjectOf(row));
  });
  offerSubjects(*chart_, [this](int row) { return subjectOf(row); });
}

shell::Selected LifetimesView::subjectOf(int row) const {
  shell::Selected subject;
  if (row < 0 || row >= static_cast<int>(lives_.rows.size())) return subject;
  subject.kind = shell::Selected::Kind::variable;
  subject.device = data_->shown.device;
  subject.name = text(lives_.rows[static_cast<std::size_t>(row)].name);
  return subject;
}

void LifetimesView::showLives(std::shared_ptr<const LivenessData> content, int first, int last) {
  data_ = std::move(content);
  first_ = first;
  last_ = last;
  if (!data_ || data_->spaces.empty() || !chart_->isVisible()) return;
  readFor_ == data_ ? draw() : read();
}

void LifetimesView::read() {
  const shell::ProfileSnapshot* snapshot = context_.session.snapshot();
  if (snapshot == nullptr) return;
  readFor_ = data_;
  if (progress_) progress_->cancel();
  progress_ = std::make_shared<shell::SharedProgress>();
  page_.readInBackground(
      this,
      [held = *snapshot, executable = context_.session.executable(), space = data_->shown,
       progress = progress_] {
        return lifeRows({*held.source, *held.catalog, executable}, space, *progress);
      },
      [this, progress = progress_](base::Result<LifeRows>&& made) {
        if (progress != progress_) return;
        lives_ = made.ok() ? *std::move(made) : LifeRows();
        note_->setText(made.ok() ? note() : text(made.error().message));
        draw();
      });
}

QString LifetimesView::note() const {
  const auto shown = static_cast<std::int64_t>(lives_.rows.size());
  return shown < lives_.all
             ? tr("The %1 largest of %2 variables that are not always live, by program step")
                   .arg(groupedCount(shown), groupedCount(lives_.all))
             : tr("All %1 variables that are not always live, by program step").arg(groupedCount(shown));
}

void LifetimesView::draw() {
  const std::int64_t steps = static_cast<std::int64_t>(data_->liveness.steps.size());
  const auto rows = std::make_shared<const LifeRows>(lives_);
  const int marked = chart_->marked();
  chart_->setFigure(
      [rows, steps, first = first_, last = last_](QSize size) {
        return geometry::LifeChart(rows->rows, steps, first, last, size.width());
      },
      [rows](int row) { return describeLife(*rows, row); }, timeline::ItemChart::numbered(rows->rows.size()));
  chart_->setFixedHeight(geometry::LifeChart::heightOf(rows->rows.size()));
  chart_->setMarked(marked < static_cast<int>(rows->rows.size()) ? marked : -1);
  std::vector<timeline::LegendEntry> entries;
  std::set<std::string> known;
  for (std::size_t i = 0; i < rows->rows.size(); ++i) {
    if (known.insert(rows->categories[i]).second)
      entries.push_back({memoryWords(rows->categories[i]), rows->rows[i].role, false});
  }
  legend_->setEntries(std::move(entries));
}

}  // namespace pipescope::pages
