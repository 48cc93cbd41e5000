#include "views/pages/parts/charts/parts_chart.h"

#include <QVBoxLayout>
#include <algorithm>

#include "profiler/sections/frame/section.h"
#include "views/pages/parts/data/text.h"

namespace pipescope::pages {

PartsChart::PartsChart(const shell::Palette& palette, const QString& title, QWidget* parent)
    : Panel(palette, title, parent),
      bars_(new timeline::BarChart(palette, this)),
      legend_(new timeline::Legend(palette, this)) {
  bars_->setAccessibleName(title);
  body()->addWidget(bars_);
  body()->addWidget(legend_);
}

void PartsChart::setParts(const std::vector<std::vector<NamedPart>>& bars,
                          const std::function<QString(double)>& show, const QStringList& names,
                          const QStringList& notes) {
  std::vector<geometry::Bar> made;
  std::vector<timeline::LegendEntry> entries;
  std::vector<std::vector<QString>> tips;
  for (const auto& parts : bars) {
    geometry::Bar& bar = made.emplace_back();
    auto& tip = tips.emplace_back();
    double whole = 0;
    for (const NamedPart& part : parts) whole += std::max(0.0, part.value);
    for (const NamedPart& part : parts) {
      if (!(part.value > 0)) continue;
      bar.parts.push_back({part.role, part.value, show(part.value).toStdString(), part.hatched});
      const QString value = show(part.value),
                    share = text(formatCell(part.value / whole, sections::Format::fraction));
      tip.push_back(value == share ? QStringLiteral("%1: %2").arg(part.name, value)
                                   : QStringLiteral("%1: %2 (%3)").arg(part.name, value, share));
      const bool known = std::any_of(entries.begin(), entries.end(),
                                     [&](const auto& entry) { return entry.text == part.name; });
      if (!known) entries.push_back({part.name, part.role, part.hatched});
    }
  }
  bars_->setBars(std::move(made), names, notes);
  bars_->setDescriber([tips = std::move(tips)](const geometry::BarHit& hit) {
    return tips[static_cast<std::size_t>(hit.bar)][static_cast<std::size_t>(hit.part)];
  });
  legend_->setEntries(std::move(entries));
}

}  // namespace pipescope::pages
