// Shows which stage limits the pipeline: time by stage, the bubble, lost time, memory, boundaries, and what
// makes the limiting or the selected stage slow.
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <cmath>

#include "profiler/figures/figure.h"
#include "profiler/sections/stage_texts.h"
#include "views/pages/parts/charts/parts_chart.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/setting_words.h"
#include "views/pages/parts/data/stages_data.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/columns_area.h"
#include "views/pages/parts/layout/empty_states.h"
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/row_menu.h"
#include "views/shell/comparison.h"
#include "views/shell/page.h"

namespace pipescope::pages {
namespace {

using analysis::StageReport;
using analysis::StagesReport;
using geometry::ColourRole;
using sections::Format;
using shell::Ui;

constexpr int kStageRows = 12;

QString percent(double share) {
  return text(formatCell(share, Format::fraction));
}
QString stagesPageBytesText(std::int64_t bytes) {
  return text(formatCell(bytes, Format::bytes));
}

/// The ticks of one iteration in which a stage keeps its device busy, with host copies and the update.
double ownTicks(const StagesReport& report, const StageReport& stage) {
  return (stage.busy + stage.hostIn + stage.hostOut) * static_cast<double>(report.microBatchesOfStage) +
         stage.update;
}

/// The ticks of one iteration by what the stage's device does, in the order of the legend.
std::vector<NamedPart> stepParts(const StagesData& data, const StageReport& stage) {
  const StagesReport& report = data.report;
  const auto g = static_cast<double>(report.microBatchesOfStage);
  std::vector<NamedPart> parts = {
      {QObject::tr("forward"), ColourRole::forward, stage.forward * g},
      {QObject::tr("recompute"), ColourRole::recompute, stage.recompute * g},
      {QObject::tr("backward"), ColourRole::backward, stage.backward * g},
      {QObject::tr("weight gradient"), ColourRole::weightGradient, stage.weightGradient * g},
      {QObject::tr("update"), ColourRole::update, stage.update},
      {QObject::tr("host copies"), ColourRole::hostIn, (stage.hostIn + stage.hostOut) * g}};
  // A device may hold several stages, as with chunks or DualPipe.
  double others = 0;
  for (const StageReport& other : report.stages)
    if (&other != &stage && stage.device >= 0 && other.device == stage.device)
      others += ownTicks(report, other);
  double sum = ownTicks(report, stage) + others;
  std::vector<NamedPart> waits;
  for (const auto& [cause, ticks] : stage.waits) {
    waits.push_back(
        {QObject::tr("waits: %1").arg(text(model::toString(cause))), geometry::roleOf(cause), ticks, true});
    sum += ticks;
  }
  if (others > 0) parts.push_back({QObject::tr("other stages of the device"), ColourRole::control, others});
  // The rest. Nobody knows what it was in an imported trace.
  const double rest = std::max(0.0, report.lost.step - sum);
  if (data.measured) {
    parts.push_back({QObject::tr("other"), ColourRole::otherKind, rest});
  } else {
    parts.push_back(
        {data.remote ? QObject::tr("exchange, sync, remote memory") : QObject::tr("exchange and sync"),
         ColourRole::exchange, rest});
  }
  parts.insert(parts.end(), waits.begin(), waits.end());
  return parts;
}

}  // namespace

class StagesPage : public shell::Page {
 public:
  explicit StagesPage(shell::PageContext& context) : Page(context) {
    auto* area = new ColumnsArea(this);
    auto* cards = new QHBoxLayout;
    cards->setSpacing(12);
    for (FigureCard*& card : cards_) cards->addWidget(card = new FigureCard(context.palette, this), 1);
    area->top()->addLayout(cards);
    remarksPanel_ = new Panel(context.palette, tr("Remarks"), this);
    area->top()->addWidget(remarksPanel_);
    time_ = addChart(area->top(), tr("One iteration on each stage's device"));
    lost_ = addChart(area->left(), tr("Where an iteration loses time"));
    bubble_ = addChart(area->left(), tr("The bubble"));
    memory_ = addChart(area->left(), tr("Memory per stage"));
    operations_ = addTable(area->right());
    communication_ = addTable(area->right());
    boundaries_ = addTable(area->right());
    memoryTable_ = addTable(area->right());
    area->left()->addStretch(1);
    area->right()->addStretch(1);
    stages_ = addTable(area->top());
    for (DataTable*& table : compared_) table = addTable(area->bottom());
    setContent(area);
    connect(&context.comparison, &shell::Comparison::changed, this, [this] { reload(); });
    connect(time_->bars(), &timeline::BarChart::clicked, this, [this](int bar) { select(bar); });
    connect(cards_[1], &FigureCard::clicked, this, [this] {
      context_.go({QStringLiteral("trace"), {}, -1});
    });
    connect(&context.selection, &shell::Selection::changed, this, &StagesPage::followOthers);
    offerSubjects(*time_->bars(), [this](int bar) { return subjectOfBar(bar); });
    connect(memory_->bars(), &timeline::BarChart::clicked, this,
            [this](int bar) { context_.selection.set(subjectOfBar(memoryStage(bar))); });
    offerSubjects(*memory_->bars(), [this](int bar) { return subjectOfBar(memoryStage(bar)); });
  }

