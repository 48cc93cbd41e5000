// Shows the main results first: whether the model fits, its speed, what limits it, and the limiting stage.
#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>
#include <optional>

#include "profiler/base/short_names.h"
#include "profiler/sections/frame/words.h"
#include "profiler/sections/out_of_memory.h"
#include "profiler/sections/stage_texts.h"
#include "views/pages/parts/charts/parts_chart.h"
#include "views/pages/parts/data/memory_data.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/setting_words.h"
#include "views/pages/parts/data/summary_data.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/columns_area.h"
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/shell/page.h"

namespace pipescope::pages {
namespace {

using geometry::ColourRole;
using sections::Format;
using shell::Ui;

constexpr int kOptionRows = 14, kOptionsShare = 4, kSummaryRows = 8, kFigureRows = 16;

}  // namespace

class SummaryPage : public shell::Page {
 public:
  explicit SummaryPage(shell::PageContext& context) : Page(context) {
    auto* area = new ColumnsArea(this);
    auto* cards = new QHBoxLayout;
    cards->setSpacing(12);
    for (FigureCard*& card : cards_) cards->addWidget(card = new FigureCard(context.palette, this), 1);
    area->top()->addLayout(cards);
    makeOverflow(*area);
    makeShares(*area);
    makeTables(*area);
    setContent(area);
    const auto link = [this](int card, const QString& page) {
      connect(cards_[card], &FigureCard::clicked, this, [this, page] {
        context_.go({page, {}, limitingStage_});
      });
    };
    // The card leads to the tile that lacks most if the model does not fit.
    connect(cards_[0], &FigureCard::clicked, this, [this] { context_.go(memoryPlace_); });
    link(1, QStringLiteral("trace"));
    connect(cards_[3], &FigureCard::clicked, this, [this] {
      context_.go({limitingPage_, {}, limitingStage_});
    });
    connect(cards_[2], &FigureCard::clicked, this, [this] { context_.go({boundPage_, {}, -1}); });
  }

 protected:
  Load load() override {
    // The stages are computed on another thread than the rest.
    if (const shell::ProfileSnapshot* snapshot = context_.session.snapshot()) {
      readInBackground(
          [held = *snapshot, executable = context_.session.executable(),
           reports = context_.session.reports()] {
            const sections::Context context{*held.source, *held.catalog, executable, -1, reports};
            return stagesOf(context).ok();
          },
          [](bool) {});
    }
    return [this, scale = timeScale()](const Job& job) -> base::Result<Apply> {
      if (job.catalog.executables.empty())
        return base::badInput("The profile has no executable: its run ended before anything was compiled.");
      const sections::Context context{job.source, job.catalog, job.executable, -1, job.reports};
      PIPESCOPE_TRY(showFirst(context, job));
      auto made = collectSummaryPage(context);
      if (!made.ok()) return made.error();
      auto content = std::make_shared<SummaryData>(*std::move(made));
      content->scale = scale;
      return Apply([this, content] { apply(*content); });
    };
  }

 private:
  /// Long calls take seconds to add up, so what a profile says of itself is shown before. Until then, the
  /// page keeps what it shows of the same profile.
  base::Status showFirst(const sections::Context& context, const Job& job) {
    constexpr std::int64_t kManyRows = 100'000;
    PIPESCOPE_ASSIGN(std::vector<model::BlockInfo> blocks, context.source.blocks<model::Placement>());
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> steps, context.source.blocks<model::Step>());
    blocks.insert(blocks.end(), steps.begin(), steps.end());
    std::int64_t rows = 0;
    for (const model::BlockInfo& block : blocks) rows += block.rows;
    if (rows < kManyRows) return {};
    PIPESCOPE_ASSIGN(const sections::Section options, sectionNamed("options", context));
    job.begin([this, options] {
      if (filledFor_ == context_.session.path()) return;
      filledFor_.reset();
      applyFirst(options);
    });
    return {};
  }

  void applyFirst(const sections::Section& options) {
    const QString captions[] = {tr("Memory"), tr("Samples/s"), tr("Bound by"), tr("Limiting stage")};
    for (std::size_t i = 0; i < cards_.size(); ++i)
      cards_[i]->setFigure(captions[i], QStringLiteral("…"), tr("is being added up"), {}, Ui::muted);
    shares_->setVisible(false);
    for (DataTable* table :
         {overflow_, advice_, figures_, engines_, executables_, grades_, bands_, sources_, options_})
      table->parentWidget()->setVisible(false);
    for (const sections::SectionTable& table : options.tables) showRows(options_, table);
    const analysis::Catalog& catalog = *context_.session.snapshot()->catalog;
    target_->setFacts(targetFacts(catalog));
    applyDiagnostics(catalog);
  }

