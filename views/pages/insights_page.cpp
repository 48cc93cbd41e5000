// Shows what costs time or memory, what to change, and what that would gain, most important first.
#include <QAbstractButton>
#include <QLabel>
#include <QVBoxLayout>

#include "profiler/analysis/insights/insight.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/setting_words.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/columns_area.h"
#include "views/pages/parts/layout/insight_cards.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/shell/page.h"

namespace pipescope::pages {
namespace {

constexpr int kInsightRows = 12;

struct InsightsData {
  sections::Section section;
  std::vector<ShownInsight> insights;
};

}  // namespace

class InsightsPage : public shell::Page {
 public:
  explicit InsightsPage(shell::PageContext& context) : Page(context) {
    auto* area = new ColumnsArea(this);
    inShort_ = new QLabel(this);
    inShort_->setWordWrap(true);
    area->top()->addWidget(inShort_);
    cards_ = new InsightCards(context.palette, this);
    area->top()->addWidget(cards_);
    connect(cards_, &InsightCards::wanted, this, &InsightsPage::go);
    connect(cards_, &InsightCards::runWanted, this,
            [&context](const QStringList& changes) { context.runAgain(changes); });
    auto* panel = new Panel(context.palette, {}, this);
    table_ = new DataTable(context.palette, panel);
    table_->setRowsShown(kInsightRows);
    table_->setFilterVisible(true);
    panel->body()->addWidget(table_);
    area->bottom()->addWidget(panel);
    setContent(area);
    setKeyWidget(area);
    connect(table_, &DataTable::rowActivated, this, [this](int row) {
      if (data_ && row < static_cast<int>(data_->insights.size()))
        go(data_->insights[static_cast<std::size_t>(row)].place);
    });
  }

 protected:
  Load load() override {
    return [this](const Job& job) -> base::Result<Apply> {
      if (job.catalog.executables.empty())
        return base::badInput("The profile has no executable: its run ended before anything was compiled.");
      auto content = std::make_shared<InsightsData>();
      PIPESCOPE_ASSIGN(content->section,
                       sectionNamed("insights", {job.source, job.catalog, job.executable, -1, job.reports}));
      content->insights = insightsOf(content->section, job.catalog);
      return Apply([this, content] { apply(content); });
    };
  }

 private:
  void apply(std::shared_ptr<const InsightsData> content) {
    data_ = std::move(content);
    if (data_->insights.empty())
      return showInstead(!data_->section.lacks.empty() ? text(data_->section.lacks)
                                                       : tr("None of the %1 rules found anything to change.")
                                                             .arg(analysis::insightRegistry().all().size()));
    applyInShort();
    cards_->setInsights(data_->insights);
    orderKeys();
    table_->setTable(inWords(*tableNamed(data_->section, "insights")), data_->section.ticksPerShownUnit);
  }

  /// The table of the section with words where it has names of rules, keys and pages, and indices of devices.
  sections::SectionTable inWords(sections::SectionTable table) const {
    const std::size_t rule = columnNamed(table, "rule"), changes = columnNamed(table, "changes"),
                      page = columnNamed(table, "page"), device = columnNamed(table, "device");
    for (std::size_t i = 0; i < table.rows.size() && i < data_->insights.size(); ++i) {
      std::vector<sections::Cell>& row = table.rows[i];
      row[rule] = wordsIn(row[rule]).replace(QLatin1Char('_'), QLatin1Char(' ')).toStdString();
      if (const QString changed = wordsIn(row[changes]); !changed.isEmpty())
        row[changes] = changesInWords(changed).toStdString();
      if (!data_->insights[i].place.lane.isEmpty()) row[device] = data_->insights[i].place.lane.toStdString();
      row[page] = data_->insights[i].seenIn.section(QLatin1Char(','), 0, 0).toStdString();
    }
    return table;
  }

  void applyInShort() {
    const sections::Fact* gain = factNamed(data_->section, "largest_gain_fraction");
    QStringList sentences;
    const int count = static_cast<int>(data_->insights.size()),
              rules = static_cast<int>(analysis::insightRegistry().all().size());
    sentences << (count == 1 ? tr("One of the %1 rules found something.").arg(rules)
                             : tr("%1 findings, most important first; %2 rules were checked.")
                                   .arg(QString::number(count), QString::number(rules)));
    const QString most =
        largestGainInWords(gain->value, wordsIn(factNamed(data_->section, "largest_gain_changes")->value));
    if (!most.isEmpty()) sentences << most;
    sentences << tr(
        "A gain is the rate with the change ÷ the recorded rate − 1, as a replay of the recorded "
        "call predicts it.");
    inShort_->setText(sentences.join(QLatin1Char(' ')));
  }

  void go(const shell::Place& place) {
    shell::Selected selected;
    if (place.stage >= 0) {
      selected.kind = shell::Selected::Kind::stage;
      selected.stage = place.stage;
    } else if (place.device.valid()) {
      selected.kind = shell::Selected::Kind::device;
    }
    selected.device = place.device;
    if (selected.kind != shell::Selected::Kind::none) context_.selection.set(selected);
    context_.go(place);
  }

  /// The cards are made after everything else, and the Tab key would come to them last.
  void orderKeys() {
    QWidget* last = this;
    for (auto* button : cards_->findChildren<QAbstractButton*>()) {
      setTabOrder(last, button);
      last = button;
    }
  }

  std::shared_ptr<const InsightsData> data_;
  QLabel* inShort_ = nullptr;
  InsightCards* cards_ = nullptr;
  DataTable* table_ = nullptr;
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(insights) {
  registry.add({QStringLiteral("insights"), QObject::tr("Insights"), QStringLiteral("insights"),
                QObject::tr("What costs time or memory, what to change, and what that would gain"),
                PageGroup::result, 20,
                [](PageContext& context) -> Page* { return new pages::InsightsPage(context); }});
}

}  // namespace pipescope::shell
