#include "views/pages/parts/tables/tile_table.h"

#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>

#include "profiler/geometry/element.h"
#include "views/pages/parts/tables/data_table.h"

namespace pipescope::pages {
namespace {

using sections::Format;

/// Most rows that are listed, the slowest first.
constexpr std::size_t kMostRows = 2000;

QString missing() {
  return QObject::tr(
      "Tiles were not recorded one by one in this profile. Run again with --record tiles (or "
      "execution.record = \"tiles\") to see compute, exchange and sync of every tile.");
}

}  // namespace

TileTable::TileTable(const shell::Palette& palette, QWidget* parent)
    : QWidget(parent), sentence_(new QLabel(this)), table_(new DataTable(palette, this)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(14, 8, 14, 8);
  layout->setSpacing(6);
  table_->setComparable(false);  // it shows the selected step
  sentence_->setWordWrap(true);
  sentence_->setTextFormat(Qt::PlainText);
  sentence_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  sentence_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  sentence_->setObjectName(QStringLiteral("tiles_sentence"));
  layout->addWidget(sentence_);
  layout->addWidget(table_, 1);
  layout->addStretch();
  clear(false);
}

void TileTable::clear(bool recorded) {
  table_->setVisible(false);
  const QString select = tr("Select a step to see its fastest, mean and slowest tile.");
  sentence_->setText(recorded ? select : missing() + QStringLiteral("\n\n") + select);
}

void TileTable::show(const TraceTexts& texts, const geometry::TimelineScene& scene,
                     const geometry::TimelineItem& step) {
  const bool recorded = scene.model()->tiles && scene.model()->tiles->recorded;
  QStringList lines = {texts.title(step)};
  for (const ShownFact& fact : texts.facts(step)) {
    if (fact.label.startsWith(tr("Active")) || fact.label.startsWith(tr("Min")) ||
        fact.label == tr("Balance"))
      lines << QStringLiteral("%1: %2").arg(fact.label, fact.value);
  }
  const QString sentence = lines.join(QStringLiteral("  ·  "));
  sentence_->setText(recorded ? sentence : missing() + QStringLiteral("\n\n") + sentence);
  std::vector<analysis::UnitTicks> spans = scene.unitsOf(step);
  table_->setVisible(!spans.empty());
  if (spans.empty()) return;
  std::stable_sort(spans.begin(), spans.end(),
                   [](const auto& a, const auto& b) { return a.ticks > b.ticks; });
  if (spans.size() > kMostRows) spans.resize(kMostRows);
  const analysis::DeviceTrace& device = geometry::at(scene.model()->trace->devices, step.device);
  const double length = static_cast<double>((step.end - step.start).count) / device.axisTicksPerTick;
  const std::string unit = device.unitName.empty() ? "unit" : device.unitName;
  sections::SectionTable table{
      "tiles",
      "Single " + unit + "s",
      "of this step; neighbours with equal times share a row",
      {{"first", "First", Format::plain, "number of the first " + unit},
       {"last", "Last", Format::plain, "number of the last"},
       {"count", "How many", Format::count, ""},
       {"ticks", "Each works", Format::ticks, "ticks of the device"},
       {"share", "Share", Format::fraction, "of the step; the tile waits for the rest"}},
      {}};
  for (const analysis::UnitTicks& span : spans) {
    table.rows.push_back({span.firstUnit, span.firstUnit + span.unitCount - 1, span.unitCount,
                          span.ticks.count,
                          length > 0 ? static_cast<double>(span.ticks.count) / length : 0.0});
  }
  table_->setTable(std::move(table));
}

}  // namespace pipescope::pages