  static void showRows(DataTable* table, const sections::SectionTable& rows) {
    table->setTable(rows);
    table->parentWidget()->setVisible(!rows.rows.empty());
  }

  /// Makes the table of what does not fit and what would help. A row leads to its fullest tile.
  void makeOverflow(ColumnsArea& area) {
    overflow_ = addTable(*area.top(), kSummaryRows);
    advice_ = addTable(*area.top(), kSummaryRows);
    connect(overflow_, &DataTable::rowActivated, this, [this](int row) {
      if (row < static_cast<int>(overflowPlaces_.size()))
        context_.go(overflowPlaces_[static_cast<std::size_t>(row)]);
    });
  }

  DataTable* addTable(QVBoxLayout& column, int rows) {
    return addTablePanel(context_.palette, column, rows, this);
  }

  void makeShares(ColumnsArea& area) {
    const QString title = tr("Where the devices' time goes");
    shares_ = new PartsChart(context_.palette, title, this);
    shares_->setTitle(title, tr("share of the time of all devices that hold a stage, over the last call"));
    shares_->bars()->setScaleTo(1);
    area.top()->addWidget(shares_);
  }

  void makeTables(ColumnsArea& area) {
    figures_ = addTable(*area.top(), kFigureRows);
    engines_ = addTable(*area.bottom(), kSummaryRows);
    executables_ = addTable(*area.bottom(), kSummaryRows);
    grades_ = addTable(*area.bottom(), kSummaryRows);
    bands_ = addTable(*area.bottom(), kSummaryRows);
    bands_->setFilterVisible(true);
    sources_ = addTable(*area.bottom(), kSummaryRows);
    sources_->setFilterVisible(true);
    auto* target = new Panel(context_.palette, tr("Target"), this);
    target_ = new FactGrid(context_.palette, target);
    target_->setColumnWidth(480);
    target_->setComparable(true);
    target->body()->addWidget(target_);
    area.left()->addWidget(target);
    area.left()->addStretch(1);
    auto* diagnostics = new Panel(context_.palette, tr("Remarks"), this);
    diagnostics_ = diagnostics->body();
    diagnosticsPanel_ = diagnostics;
    area.right()->addWidget(diagnostics);
    options_ = addTable(*area.right(), kOptionRows);
    options_->setRowsShown(kOptionRows, kOptionsShare);
    options_->setFilterVisible(true);
    area.right()->addStretch(1);
  }

  void apply(const SummaryData& content) {
    const analysis::Catalog& catalog = *context_.session.snapshot()->catalog;
    filledFor_ = context_.session.path();
    applyCards(content);
    applyShares(content);
    for (const sections::SectionTable& table : content.section.tables) {
      if (table.key == "executables") showRows(executables_, table);
    }
    applyOverflow(content);
    figures_->setTable(content.figures);
    figures_->parentWidget()->setVisible(!content.figures.rows.empty());
    for (DataTable* table : {options_, grades_, bands_, sources_}) table->parentWidget()->setVisible(false);
    engines_->setTable(content.engines, content.section.ticksPerShownUnit);
    engines_->parentWidget()->setVisible(!content.engines.rows.empty());
    for (const sections::SectionTable& table : content.options.tables) showRows(options_, table);
    for (const sections::SectionTable& table : content.bands.tables)
      showRows(table.key == "grades" ? grades_ : table.key == "bands" ? bands_ : sources_, table);
    target_->setFacts(targetFacts(catalog));
    applyDiagnostics(catalog);
  }