  bool showsSelection() const override { return marked_ >= 0; }

  void show(const shell::Place& place) override {
    if (place.stage >= 0) mark(place.stage);
  }

 protected:
  Load load() override {
    const shell::ProfileSnapshot* other = context_.comparison.snapshot();
    return [this, scale = timeScale(), source = other == nullptr ? shell::ProfileSnapshot() : *other,
            title = context_.comparison.title()](const Job& job) -> base::Result<Apply> {
      if (job.catalog.executables.empty())
        return base::badInput("The profile has no executable: its run ended before anything was compiled.");
      auto made = collectStagesPage({job.source, job.catalog, job.executable, -1, job.reports});
      if (!made.ok()) return made.error();
      auto content = std::make_shared<StagesData>(*std::move(made));
      content->scale = scale;
      content->source = title;
      // The page Compare says why a comparison fails. Here the profile's own stages matter more.
      if (source.catalog &&
          !addCompared(source, {job.source, job.catalog, job.executable, -1, job.reports}, *content).ok())
        content->compared.clear();
      return Apply([this, content] { apply(content); });
    };
  }

 private:
  PartsChart* addChart(QVBoxLayout* column, const QString& title) {
    auto* chart = new PartsChart(context_.palette, title, this);
    column->addWidget(chart);
    return chart;
  }

  DataTable* addTable(QVBoxLayout* column) {
    return addTablePanel(context_.palette, *column, kStageRows, this);
  }

  void apply(std::shared_ptr<const StagesData> content) {
    data_ = std::move(content);
    if (data_->report.stages.empty())
      return showInstead(data_->measured ? text(data_->section.lacks) : tr("This executable has no stages."));
    if (context_.session.snapshot()->catalog->lastRunOf(context_.session.executable()) == nullptr) {
      return showInstead(tr("Nothing of this executable has run, so there are no times per stage."));
    }
    applyCards();
    applyRemarks();
    applyTime();
    applyLost();
    applyBubble();
    applyMemory();
    applyTables();
    applyCompared();
    followOthers();
  }

  QString time(double ticks) const {
    return text(timeText(ticks, data_->words.time, sections::TimeStyle::chart));
  }
  QString unit() const {
    const QString unit = text(chartUnit(data_->words.time));
    return unit != QLatin1String("time") || data_->measured ? unit : tr("emulated time");
  }

  void applyCards() {
    const StagesReport& r = data_->report;
    const auto fact = [this](const char* key) -> const sections::Fact& {
      return *factNamed(data_->section, key);
    };
    const auto shown = [&](const char* key) {
      return text(sections::cardText(fact(key).value, fact(key).format, data_->section.time()));
    };
    const QString detail = r.imbalanceBackward && r.imbalanceForward
                               ? tr("largest ÷ mean; forward %1, backward %2")
                                     .arg(shown("imbalance_forward"), shown("imbalance_backward"))
                               : tr("largest ÷ mean of the forward passes");
    const auto setCard = [&](FigureCard& card, const char* key, const QString& meaning, Ui colour) {
      card.setFigure(text(fact(key).label), shown(key), meaning, {}, colour);
      card.setAmount(figures::numberIn(fact(key).value), figures::figure(key).moreIsBetter());
    };
    setCard(*cards_[0], "imbalance", detail, r.imbalance.value_or(0) > 1.2 ? Ui::warning : Ui::text);
    setCard(*cards_[1], "bubble_fraction",
            tr("of the flush, in which devices that hold a stage do not compute"), Ui::text);
    // A single stage is no pipeline, so nothing is said about how it is balanced and filled.
    for (FigureCard* card : {cards_[0], cards_[1]}) card->setVisible(r.stages.size() > 1);
    const bool whole = r.missing.empty();
    if (const StageReport* limiting = r.limiting())
      applyLimiting(*limiting);
    else
      cards_[2]->setFigure(tr("Limiting stage"), QStringLiteral("–"), tr("not all stages were recorded"), {});
    const bool known = whole && r.lost.replayed;
    const double useful = r.lost.step > 0 ? r.lost.useful / r.lost.step : 0;
    cards_[3]->setFigure(tr("Useful"), known ? percent(useful) : QStringLiteral("–"),
                         tr("of the step time: equal stages that never wait would take so long"), {});
    cards_[3]->setAmount(known ? std::optional(useful) : std::nullopt, true);
  }

