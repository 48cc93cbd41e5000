// Compares the window's profile, the target, with another one, the source: cards with signed changes, options
// that differ, how one step time becomes the other, memory and pipelines over each other, and all tables.
#include <QCheckBox>
#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QTabWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <cmath>

#include "profiler/figures/figure.h"
#include "profiler/sections/frame/column_text.h"
#include "profiler/sections/frame/report_cache.h"
#include "profiler/sections/frame/words.h"
#include "views/pages/parts/charts/compare_charts.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/setting_words.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/columns_area.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/layout/tool_row.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/row_subject.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/pages/parts/tables/tree_table.h"
#include "views/pages/parts/trace/two_traces.h"
#include "views/shell/comparison.h"
#include "views/shell/look/elided_label.h"
#include "views/shell/page.h"

namespace pipescope::pages {
namespace {

using sections::Format;
using shell::Ui;

constexpr int kComparedRows = 14, kChangedOptionRows = 8, kChangedOptionsShare = 5;
const auto kCompareFoldKey = QStringLiteral("compare/fold");
constexpr double kManyTimes = 900;  ///< a change in percent above which a card says how many times as much

/// The figures of the cards, which are rows of the table of the iteration.
constexpr std::array kComparedCards = {"step_cycles", "samples_per_second", "bubble_fraction",
                                       "imbalance",   "max_tile_bytes",     "total_bytes"};

}  // namespace

class ComparePage : public shell::Page {
 public:
  explicit ComparePage(shell::PageContext& context) : Page(context) {
    auto* content = new QWidget(this);
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(makeTools());
    auto* area = new ColumnsArea(content);
    layout->addWidget(area, 1);
    inShort_ = new QLabel(this);
    inShort_->setWordWrap(true);
    area->top()->addWidget(inShort_);
    grid_ = new QGridLayout;
    for (FigureCard*& card : cards_) card = new FigureCard(context.palette, this);
    arrangeCards();
    area->top()->addLayout(grid_);
    options_ = addTable(area->left(), kChangedOptionRows);
    options_->setRowsShown(kChangedOptionRows, kChangedOptionsShare);
    step_ = addTable(area->left(), kComparedRows);
    area->left()->addStretch(1);
    waterfall_ = new StepWaterfall(context.palette, this);
    live_ = new TwoCurves(context.palette, tr("Live bytes by program step"), this);
    units_ = new TwoCurves(context.palette, tr("Bytes by tile"), this);
    for (QWidget* chart :
         {static_cast<QWidget*>(waterfall_), static_cast<QWidget*>(live_), static_cast<QWidget*>(units_)})
      area->right()->addWidget(chart);
    area->right()->addStretch(1);
    area->setStretch(1, 1);
    pipelines_ = new TwoPipelines(context.palette, this);
    area->bottom()->addWidget(pipelines_);
    traces_ = new TwoTraces(*this, context.palette, this);
    area->bottom()->addWidget(traces_);
    tabs_ = new QTabWidget(this);
    fold_ = new QCheckBox(tr("Fold equal layers"), tabs_);
    fold_->setToolTip(tr("Shows operations whose names differ only in numbers as one, with their sums"));
    tabs_->setCornerWidget(fold_);
    connect(fold_, &QCheckBox::clicked, this, [this](bool on) {
      context_.settings.setValue(kCompareFoldKey, on);
      applyFolding();
    });
    area->bottom()->addWidget(tabs_);
    setContent(content);
    setKeyWidget(area);
    connect(&context.comparison, &shell::Comparison::changed, this, [this] {
      applySource();
      reload();
    });
    applySource();
  }

  void resizeEvent(QResizeEvent* event) override {
    constexpr int kRoomForAll = 1700;  // six cards whose figures and intervals have two lines
    Page::resizeEvent(event);
    narrow_ = width() < kRoomForAll;
    arrangeCards();
  }

  shell::Picture picture() override { return {waterfall_, accessibleName(), {}}; }

 protected:
  void forgetProfile() override { device_->clear(); }