  void applyCards(const SummaryData& content) {
    const sections::Section& section = content.section;
    const sections::Fact* fits = factNamed(section, "fits");
    const bool* answer = fits == nullptr ? nullptr : std::get_if<bool>(&fits->value);
    const bool overflows = answer != nullptr && !*answer;
    memoryPlace_ = placeOfFullest(content.memory, overflows);
    const QString memory = memoryPlace_.unit >= 0 ? tr("Show the tile") : tr("Show memory");
    if (answer == nullptr) {
      const bool measured = context_.session.snapshot()->catalog->measured();
      cards_[0]->setFigure(
          tr("Memory"), measured ? tr("not known") : tr("not modelled"),
          measured ? tr("The trace says nothing about memory.") : tr("This system has no memory model."), {},
          Ui::muted);
    } else {
      cards_[0]->setFigure(tr("Memory"), *answer ? tr("Fits") : tr("Does not fit"),
                           withInterval(content.memoryInterval,
                                        memoryDetail(content.memory, content.memoryInterval.isEmpty())),
                           memory, *answer ? Ui::good : Ui::error);
      cards_[0]->setAmount(static_cast<double>(content.memory.maxUnit.count), false,
                           text(formatCell(content.memory.maxUnit.count, Format::bytes)), true);
    }
    applyRate(content, overflows);
    const sections::Fact* bound = factNamed(section, "bound_by");
    const auto* name = bound == nullptr ? nullptr : std::get_if<std::string>(&bound->value);
    boundPage_ = name == nullptr || *name == "pipeline" || *name == "compute" ? QStringLiteral("stages")
                 : *name == sections::kMemoryBandwidth                        ? QStringLiteral("operations")
                 : *name == "memory"                                          ? QStringLiteral("memory")
                                                                              : QStringLiteral("trace");
    cards_[2]->setFigure(tr("Bound by"), name == nullptr ? QStringLiteral("–") : text(*name),
                         name == nullptr ? withoutStages(*content.stages) : boundDetail(section, name),
                         tr("Show details"));
    applyLimiting(*content.stages);
    limitingPage_ = QStringLiteral("stages");
    const analysis::Catalog& catalog = *context_.session.snapshot()->catalog;
    if (!applyKernels(content.kernels) && catalog.measured() && content.stages->stages.empty())
      applyEngines(content);
  }

  /// A recorded run without known stages still says how long its training steps are, and how much of its time
  /// the devices are idle or only communicate.
  bool applyKernels(const sections::Section& section) {
    const sections::SectionTable* devices = tableNamed(section, "devices");
    if (devices == nullptr || devices->rows.empty()) return false;
    const sections::ShownTime time = section.time();
    const auto shown = [&](const auto& cell) { return text(loneText(cell, Format::ticks, time)); };
    const sections::Fact* step = factNamed(section, "mean_marked_step_cycles");
    if (step != nullptr && !std::holds_alternative<std::monostate>(step->value)) {
      const std::size_t rows = tableNamed(section, "steps")->rows.size();
      cards_[1]->setFigure(tr("Training step"), text(cardText(step->value, step->format, time)),
                           rows == 1 ? tr("the only one that the host marks")
                                     : tr("mean of the %1 that the host marks").arg(rows),
                           tr("Show the trace"));
      cards_[1]->setAmount(numberIn(step->value), false);
    } else {
      const auto& longest = *std::ranges::max_element(
          devices->rows, {},
          [at = columnNamed(*devices, "span_cycles")](const auto& row) { return numberIn(row[at]); });
      const sections::Cell& span = longest[columnNamed(*devices, "span_cycles")];
      cards_[1]->setFigure(tr("Length"), text(cardText(span, Format::ticks, time)),
                           tr("from the first to the last kernel of %1; the host marks no training steps")
                               .arg(wordsIn(longest[columnNamed(*devices, "device_name")])),
                           tr("Show the trace"));
      cards_[1]->setAmount(numberIn(span), false);
    }
    const auto most = [&](const char* key) -> const std::vector<sections::Cell>& {
      return *std::ranges::max_element(devices->rows, {}, [at = columnNamed(*devices, key)](const auto& row) {
        return numberIn(row[at]);
      });
    };
    const auto cell = [&](const std::vector<sections::Cell>& row, const char* key) -> const sections::Cell& {
      return row[columnNamed(*devices, key)];
    };
    const std::vector<sections::Cell>& idle = most("idle_share");
    const bool why = !std::holds_alternative<std::monostate>(cell(idle, "host_idle_cycles"));
    const QString basis =
        tr("%1, of its time from the first to the last kernel").arg(wordsIn(cell(idle, "device_name")));
    cards_[2]->setFigure(
        tr("Idle"), text(formatCell(cell(idle, "idle_share"), Format::fraction)),
        why ? tr("%1: %2 for the host's launches, %3 of the device")
                  .arg(basis, shown(cell(idle, "host_idle_cycles")), shown(cell(idle, "device_idle_cycles")))
            : tr("%1; the trace has no launches that would say why").arg(basis),
        tr("Show why"));
    cards_[2]->setAmount(numberIn(cell(idle, "idle_share")), false);
    const std::vector<sections::Cell>& exposed = most("exposed_communication_cycles");
    const double communicates = numberIn(cell(exposed, "exposed_communication_cycles"));
    cards_[3]->setFigure(
        tr("Only communicates"),
        communicates > 0 ? shown(cell(exposed, "exposed_communication_cycles")) : tr("never"),
        tr("%1: a kernel communicates and none computes").arg(wordsIn(cell(exposed, "device_name"))),
        tr("Show the kernels"));
    cards_[3]->setAmount(communicates, false);
    boundPage_ = limitingPage_ = QStringLiteral("recorded");
    return true;
  }