  void applyLimiting(const StageReport& stage) {
    const StagesReport& r = data_->report;
    QString name = text(sections::limitingStages(r));
    name.replace(0, 1, name.at(0).toUpper());
    const bool alone = std::ranges::count_if(r.stages, &StageReport::limits) == 1;
    const QString took =
        tr("%1 per micro-batch with copies and exchange")
            .arg(text(sections::cardText(stage.occupied, sections::Format::ticks, data_->section.time())));
    const QString blocks = text(sections::shortList(stage.blocks));
    // The blocks stand last, because a card shows four lines and a list of blocks may be long.
    cards_[2]->setFigure(r.stages.size() == 1 ? tr("The only stage") : tr("Limiting stage"), name,
                         alone && !blocks.isEmpty() ? tr("%1: %2").arg(took, blocks) : took, {});
    if (alone) cards_[2]->setToolTip(tr("%1: %2").arg(text(stage.blocks), took));
  }

  void applyRemarks() {
    while (QLayoutItem* item = remarksPanel_->body()->takeAt(0)) {
      delete item->widget();
      delete item;
    }
    const analysis::Catalog& catalog = *context_.session.snapshot()->catalog;
    for (const std::string& remark : data_->section.remarks) {
      remarksPanel_->body()->addWidget(new IconSentence(context_.palette, QStringLiteral("info"), Ui::accent,
                                                        withSettingsInWords(text(remark), catalog),
                                                        remarksPanel_));
    }
    remarksPanel_->setVisible(!data_->section.remarks.empty());
  }

  QString stageName(const StageReport& stage) const {
    return stage.blocks.empty()
               ? tr("Stage %1").arg(stage.index)
               : tr("Stage %1 · %2").arg(stage.index).arg(text(sections::shortList(stage.blocks)));
  }

  void applyTime() {
    const StagesReport& r = data_->report;
    std::vector<std::vector<NamedPart>> bars;
    QStringList names, notes;
    for (const StageReport& stage : r.stages) {
      bars.push_back(stepParts(*data_, stage));
      names << stageName(stage);
      if (!stage.recorded) {
        notes << tr("not recorded");
      } else if (r.lost.step > 0) {
        notes << tr("busy %1").arg(
            percent(stage.busy * static_cast<double>(r.microBatchesOfStage) / r.lost.step));
      } else {
        notes << QString();
      }
    }
    time_->setParts(
        bars, [this](double value) { return time(value); }, names, notes);
    time_->setTitle(
        tr("One iteration on each stage's device"),
        tr("%1 of one iteration (%2%3), mean over the last call")
            .arg(unit())
            .arg(r.microBatches == 1 ? tr("1 micro-batch") : tr("%1 micro-batches").arg(r.microBatches))
            .arg(isTraining() ? tr(" and the weight update") : QString()));
  }

  bool isTraining() const {
    const model::Executable* row =
        context_.session.snapshot()->catalog->executable(context_.session.executable());
    return row != nullptr && row->kind == model::ExecutableKind::training;
  }

  static QString lostName(std::size_t part) { return text(figures::lostTo(figures::kStepParts[part])); }

  void applyLost() {
    const analysis::LostTime& lost = data_->report.lost;
    const std::vector<NamedPart> parts = {{lostName(0), ColourRole::lostUseful, lost.useful},
                                          {lostName(1), ColourRole::lostFill, lost.fillAndDrain},
                                          {lostName(2), ColourRole::lostImbalance, lost.imbalance},
                                          {lostName(3), ColourRole::lostExchange, lost.exchangeUpdateHost}};
    lost_->setVisible(data_->report.missing.empty());
    const std::vector<NamedPart> whole = {{tr("step time"), ColourRole::otherKind, lost.step}};
    lost_->setParts({lost.replayed ? parts : whole}, [this](double value) { return time(value); });
    if (!lost.replayed)
      return lost_->setTitle(tr("Where an iteration loses time"),
                             tr("no verdict: the recognised passes cannot be replayed within the step"));
    lost_->setTitle(tr("Where an iteration loses time"),
                    tr("%1; the parts add up to the step time, %2").arg(unit(), time(lost.step)));
  }