  Load load() override {
    const shell::ProfileSnapshot* other = context_.comparison.snapshot();
    const model::ExecutableId counterpart = sourceExecutable();
    const auto reports = context_.comparison.reports(counterpart);
    return [this, source = other == nullptr ? shell::ProfileSnapshot() : *other, counterpart, reports,
            opening = context_.comparison.isOpening(), error = context_.comparison.error(),
            device = std::max(0, device_->currentIndex())](const Job& job) -> base::Result<Apply> {
      if (opening) return Apply([this] { showInstead(tr("Reading the other profile…")); });
      if (!error.isEmpty()) return Apply([this, error] { showInstead(error); });
      if (!source.catalog) {
        return Apply([this] {
          showInstead(
              tr("Choose the profile to compare with: “Compare with…” in the menu File, or drop its file "
                 "here. It is the source, and the profile of this window is the target."));
        });
      }
      const model::Executable* own = job.catalog.executable(job.executable);
      if (own == nullptr || source.catalog->executables.empty())
        return base::badInput("A profile without an executable cannot be compared: its run ended too early.");
      const model::ExecutableId executable = counterpart;
      // The differing settings are known at once; the rest is read meanwhile.
      job.begin([this, tables = comparedOptions(*source.catalog, job.catalog)] { applyFirst(tables); });
      const sections::Context before{*source.source, *source.catalog, executable, -1, reports},
          after{job.source, job.catalog, job.executable, -1, job.reports};
      PIPESCOPE_ASSIGN(sections::Section figures, comparedFigures(before, after));
      job.begin([this, figures = std::make_shared<const sections::Section>(std::move(figures))] {
        if (!complete_) applyFigures(*figures);
      });
      PIPESCOPE_ASSIGN(CompareData made,
                       collectComparison(before, after, static_cast<std::size_t>(device), job.progress));
      forgetLargeReports(*reports);
      auto content = std::make_shared<const CompareData>(std::move(made));
      return Apply([this, content, source, executable] {
        apply(*content);
        if (const shell::ProfileSnapshot* target = context_.session.snapshot())
          traces_->setSides({source, executable}, {*target, context_.session.executable()});
      });
    };
  }

 private:
  /// The source's executable that is compared; none while no profile is.
  model::ExecutableId sourceExecutable() const {
    const shell::ProfileSnapshot *own = context_.session.snapshot(), *other = context_.comparison.snapshot();
    if (own == nullptr || other == nullptr || other->catalog->executables.empty()) return {};
    const model::Executable* row = own->catalog->executable(context_.session.executable());
    return row == nullptr ? model::ExecutableId() : counterpartOf(*other->catalog, *row);
  }

  /// Puts the cards that show a figure into rows, without gaps for the others.
  void arrangeCards() {
    std::vector<FigureCard*> shown;
    for (std::size_t i = 0; i < cards_.size(); ++i) {
      if (!empty_[i]) shown.push_back(cards_[i]);
    }
    const int all = static_cast<int>(cards_.size());
    const int columns = std::min(std::max(1, static_cast<int>(shown.size())), narrow_ ? all / 2 : all);
    if (shown == arranged_ && columns == cardColumns_) return;
    arranged_ = shown;
    cardColumns_ = columns;
    for (FigureCard* card : cards_) grid_->removeWidget(card);
    for (int i = 0; i < static_cast<int>(shown.size()); ++i)
      grid_->addWidget(shown[static_cast<std::size_t>(i)], i / columns, i % columns);
    for (int c = 0; c < all; ++c) grid_->setColumnStretch(c, c < columns ? 1 : 0);
  }

  DataTable* addTable(QVBoxLayout* layout, int rows) {
    return addTablePanel(context_.palette, *layout, rows, this);
  }

  QWidget* makeTools() {
    auto* tools = new ToolRow(context_, this);
    tools->setIndent(kScrolledIndent);
    source_ = new shell::ElidedLabel(context_.palette, Qt::AlignLeft | Qt::AlignVCenter, tools);
    source_->setAccessibleName(tr("Source and target"));
    tools->add(source_, 1);
    device_ = tools->combo({}, tr("Device"), tr("The device whose memory is shown"));
    device_->setVisible(false);
    connect(device_, QOverload<int>::of(&QComboBox::activated), this, [this] { reload(); });
    tools->button(QStringLiteral("open"), tr("Choose the profile to compare with"),
                  [this] { context_.chooseCompared(); });
    tools->button(QStringLiteral("close"), tr("End the comparison"), [this] { context_.comparison.clear(); });
    return tools;
  }