  /// A trace without kernels, such as that of a profiler of engines, says how long and how busy the engines
  /// are.
  void applyEngines(const SummaryData& content) {
    const sections::SectionTable& table = content.engines;
    if (table.rows.empty()) return;
    const auto column = [&](const char* key) { return columnNamed(table, key); };
    const auto& most = *std::ranges::max_element(
        table.rows, {}, [at = column("idle_share")](const auto& row) { return numberIn(row[at]); });
    const QString device = wordsIn(most[column("name")]);
    const sections::Cell& total = most[column("total_cycles")];
    cards_[1]->setFigure(tr("Length"), text(cardText(total, Format::ticks, content.section.time())),
                         tr("of what the trace shows of %1").arg(device), tr("Show the trace"));
    cards_[1]->setAmount(numberIn(total), false);
    const sections::Cell& idle = most[column("idle_share")];
    cards_[2]->setFigure(tr("Idle"), text(formatCell(idle, Format::fraction)),
                         tr("of the length: no engine of %1 works").arg(device), tr("Show the engines"));
    cards_[2]->setAmount(numberIn(idle), false);
    std::size_t busiest = table.columns.size();
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      if (table.columns[c].key.ends_with("_utilisation") &&
          (busiest == table.columns.size() || numberIn(most[c]) > numberIn(most[busiest])))
        busiest = c;
    boundPage_ = limitingPage_ = QStringLiteral("engines");
    if (busiest == table.columns.size()) return;
    cards_[3]->setFigure(tr("Busiest engine"), text(table.columns[busiest].heading),
                         tr("works %1 of the length").arg(text(formatCell(most[busiest], Format::fraction))),
                         tr("Show the engines"));
  }

  void applyOverflow(const SummaryData& content) {
    overflowPlaces_.clear();
    const auto column = [&](std::string_view key) {
      const auto& columns = content.overflow.columns;
      return static_cast<std::size_t>(std::ranges::find(columns, key, &sections::SectionColumn::key) -
                                      columns.begin());
    };
    const std::size_t device = column("device"), tile = column("worst_tile");
    for (const auto& row : content.overflow.rows) {
      shell::Place place{QStringLiteral("memory"), {}, -1, {}};
      const auto *index = std::get_if<std::int64_t>(&row[device]),
                 *unit = std::get_if<std::int64_t>(&row[tile]);
      if (index != nullptr && unit != nullptr) {
        place.device = model::DeviceId(*index);
        place.unit = *unit;
      }
      overflowPlaces_.push_back(place);
    }
    overflow_->setTable(content.overflow);
    overflow_->parentWidget()->setVisible(!content.overflow.rows.empty());
    sections::SectionTable advice = content.advice;
    const auto inWords = [this](const std::string& sentence) {
      return withSettingsInWords(text(sentence), *context_.session.snapshot()->catalog).toStdString();
    };
    advice.basis = inWords(advice.basis);
    for (auto& row : advice.rows) row.front() = inWords(wordsIn(row.front()).toStdString());
    advice_->setTable(std::move(advice));
    advice_->parentWidget()->setVisible(!content.advice.rows.empty());
  }