  void applyBubble() {
    const StagesReport& r = data_->report;
    const std::vector<NamedPart> parts = {{tr("computing"), ColourRole::lostUseful, 1 - r.bubble.fraction()},
                                          {tr("ramp-up"), ColourRole::waitFill, r.bubble.rampUp, true},
                                          {tr("steady"), ColourRole::waitSlowerStage, r.bubble.steady, true},
                                          {tr("ramp-down"), ColourRole::waitDrain, r.bubble.rampDown, true}};
    bubble_->setVisible(r.missing.empty() && r.stages.size() > 1);
    bubble_->setParts({parts}, [](double value) { return percent(value); });
    bubble_->bars()->setScaleTo(1);
    bubble_->setTitle(tr("The bubble"), tr("share of the flush, %1; exchange and sync are %2 of the flush")
                                            .arg(time(r.flush), percent(r.bubble.exchange)));
  }

  /// The name of the device's units, such as "tile"; empty if the device is in one piece.
  QString unitOf(int device) const {
    const model::Device* row = context_.session.snapshot()->catalog->device(model::DeviceId(device));
    return row == nullptr || row->units <= 1 ? QString() : text(row->unitName);
  }

  void applyMemory() {
    std::vector<std::vector<NamedPart>> bars;
    QStringList names, notes;
    for (std::size_t i = 0; i < data_->report.stages.size(); ++i) {
      const StageReport& stage = data_->report.stages[i];
      if (!stage.memory) continue;
      const auto value = [](base::Bytes bytes) { return static_cast<double>(bytes.count); };
      const double live = value(stage.memory->alwaysLive), stash = value(stage.memory->stash),
                   peak = value(stage.memory->peakNotAlwaysLive);
      bars.push_back(
          {{tr("always live"), ColourRole::alwaysLive, live - stash},
           {tr("stash (always live)"), ColourRole::recompute, stash},
           {tr("peak of not always live"), ColourRole::notAlwaysLive, peak},
           {tr("free"), ColourRole::free, static_cast<double>(data_->capacities[i]) - live - peak}});
      names << stageName(stage);
      const QString unit = unitOf(stage.device),
                    free = stage.memory->freeBytes.count < 0
                               ? tr("%1 too much").arg(stagesPageBytesText(-stage.memory->freeBytes.count))
                               : tr("%1 free").arg(stagesPageBytesText(stage.memory->freeBytes.count));
      notes << (unit.isEmpty() ? free : tr("%1 %2: %3").arg(unit).arg(stage.memory->worstUnit).arg(free));
    }
    const QString unit = unitOf(data_->report.stages.front().device);
    memory_->setVisible(!bars.empty());
    memory_->setParts(
        bars, [](double value) { return stagesPageBytesText(std::llround(value)); }, names, notes);
    memory_->setTitle(
        tr("Memory per stage"),
        unit.isEmpty()
            ? tr("memory of the stage's device; on the right, what is free")
            : tr("sum over the %1s of the device; on the right, what its fullest %1 has free").arg(unit));
  }

  void applyTables() {
    const auto take = [&](DataTable* table, std::string_view key) {
      const auto found = std::find_if(data_->section.tables.begin(), data_->section.tables.end(),
                                      [&](const sections::SectionTable& t) { return t.key == key; });
      const bool any = found != data_->section.tables.end() && !found->rows.empty();
      table->parentWidget()->setVisible(any);
      if (found == data_->section.tables.end()) return;
      sections::SectionTable shown = *found;
      // The chart above shows the waits. As text they would be wider than any window.
      dropColumn(shown, "waits");
      // One of the two is enough if each stage has the device of its number.
      const bool same = std::ranges::all_of(data_->report.stages, [](const StageReport& stage) {
        return stage.device == stage.index || !stage.recorded;
      });
      if (same && key == "stages") dropColumn(shown, "device");
      table->setTable(std::move(shown), data_->section.ticksPerShownUnit);
    };
    take(stages_, "stages");
    showOperations();
    take(boundaries_, "boundaries");
    take(communication_, "communication");
    take(memoryTable_, "memory");
  }

