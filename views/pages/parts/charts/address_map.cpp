#include "views/pages/parts/charts/address_map.h"

#include <QVBoxLayout>
#include <map>

#include "views/pages/parts/charts/parts_chart.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/tables/data_table.h"

namespace pipescope::pages {

AddressMap::AddressMap(const shell::Palette& palette, QWidget* parent)
    : QWidget(parent), bar_(new PartsChart(palette, {}, this)), table_(new DataTable(palette, this)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(6);
  layout->addWidget(bar_);
  layout->addWidget(table_, 1);
  bar_->bars()->setAccessibleName(tr("Addresses"));
  bar_->setVisible(false);
  table_->setComparable(false);  // two maps of addresses have no common rows
}

void AddressMap::setTable(sections::SectionTable table) {
  constexpr std::size_t kBytes = 2, kCategory = 4;
  std::map<std::string, geometry::ColourRole> roles = {{"gap", geometry::ColourRole::gaps}};
  std::vector<NamedPart> parts;
  for (const std::vector<sections::Cell>& row : table.rows) {
    const auto& category = std::get<std::string>(row[kCategory]);
    const auto [role, isNew] =
        roles.try_emplace(category, geometry::seriesRole(static_cast<int>(roles.size()) - 1));
    parts.push_back({text(category), role->second, static_cast<double>(std::get<std::int64_t>(row[kBytes]))});
  }
  bar_->setVisible(!parts.empty());
  bar_->setParts({parts}, [](double bytes) {
    return text(sections::formatCell(sections::Cell(bytes), sections::Format::bytes));
  });
  table_->setTable(std::move(table));
}

}  // namespace pipescope::pages