  /// Shows output tokens per second of a generation. Returns false if the run generates nothing.
  bool applyTokens(const SummaryData& content, bool overflows) {
    const sections::Fact* tokens = factNamed(content.section, "output_tokens_per_second");
    if (tokens == nullptr || std::holds_alternative<std::monostate>(tokens->value)) return false;
    QStringList details;
    if (overflows) details << tr("the model does not fit");
    for (const auto& [key, words] : {std::pair("time_to_first_token_seconds", tr("first token after %1")),
                                     std::pair("time_per_token_seconds", tr("then one each %1"))}) {
      const sections::Fact* fact = factNamed(content.section, key);
      if (fact != nullptr && !std::holds_alternative<std::monostate>(fact->value))
        details << words.arg(text(factText(content.section, *fact)));
    }
    cards_[1]->setFigure(overflows ? tr("Hypothetical output tokens/s") : tr("Output tokens/s"),
                         text(formatCell(tokens->value, tokens->format)).section(QLatin1Char(' '), 0, 0),
                         withInterval(details.join(QStringLiteral("; ")), stepDetail(content.section)),
                         tr("Show the trace"));
    cards_[1]->setAmount(numberIn(tokens->value), true);
    return true;
  }

  void applyRate(const SummaryData& content, bool overflows) {
    if (applyTokens(content, overflows)) return;
    const double rate = content.execution.samplesPerSecond;
    const bool costs = content.scale.unit == geometry::TimeUnit::costUnits,
               measured = context_.session.snapshot()->catalog->measured();
    const sections::ShownTime time = sections::wordsOf(*context_.session.snapshot()->catalog).time;
    const QString took = text(cardText(content.execution.total.count, Format::ticks, time)),
                  samples = text(geometry::groupedNumber(content.execution.samples));
    // Costs and traces of other programs do not say how many samples a call has.
    const QString call = content.execution.samples > 0
                             ? (content.execution.samples == 1 ? tr("last call: %1 sample in %2")
                                                               : tr("last call: %1 samples in %2"))
                                   .arg(samples, took)
                             : tr("last call: %1; its number of samples is not known").arg(took);
    const double step = content.stages->lost.step;
    if (content.ran && !(rate > 0) && step > 0) {
      // The step time says how fast it is if the rate is not known.
      const QString figure = text(cardText(step, Format::ticks, time));
      cards_[1]->setFigure(costs ? tr("Step time, cost units") : tr("Step time"),
                           costs ? figure.section(QLatin1Char(' '), 0, 0) : figure,
                           withInterval(intervalIn(content.section, "step_least_cycles"), call),
                           tr("Show the trace"));
      return cards_[1]->setAmount(step, false);
    }
    const QString stepText = stepDetail(content.section), stepOrCall = stepText.isEmpty() ? call : stepText;
    cards_[1]->setFigure(costs       ? tr("Samples per cost unit")
                         : overflows ? tr("Hypothetical samples/s")
                         : measured  ? tr("Samples/s")
                                     : tr("Emulated samples/s"),
                         content.ran && rate > 0
                             ? text(formatCell(rate, Format::rate)).section(QLatin1Char(' '), 0, 0)
                             : QStringLiteral("–"),
                         !content.ran ? tr("nothing has run")
                         : overflows  ? withInterval(tr("the model does not fit"), stepOrCall)
                                      : stepOrCall,
                         tr("Show the trace"));
    if (content.ran && rate > 0) cards_[1]->setAmount(rate, true);
  }

  void applyLimiting(const analysis::StagesReport& report) {
    limitingStage_ = report.limitingStage;
    const analysis::StageReport* stage = report.limiting();
    if (stage == nullptr) {
      return cards_[3]->setFigure(tr("Limiting stage"), QStringLiteral("–"), withoutStages(report),
                                  tr("Show the stages"));
    }
    double mean = 0;
    for (const analysis::StageReport& each : report.stages)
      mean += each.occupied / static_cast<double>(report.stages.size());
    const double ratio = mean > 0 ? stage->occupied / mean : 0;
    QString name = text(sections::limitingStages(report));
    name.replace(0, 1, name.at(0).toUpper());
    const bool alone = std::ranges::count_if(report.stages, &analysis::StageReport::limits) == 1;
    const bool isOnly = report.stages.size() == 1;
    const QString share = alone ? tr("occupied %1 × as long as the mean stage").arg(ratio, 0, 'f', 2)
                                : tr("equally long, %1 × the mean stage").arg(ratio, 0, 'f', 2);
    std::vector<std::string> devices;
    for (const analysis::StageReport& each : report.stages) devices.push_back(each.deviceName);
    const auto place = static_cast<std::size_t>(stage - report.stages.data());
    const QString device = text(base::shortNames(devices)[place]),
                  blocks = text(sections::shortList(stage->blocks));
    const QString where = blocks.isEmpty() ? tr("on %1").arg(device) : tr("%1 on %2").arg(blocks, device);
    // The blocks stand last, because a card shows four lines and a list of blocks may be long.
    if (isOnly) {
      cards_[3]->setFigure(tr("The only stage"), name, where, tr("Show the stages"));
      return cards_[3]->setToolTip(
          tr("%1 on %2").arg(text(stage->blocks), text(stage->deviceName)).trimmed());
    }
    cards_[3]->setFigure(tr("Limiting stage"), name, alone ? tr("%1: %2").arg(share, where) : share,
                         tr("Show the stages"), ratio > 1.2 ? Ui::warning : Ui::text);
    cards_[3]->setToolTip(
        alone ? tr("%1 on %2, %3").arg(text(stage->blocks), text(stage->deviceName), share).trimmed()
              : share);
  }