  void applyCompared() {
    for (std::size_t i = 0; i < compared_.size(); ++i) {
      const bool any = i < data_->compared.size() && !data_->compared[i].rows.empty();
      compared_[i]->parentWidget()->setVisible(any);
      if (!any) continue;
      sections::SectionTable table = data_->compared[i];
      table.basis = tr("source: %1; %2").arg(data_->source, text(table.basis)).toStdString();
      compared_[i]->setTable(std::move(table), data_->comparedPerUnit);
    }
  }

  static void dropColumn(sections::SectionTable& table, std::string_view key) {
    const auto found = std::ranges::find(table.columns, key, &sections::SectionColumn::key);
    if (found == table.columns.end()) return;
    const auto column = found - table.columns.begin();
    table.columns.erase(found);
    for (auto& row : table.rows) row.erase(row.begin() + column);
  }

  /// Shows what makes the selected stage slow, or else the limiting stage.
  void showOperations() {
    if (!data_) return;
    const auto& stages = data_->report.stages;
    const int stage = marked_ >= 0 && marked_ < static_cast<int>(stages.size()) ? marked_
                      : data_->report.missing.empty()                           ? data_->report.limitingStage
                                                                                : data_->report.slowestStage;
    sections::SectionTable table = stageOperationTable(data_->report, stage, data_->words);
    operations_->parentWidget()->setVisible(!table.rows.empty());
    operations_->setTable(std::move(table), data_->section.ticksPerShownUnit);
  }

  void select(int bar) {
    if (!data_ || bar >= static_cast<int>(data_->report.stages.size())) return;
    const StageReport& stage = data_->report.stages[static_cast<std::size_t>(bar)];
    if (!stage.recorded) return;
    context_.selection.set(subjectOfBar(bar));
  }

  shell::Selected subjectOfBar(int bar) const {
    shell::Selected selected;
    if (!data_ || bar < 0 || bar >= static_cast<int>(data_->report.stages.size())) return selected;
    const StageReport& stage = data_->report.stages[static_cast<std::size_t>(bar)];
    selected.kind = shell::Selected::Kind::stage;
    selected.stage = stage.index;
    selected.device = model::DeviceId(stage.device);
    return selected;
  }

  /// The place of the stage that a bar of the memory stands for. Stages without memory have no bar.
  int memoryStage(int bar) const {
    const auto& stages = data_->report.stages;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      if (stages[i].memory && bar-- == 0) return static_cast<int>(i);
    }
    return -1;
  }

  /// Marks the selected stage, or the first stage of the selected device.
  void followOthers() {
    if (!data_) return;
    const shell::Selected& selected = context_.selection.current();
    int stage = selected.stage;
    for (const StageReport& report : data_->report.stages) {
      if (stage < 0 && selected.device.valid() && report.device == selected.device.value)
        stage = report.index;
    }
    mark(stage);
  }

  void mark(int stage) {
    int bar = -1;
    for (std::size_t i = 0; data_ && i < data_->report.stages.size(); ++i) {
      if (data_->report.stages[i].index == stage) bar = static_cast<int>(i);
    }
    time_->bars()->setMarked(bar);
    int row = 0, memoryBar = -1;
    for (std::size_t i = 0; data_ && i < data_->report.stages.size(); ++i) {
      if (!data_->report.stages[i].memory) continue;
      if (static_cast<int>(i) == bar) memoryBar = row;
      ++row;
    }
    memory_->bars()->setMarked(memoryBar);
    marked_ = stage;
    showOperations();
  }

  std::shared_ptr<const StagesData> data_;
  int marked_ = -1;  ///< index of the marked stage
  std::array<FigureCard*, 4> cards_{};
  Panel* remarksPanel_ = nullptr;
  PartsChart *time_ = nullptr, *lost_ = nullptr, *bubble_ = nullptr, *memory_ = nullptr;
  std::array<DataTable*, 2> compared_{};
  DataTable *stages_ = nullptr, *operations_ = nullptr, *boundaries_ = nullptr, *memoryTable_ = nullptr,
            *communication_ = nullptr;
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(stages) {
  registry.add({QStringLiteral("stages"), QObject::tr("Stages"), QStringLiteral("stages"),
                QObject::tr("Which stage limits the pipeline, and why"), PageGroup::time, 30,
                [](PageContext& context) -> Page* { return new pages::StagesPage(context); }, true,
                pages::whyNoPipeline});
}

}  // namespace pipescope::shell