  void applySource() {
    const QString source = context_.comparison.title();
    source_->setText(source.isEmpty() ? tr("No profile to compare with is open.")
                                      : tr("Source: %1 → target: %2").arg(source, context_.session.title()));
  }

  /// Shows the settings that differ. The content of an older comparison stays until the rest is there.
  void applyFirst(const std::vector<sections::SectionTable>& tables) {
    applySource();
    const auto named = [&](const char* key) {
      return std::ranges::find(tables, key, &sections::SectionTable::key);
    };
    if (const auto options = named("options"); options != tables.end()) applyOptions(*options, 1);
    const auto versions = named("versions");
    if (complete_ || versions == tables.end() || versions->rows.empty()) return;
    applyTabs({*versions}, 1);
  }

  void applyOptions(sections::SectionTable table, double perUnit) {
    for (auto& row : table.rows) putChangeInWords(row);
    options_->parentWidget()->setVisible(!table.rows.empty());
    options_->setTable(std::move(table), perUnit);
  }

  /// A change that a what-if made stands among the options as "what-if KEY" with its value.
  static void putChangeInWords(std::vector<sections::Cell>& row) {
    const QString name = wordsIn(row.front());
    const QString prefix = QStringLiteral("what-if ");
    if (!name.startsWith(prefix)) return;
    const std::string key = name.mid(prefix.size()).toStdString();
    const auto [kind, which] = changeKindOf(key);
    if (kind != nullptr)
      row.front() = (prefix + changeInWords({key, {}}).section(QStringLiteral(": "), 0, 0)).toStdString();
    for (std::size_t c = 1; c < row.size(); ++c) {
      const auto* value = std::get_if<std::string>(&row[c]);
      if (value != nullptr && !value->empty()) row[c] = changeValueInWords(key, *value).toStdString();
    }
  }

  /// Shows the figures of the step and of the stages.
  void applyFigures(const sections::Section& diff) {
    applySource();
    const sections::Fact* inShort = factNamed(diff, "in_short");
    QStringList sentences;
    if (inShort != nullptr && !wordsIn(inShort->value).isEmpty()) sentences << wordsIn(inShort->value);
    for (const std::string& remark : diff.remarks) sentences << text(remark);
    inShort_->setText(sentences.join(QLatin1Char(' ')));
    sameWork_ = hasSameWork(*tableNamed(diff, "step"));
    applyCards(diff);
    applyOptions(*tableNamed(diff, "options"), diff.ticksPerShownUnit);
    step_->model()->setCostsJudged(sameWork_);
    step_->setTable(sections::withRowsOfText(*tableNamed(diff, "step")), diff.ticksPerShownUnit);
    waterfall_->setSection(diff, sameWork_);
    applyTabs(diff.tables, diff.ticksPerShownUnit);
  }

  void apply(const CompareData& content) {
    complete_ = true;
    applyFigures(content.diff);
    applyMemory(content);
    pipelines_->setSides(content.source, content.target);
  }

  /// False if an iteration of one profile has more micro-batches or samples than one of the other: it may
  /// take longer without being slower.
  static bool hasSameWork(const sections::SectionTable& step) {
    const std::size_t key = columnNamed(step, "quantity"), delta = columnNamed(step, "delta");
    return std::ranges::none_of(step.rows, [&](const auto& row) {
      const QString quantity = wordsIn(row[key]);
      return (quantity == QLatin1String("micro_batches") || quantity == QLatin1String("samples_per_step")) &&
             std::fabs(numberIn(row[delta])) > 0.5;
    });
  }