  /// The memory page; with the tile of the largest address span if that is wanted and there are tiles.
  static shell::Place placeOfFullest(const analysis::Memory& memory, bool withUnit) {
    shell::Place place{QStringLiteral("memory"), {}, -1, {}};
    const analysis::DeviceMemory* fullest = nullptr;
    for (const analysis::DeviceMemory& device : memory.devices) {
      if (fullest == nullptr || device.maxUnitIncludingGaps > fullest->maxUnitIncludingGaps)
        fullest = &device;
    }
    if (!withUnit || fullest == nullptr || fullest->units <= 1) return place;
    place.device = model::DeviceId(fullest->index);
    place.unit = fullest->spanUnit;
    return place;
  }

  /// A card has room for two lines, so that the address span stands there only if there is no interval.
  static QString memoryDetail(const analysis::Memory& memory, bool withSpan) {
    const analysis::DeviceMemory* fullest = nullptr;
    for (const analysis::DeviceMemory& device : memory.devices) {
      if (fullest == nullptr || device.maxUnit > fullest->maxUnit) fullest = &device;
    }
    if (fullest == nullptr) return {};
    const auto bytes = [](base::Bytes b) { return text(formatCell(b.count, Format::bytes)); };
    const QString used = bytes(fullest->maxUnit), span = bytes(memory.maxUnitIncludingGaps),
                  capacity = bytes(fullest->bytesPerUnit);
    const bool sameUnit = used.section(QLatin1Char(' '), 1) == capacity.section(QLatin1Char(' '), 1);
    const QString fill =
        tr("%1 on %2: %3 of %4")
            .arg(fullest->units > 1 ? tr("fullest tile") : tr("fullest"), text(fullest->name),
                 sameUnit ? used.section(QLatin1Char(' '), 0, 0) : used, capacity);
    // The span equals the used bytes if there are no gaps between variables.
    return span == used || !withSpan ? fill : tr("%1; largest address span %2").arg(fill, span);
  }

  /// The modelled step time with its interval: "step 93 ms (172,050,000 cycles), 80 %: 88 … 101 ms"; empty if
  /// it has none.
  static QString stepDetail(const sections::Section& section) {
    const QString interval = intervalIn(section, "step_least_cycles");
    const sections::Fact* step = factNamed(section, "step_cycles");
    if (interval.isEmpty() || step == nullptr) return {};
    return tr("step %1; %2").arg(text(cardText(step->value, step->format, section.time())), interval);
  }

  /// Keeps a figure and its unit on one line.
  static QString together(QString figure) { return figure.replace(QLatin1Char(' '), QChar::Nbsp); }

  /// Says why a figure about stages is missing.
  static QString withoutStages(const analysis::StagesReport& report) {
    return report.stages.empty()    ? tr("no stages were recorded")
           : report.missing.empty() ? tr("nothing has run")
                                    : tr("not all stages were recorded");
  }

  static QString boundDetail(const sections::Section& section, const std::string* name) {
    const sections::Fact* shares = factNamed(section, "time_shares");
    const auto* parts = shares == nullptr ? nullptr : std::get_if<sections::Breakdown>(&shares->value);
    if (parts == nullptr || name == nullptr) return {};
    const bool memory = *name == sections::kMemoryBandwidth;
    for (const auto& [part, share] : *parts) {
      if (part != (memory ? "compute" : *name)) continue;
      const QString of = tr("%1\u00a0% of the devices' time").arg(sections::numberOf(share) * 100, 0, 'f', 0);
      const sections::Fact* use = factNamed(section, memory ? "memory_bandwidth_use" : "model_flop_use");
      return use == nullptr || std::holds_alternative<std::monostate>(use->value)
                 ? of
                 : (memory ? tr("%1; memory bandwidth use %2") : tr("%1; model FLOP use %2"))
                       .arg(of, together(text(formatCell(use->value, use->format))));
    }
    return {};
  }

