#include "views/pages/parts/charts/operation_charts.h"

#include <QVBoxLayout>
#include <algorithm>

#include "profiler/geometry/charts/roofline.h"
#include "profiler/geometry/charts/treemap.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/text.h"

namespace pipescope::pages {
namespace {

using geometry::ColourRole;
using sections::Format;
using timeline::ItemChart;

constexpr std::size_t kUsualBars = 12, kMostTiles = 1500, kMostRooflinePoints = 1500;

/// The columns of the table that the bars add up.
struct PassColumn {
  const char *key, *name;
  ColourRole role;
};
constexpr PassColumn kPassColumns[] = {
    {"forward_cycles", "forward", ColourRole::forward},
    {"recompute_cycles", "recompute", ColourRole::recompute},
    {"backward_cycles", "backward", ColourRole::backward},
    {"weight_gradient_cycles", "weight gradient", ColourRole::weightGradient},
    {"update_cycles", "update", ColourRole::update},
    {"collective_cycles", "collective", ColourRole::collectivePass},
    {"copy_cycles", "copies", ColourRole::hostIn}};

QRect boxRect(const geometry::Box& box) {
  return {box.x, box.y, box.width, box.height};
}

/// "62.7 TFLOP/s".
QString flopRate(const sections::Cell& rate) {
  const QString amount = text(formatCell(rate, Format::amount));
  return amount + (amount.contains(QLatin1Char(' ')) ? QStringLiteral("FLOP/s") : QStringLiteral(" FLOP/s"));
}

/// Layers of one stage have one colour, so that a treemap shows which stage the time is in. Types have no
/// stage.
ColourRole colourOfRow(const sections::Cell& stage, int row) {
  const auto* index = std::get_if<std::int64_t>(&stage);
  return geometry::seriesRole(index != nullptr && *index >= 0 ? static_cast<int>(*index) : row);
}

}  // namespace

OperationCharts::OperationCharts(const shell::Palette& palette, QWidget* parent)
    : QWidget(parent),
      stack_(new OneOf(this)),
      bars_(new PartsChart(palette, tr("Time by pass"), this)),
      treemapPanel_(new Panel(palette, tr("Share of the time"), this)),
      rooflinePanel_(new Panel(palette, tr("Roofline"), this)),
      treemap_(new ItemChart(palette, treemapPanel_)),
      roofline_(new ItemChart(palette, rooflinePanel_)),
      rooflineLegend_(new timeline::Legend(palette, rooflinePanel_)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(stack_);
  treemap_->setAccessibleName(tr("Treemap"));
  roofline_->setAccessibleName(tr("Roofline"));
  treemapPanel_->body()->addWidget(treemap_, 1);
  rooflinePanel_->body()->addWidget(roofline_, 1);
  rooflinePanel_->body()->addWidget(rooflineLegend_);
  for (QWidget* page : {static_cast<QWidget*>(bars_), static_cast<QWidget*>(treemapPanel_),
                        static_cast<QWidget*>(rooflinePanel_)})
    stack_->add(page);
  connect(bars_->bars(), &timeline::BarChart::clicked, this, [this](int bar) {
    if (bar < static_cast<int>(longest_.size())) Q_EMIT clicked(longest_[static_cast<std::size_t>(bar)]);
  });
  connect(bars_->bars(), &timeline::BarChart::doubleClicked, this, [this](int bar) {
    if (bar < static_cast<int>(longest_.size()))
      Q_EMIT doubleClicked(longest_[static_cast<std::size_t>(bar)]);
  });
  connect(bars_->bars(), &timeline::BarChart::menuWanted, this, [this](int bar, const QPoint& at) {
    if (bar < static_cast<int>(longest_.size()))
      Q_EMIT menuWanted(longest_[static_cast<std::size_t>(bar)], at);
  });
  for (const ItemChart* chart : {treemap_, roofline_}) {
    connect(chart, &ItemChart::clicked, this, &OperationCharts::clicked);
    connect(chart, &ItemChart::doubleClicked, this, &OperationCharts::doubleClicked);
    connect(chart, &ItemChart::menuWanted, this, &OperationCharts::menuWanted);
  }
}

QWidget* OperationCharts::current() const {
  return stack_->current();
}

void OperationCharts::setKind(Kind kind) {
  stack_->showOnly(static_cast<int>(kind));
}

QString OperationCharts::time(double ticks) const {
  return text(timeText(ticks, time_, sections::TimeStyle::chart));
}

void OperationCharts::setTable(const sections::SectionTable& table, const sections::SectionTable& ceilings,
                               const sections::ShownTime& time) {
  time_ = time;
  rows_ = &table;
  const std::size_t all = columnNamed(table, "cycles");
  longest_.clear();
  const auto timeOf = [&](int row) { return numberIn(table.rows[static_cast<std::size_t>(row)][all]); };
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (timeOf(static_cast<int>(i)) > 0) longest_.push_back(static_cast<int>(i));
  }
  std::ranges::stable_sort(longest_, [&](int a, int b) { return timeOf(a) > timeOf(b); });
  applyBars(table);
  applyTreemap(table);
  applyRoofline(table, ceilings);
}