  void applyCards(const sections::Section& diff) {
    const sections::SectionTable& step = *tableNamed(diff, "step");
    const std::size_t key = columnNamed(step, "quantity"), before = columnNamed(step, "before"),
                      after = columnNamed(step, "after"), delta = columnNamed(step, "delta"),
                      relative = columnNamed(step, "relative");
    const auto isTrue = [&](const char* name) {
      const sections::Fact* fact = factNamed(diff, name);
      return fact != nullptr && fact->value == sections::Cell(true);
    };
    const bool hypothetical = isTrue("before_hypothetical") || isTrue("after_hypothetical");
    for (std::size_t i = 0; i < cards_.size(); ++i) {
      const figures::Figure& figure = figures::figure(kComparedCards[i]);
      for (std::size_t r = 0; r < step.rows.size(); ++r) {
        const auto& row = step.rows[r];
        if (wordsIn(row[key]) != QLatin1String(figure.key)) continue;
        const Format format = step.rowFormats[r];
        const auto shown = [&](const sections::Cell& cell) { return loneText(cell, format, diff.time()); };
        const double change = numberIn(row[delta]), share = numberIn(row[relative]) * 100;
        const bool known = !std::holds_alternative<std::monostate>(row[delta]);
        const bool unchanged = known && shown(row[delta]) == shown(sections::Cell(0.0));
        const QString sign = change > 0 ? QStringLiteral("+") : QString();
        const QString large = !known      ? QStringLiteral("–")
                              : unchanged ? tr("no change")
                              : format == Format::fraction
                                  ? text(sections::changeText("delta", format, shown(row[delta]), row[delta]))
                              : share >= kManyTimes
                                  ? tr("× %1").arg(text(formatCell(
                                        numberIn(row[after]) / numberIn(row[before]), Format::count)))
                                  : text(sections::relativeText(share / 100));
        const bool other = (format == Format::ticks || format == Format::bytes) && !sameWork_;
        // Two shares need no difference beside them: it would be read as a third share. That of figures for
        // different work says little.
        const QString difference =
            format == Format::fraction || unchanged || other
                ? QString()
                : QStringLiteral(", ") + sign +
                      text(sections::withoutUnitOf(shown(row[after]), shown(row[delta])));
        const bool better = (change > 0) == figure.moreIsBetter();
        const QString caption = hypothetical && format == Format::ticks  ? tr("Hypothetical step time")
                                : hypothetical && format == Format::rate ? tr("Hypothetical samples/s")
                                                                         : text(figure.label);
        const bool neither = !known && shown(row[before]) == shown(row[after]);
        empty_[i] = neither;
        cards_[i]->setVisible(!neither);
        if (neither) continue;
        const QString detail =
            text(sections::fromToText(shown(row[before]), shown(row[after]))) +
            (known ? difference + (other && !unchanged ? tr("; for different work") : QString()) : QString());
        cards_[i]->setFigure(caption, large, withInterval(detail, intervalsOf(diff, figure.key)), {},
                             !known || unchanged || other ? Ui::text
                             : better                     ? Ui::good
                                                          : Ui::error);
      }
    }
    arrangeCards();
  }

  /// The intervals of a figure of both profiles; empty if it has none.
  static QString intervalsOf(const sections::Section& diff, std::string_view figure) {
    const std::string ends = figure == "step_cycles"      ? "step_least_cycles"
                             : figure == "max_tile_bytes" ? "max_tile_least_bytes"
                                                          : "";
    if (ends.empty()) return {};
    const QString before = intervalIn(diff, "before_" + ends), after = intervalIn(diff, "after_" + ends);
    if (before == after) return before;
    return after.isEmpty()    ? tr("before, %1").arg(before)
           : before.isEmpty() ? tr("now, %1").arg(after)
                              : tr("before, %1; now, %2").arg(before, after);
  }

  void applyMemory(const CompareData& content) {
    const auto& names = content.target.devices;
    QStringList items;
    for (std::size_t i = 0; i < std::max(names.size(), content.source.devices.size()); ++i)
      items << text(i < names.size() ? names[i] : content.source.devices[i]);
    const int now = std::max(0, device_->currentIndex());
    device_->clear();
    device_->addItems(items);
    device_->setCurrentIndex(std::min(now, static_cast<int>(items.size()) - 1));
    device_->setVisible(items.size() > 1);
    const QString device = items.isEmpty() ? QString() : items[device_->currentIndex()];
    live_->setCurves(content.source.live, content.target.live, tr("program step"),
                     tr("%1; always live and not always live, in compile order").arg(device));
    const std::string& unitName =
        content.target.unitName.empty() ? content.source.unitName : content.target.unitName;
    // The one unit of a card would be a line without width beside a thousand tiles.
    const std::size_t before = content.source.units.size(), after = content.target.units.size();
    const bool many = (before > 1 || after > 1) && before != 1 && after != 1;
    units_->setCurves(many ? content.source.units : std::vector<double>(),
                      many ? content.target.units : std::vector<double>(), text(unitName),
                      tr("%1; without gaps, by %2").arg(device, text(unitName)));
  }