  void applyShares(const SummaryData& content) {
    const std::vector<std::pair<const char*, NamedPart>> looks = {
        {"compute", {tr("compute"), ColourRole::compute, 0}},
        {"exchange", {tr("exchange, sync and waits for them"), ColourRole::exchange, 0}},
        {"stream", {tr("stream copies"), ColourRole::streamCopy, 0}},
        {"memory", {tr("remote memory"), ColourRole::remoteCopy, 0}},
        {"control", {tr("control"), ColourRole::control, 0}},
        {"unknown", {tr("unknown"), ColourRole::otherKind, 0}},
        {"host", {tr("waiting for the host"), ColourRole::waitHost, 0, true}},
        {"pipeline",
         {tr("waiting in the pipeline (fill, drain, slower stages, updates of others)"),
          ColourRole::waitSlowerStage, 0, true}}};
    const sections::Fact* shares = factNamed(content.section, "time_shares");
    const auto* breakdown = shares == nullptr ? nullptr : std::get_if<sections::Breakdown>(&shares->value);
    std::vector<NamedPart> parts;
    for (const auto& [key, look] : looks) {
      NamedPart part = look;
      for (const auto& [name, share] : breakdown == nullptr ? sections::Breakdown() : *breakdown)
        part.value += name == key ? sections::numberOf(share) : 0;
      parts.push_back(part);
    }
    shares_->setVisible(
        std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part.value > 0; }));
    shares_->setParts({parts}, [](double share) { return text(formatCell(share, Format::fraction)); });
  }

  void applyDiagnostics(const analysis::Catalog& catalog) {
    while (QLayoutItem* item = diagnostics_->takeAt(0)) {
      delete item->widget();
      delete item;
    }
    std::vector<model::Diagnostic> rows = catalog.diagnostics;
    // The tables above say the same, for the shown executable.
    std::erase_if(rows, [&](const model::Diagnostic& row) {
      return row.executable == context_.session.executable() &&
             (row.code == sections::kOutOfMemory || row.code == sections::kMemoryAdvice);
    });
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.severity > b.severity; });
    for (const model::Diagnostic& row : rows) {
      const bool error = row.severity == model::Severity::error,
                 warning = row.severity == model::Severity::warning;
      diagnostics_->addWidget(new IconSentence(context_.palette,
                                               error     ? QStringLiteral("error")
                                               : warning ? QStringLiteral("warning")
                                                         : QStringLiteral("info"),
                                               error     ? Ui::error
                                               : warning ? Ui::warning
                                                         : Ui::accent,
                                               text(row.text), diagnosticsPanel_));
    }
    diagnosticsPanel_->setVisible(!rows.empty());
  }

  std::array<FigureCard*, 4> cards_{};
  PartsChart* shares_ = nullptr;
  DataTable *figures_ = nullptr, *engines_ = nullptr, *executables_ = nullptr, *options_ = nullptr,
            *grades_ = nullptr, *bands_ = nullptr, *sources_ = nullptr;
  DataTable *overflow_ = nullptr, *advice_ = nullptr;
  std::vector<shell::Place> overflowPlaces_;  ///< place that each row of the table leads to
  std::optional<QString> filledFor_;          ///< the profile whose figures the page shows
  FactGrid* target_ = nullptr;
  QWidget* diagnosticsPanel_ = nullptr;
  QVBoxLayout* diagnostics_ = nullptr;
  QString boundPage_ = QStringLiteral("stages");
  QString limitingPage_;  ///< page to which the last card leads
  shell::Place memoryPlace_;
  std::int32_t limitingStage_ = -1;
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(summary) {
  registry.add({QStringLiteral("summary"), QObject::tr("Summary"), QStringLiteral("summary"),
                QObject::tr("Whether the model fits, how fast it is, and what limits it"), PageGroup::result,
                10, [](PageContext& context) -> Page* { return new pages::SummaryPage(context); }});
}

}  // namespace pipescope::shell