/// Returns the most bars that fit. A tall screen has room for more.
std::size_t OperationCharts::mostBars() const {
  constexpr int kUsualHeight = 900, kHeightForOneMore = 60;
  return kUsualBars +
         static_cast<std::size_t>(std::max(0, window()->height() - kUsualHeight) / kHeightForOneMore);
}

void OperationCharts::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  if (rows_ != nullptr && bars_->bars()->bars().size() != std::min(mostBars(), longest_.size()))
    applyBars(*rows_);
}

void OperationCharts::applyBars(const sections::SectionTable& table) {
  const std::size_t share = columnNamed(table, "share"), shown = std::min(mostBars(), longest_.size());
  std::vector<std::vector<NamedPart>> bars;
  QStringList names, notes;
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& row = table.rows[static_cast<std::size_t>(longest_[i])];
    std::vector<NamedPart>& parts = bars.emplace_back();
    for (const PassColumn& pass : kPassColumns)
      parts.push_back({tr(pass.name), pass.role, numberIn(row[columnNamed(table, pass.key)])});
    names << wordsIn(row[0]);
    notes << text(formatCell(row[share], Format::fraction));
  }
  bars_->setParts(
      bars, [this](double ticks) { return time(ticks); }, names, notes);
  const QString basis =
      tr("%1 in an iteration, one replica; on the right, the share of all").arg(chartUnit(time_));
  bars_->setTitle(tr("Time by pass"), table.rows.size() > shown
                                          ? tr("%1; the %2 longest of %3")
                                                .arg(basis)
                                                .arg(shown)
                                                .arg(groupedCount(static_cast<int>(table.rows.size())))
                                          : basis);
}

void OperationCharts::applyTreemap(const sections::SectionTable& table) {
  const std::size_t all = columnNamed(table, "cycles"), share = columnNamed(table, "share"),
                    stage = columnNamed(table, "stage"), shown = std::min(kMostTiles, longest_.size());
  std::vector<geometry::TreemapItem> items(table.rows.size());
  std::vector<int> order(longest_.begin(), longest_.begin() + static_cast<std::ptrdiff_t>(shown));
  for (const int row : order) {
    const auto& cells = table.rows[static_cast<std::size_t>(row)];
    items[static_cast<std::size_t>(row)] = {numberIn(cells[all]), colourOfRow(cells[stage], row),
                                            wordsIn(cells[0]).toStdString()};
  }
  const auto describe = [this, all, share](int row) {
    const auto& cells = rows_->rows[static_cast<std::size_t>(row)];
    return tr("%1\n%2, %3 of all")
        .arg(wordsIn(cells[0]), text(timeText(numberIn(cells[all]), time_, sections::TimeStyle::exact)),
             text(formatCell(cells[share], Format::fraction)));
  };
  // The layout changes with the size only.
  struct Kept {
    QSize size;
    geometry::Treemap map;
  };
  auto kept = std::make_shared<Kept>();
  const auto mapAt = [kept, items = std::move(items)](QSize size) -> const geometry::Treemap& {
    if (kept->size != size) *kept = {size, geometry::Treemap(items, size.width(), size.height())};
    return kept->map;
  };
  treemap_->setFigure(mapAt, describe, std::move(order));
  treemapPanel_->setTitle(tr("Share of the time"), tr("areas are times; a colour stands for a stage"));
}