  /// All further tables of the comparison that have rows.
  void applyTabs(const std::vector<sections::SectionTable>& tables, double perUnit) {
    while (tabs_->count() > 0) {
      QWidget* old = tabs_->widget(0);
      tabs_->removeTab(0);
      old->deleteLater();
    }
    operations_ = nullptr;
    int equal = 0;
    for (const sections::SectionTable& whole : tables) {
      const sections::SectionTable table = sections::withRowsOfText(whole);
      if (table.rows.empty() || table.key == "step" || table.key == "options") continue;
      auto* shown = new DataTable(context_.palette, tabs_);
      shown->setFilterVisible(true);
      shown->setRowsShown(kComparedRows);
      shown->setTable(table, perUnit);
      const Folding folding = table.key == "operations" ? foldingOf(table) : Folding();
      const bool folds = folding.largest > 1;
      if (folds) equal = folding.equal;
      tabs_->addTab(folds ? withFolded(shown, table, perUnit) : shown, text(table.title));
    }
    const QVariant wanted = context_.settings.value(kCompareFoldKey);
    fold_->setVisible(operations_ != nullptr);
    fold_->setChecked(wanted.isValid() ? wanted.toBool() : equal > kManyEqualLayers);
    applyFolding();
  }

  /// The table of operations, and behind it the same with equal layers folded.
  QWidget* withFolded(DataTable* flat, const sections::SectionTable& table, double perUnit) {
    operations_ = new OneOf(tabs_);
    auto* folded = new TreeTable(context_.palette, operations_);
    folded->setComparable(false);
    folded->setRowsShown(kComparedRows);
    folded->setRows(treeOfEqualLayers(table), perUnit);
    folded->setSubjects(
        [folded, flat, this](int row) {
          const int source = folded->ownRows().sources[static_cast<std::size_t>(row)];
          return source < 0
                     ? shell::Selected()
                     : subjectOf(flat->model()->table(), source, context_.session.snapshot()->catalog.get());
        },
        [](const shell::Selected&) { return -1; });
    operations_->add(flat);
    operations_->add(folded);
    return operations_;
  }

  void applyFolding() {
    if (operations_ != nullptr) operations_->showOnly(fold_->isChecked() ? 1 : 0);
  }

  std::array<FigureCard*, kComparedCards.size()> cards_{};
  std::array<bool, kComparedCards.size()> empty_{};  ///< neither profile has the figure
  std::vector<FigureCard*> arranged_;                ///< the cards in the grid
  bool narrow_ = false;
  QGridLayout* grid_ = nullptr;
  int cardColumns_ = 0;
  bool sameWork_ = true;   ///< an iteration of both has as many micro-batches and samples
  bool complete_ = false;  ///< a whole comparison has been shown
  QLabel* inShort_ = nullptr;
  shell::ElidedLabel* source_ = nullptr;
  QComboBox* device_ = nullptr;
  DataTable *options_ = nullptr, *step_ = nullptr;
  StepWaterfall* waterfall_ = nullptr;
  TwoCurves *live_ = nullptr, *units_ = nullptr;
  TwoPipelines* pipelines_ = nullptr;
  TwoTraces* traces_ = nullptr;
  QTabWidget* tabs_ = nullptr;
  QCheckBox* fold_ = nullptr;
  OneOf* operations_ = nullptr;  ///< the tab of operations if equal layers can be folded; it lives in tabs_
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(compare) {
  registry.add({QStringLiteral("compare"), QObject::tr("Compare"), QStringLiteral("compare"),
                QObject::tr("What changed between another profile and this one"), PageGroup::experiments, 20,
                [](PageContext& context) -> Page* { return new pages::ComparePage(context); }, false});
}

}  // namespace pipescope::shell