void OperationCharts::applyRoofline(const sections::SectionTable& table,
                                    const sections::SectionTable& ceilings) {
  const std::size_t intensity = columnNamed(table, "flop_per_byte"),
                    rate = columnNamed(table, "flops_per_second"), share = columnNamed(table, "share"),
                    stage = columnNamed(table, "stage"), peak = columnNamed(table, "peak_share");
  std::vector<geometry::RooflinePoint> points(table.rows.size());
  std::vector<int> order;
  // Rows that take little time would hide the others.
  for (const int row : longest_) {
    if (order.size() >= kMostRooflinePoints) break;
    const auto i = static_cast<std::size_t>(row);
    const auto& cells = table.rows[i];
    const geometry::RooflinePoint point{numberIn(cells[intensity]), numberIn(cells[rate]),
                                        numberIn(cells[share]), colourOfRow(cells[stage], row)};
    if (!(point.flopPerByte > 0) || !(point.flopsPerSecond > 0)) continue;
    points[i] = point;
    order.push_back(row);
  }
  const auto describe = [this, intensity, rate, peak](int row) {
    const auto& cells = rows_->rows[static_cast<std::size_t>(row)];
    return tr("%1\n%2 FLOP per byte, %3, %4 of the peak")
        .arg(wordsIn(cells[0]), text(formatCell(cells[intensity], Format::ratio)), flopRate(cells[rate]),
             text(formatCell(cells[peak], Format::fraction)));
  };
  std::vector<geometry::RooflineCeiling> lines;
  std::vector<timeline::LegendEntry> entries;
  for (std::size_t i = 0; i < ceilings.rows.size(); ++i) {
    const auto& cells = ceilings.rows[i];
    const auto& flops = cells[columnNamed(ceilings, "flops_per_second")];
    const auto& bytes = cells[columnNamed(ceilings, "bytes_per_second")];
    const bool compute = !std::holds_alternative<std::monostate>(flops);
    const QString name = wordsIn(cells[columnNamed(ceilings, "name")]);
    lines.push_back({name.toStdString(), numberIn(compute ? flops : bytes), compute});
    entries.push_back(
        {tr("%1: %2").arg(name, compute ? flopRate(flops) : text(formatCell(bytes, Format::byteRate))),
         geometry::seriesRole(static_cast<int>(i))});
  }
  rooflineLegend_->setEntries(std::move(entries));
  const bool any = !order.empty();
  const auto chartAt = [points = std::move(points), lines = std::move(lines)](QSize size) {
    return geometry::Roofline(points, lines, size.width(), size.height());
  };
  roofline_->setSource(
      {[chartAt](QSize size, const auto& measure, int marked) { return chartAt(size).draw(measure, marked); },
       [chartAt](QSize size, QPoint at) { return chartAt(size).hit(at.x(), at.y()); },
       [chartAt](QSize size, int item) { return boxRect(chartAt(size).boxOf(item)); }, describe,
       std::move(order)});
  rooflinePanel_->setTitle(
      tr("Roofline"),
      any ? tr("a point for each row; large points take long. Lines are what one device can do")
          : tr("these rows have no FLOP and time of their own"));
}

void OperationCharts::mark(int row) {
  int bar = -1;
  for (std::size_t i = 0; i < std::min(mostBars(), longest_.size()); ++i)
    bar = longest_[i] == row ? static_cast<int>(i) : bar;
  bars_->bars()->setMarked(bar);
  treemap_->setMarked(row);
  roofline_->setMarked(row);
}

}  // namespace pipescope::pages
