// Shows which workers of a recorded run slow the others down, and in which iterations.
#include <QVBoxLayout>
#include <algorithm>
#include <memory>

#include "profiler/analysis/pipeline/stragglers.h"
#include "profiler/sections/frame/reports.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/columns_area.h"
#include "views/pages/parts/layout/empty_states.h"
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/row_menu.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/shell/page.h"
#include "views/timeline/wait_matrix.h"

namespace pipescope::pages {
namespace {

using sections::Format;

constexpr int kCulpritRows = 10, kWorkerNameWidth = 300;

struct StragglersData {
  sections::Section section;
  std::shared_ptr<const analysis::StragglersAnswer> answer;
};

}  // namespace

class StragglersPage : public shell::Page {
 public:
  explicit StragglersPage(shell::PageContext& context) : Page(context) {
    auto* area = new ColumnsArea(this);
    sentences_ = new Panel(context.palette, tr("Verdict"), this);
    area->top()->addWidget(sentences_);
    matrixPanel_ = new Panel(context.palette, tr("Workers and iterations"), this);
    matrix_ = new timeline::WaitMatrix(context.palette, matrixPanel_);
    matrix_->setMostNameWidth(kWorkerNameWidth);
    matrix_->setAccessibleName(tr("Workers and iterations"));
    matrixPanel_->body()->addWidget(matrix_);
    area->top()->addWidget(matrixPanel_);
    stages_ = addTable(*area->left());
    operations_ = addTable(*area->left());
    area->left()->addStretch(1);
    workers_ = addTable(*area->right());
    ranks_ = addTable(*area->right());
    ranksOfPlaces_ = addTable(*area->right());
    arrivals_ = addTable(*area->right());
    area->right()->addStretch(1);
    iterations_ = addTable(*area->bottom());
    setContent(area);
    connect(matrix_, &timeline::WaitMatrix::clicked, this,
            [this](int row, int) { context_.selection.set(subjectOfRow(row)); });
    offerSubjects(*matrix_, [this](int row) { return subjectOfRow(row); });
    connect(&context.selection, &shell::Selection::changed, this, &StragglersPage::followOthers);
  }

 protected:
  Load load() override {
    return [this](const Job& job) -> base::Result<Apply> {
      if (job.catalog.executables.empty())
        return base::badInput("The profile has no executable: its run ended before anything was compiled.");
      const sections::Context context{job.source, job.catalog, job.executable, -1, job.reports};
      auto content = std::make_shared<StragglersData>();
      PIPESCOPE_ASSIGN(content->answer, stragglersOf(context));
      // The workers are shown while the waits are read, which say who arrives last at collectives.
      if (content->answer->stragglers)
        job.begin([this, answer = content->answer] { beginWith(*answer->stragglers); });
      PIPESCOPE_ASSIGN(content->section, sectionNamed("stragglers", context));
      return Apply([this, content] { apply(content); });
    };
  }

 private:
  DataTable* addTable(QVBoxLayout& column) {
    return addTablePanel(context_.palette, column, kCulpritRows, this);
  }

  /// Shows the matrix alone, unless an older answer with all tables stands there.
  void beginWith(const analysis::Stragglers& found) {
    if (data_) return;
    sentences_->setVisible(false);
    for (DataTable* table : {stages_, workers_, ranks_, ranksOfPlaces_, arrivals_, operations_, iterations_})
      table->parentWidget()->setVisible(false);
    applyMatrix(found);
  }

  void apply(std::shared_ptr<const StragglersData> content) {
    data_ = std::move(content);
    sentences_->setVisible(true);
    // Who arrives last at collectives can be known where the steps cannot be replayed.
    if (!data_->answer->stragglers && tableNamed(data_->section, "arrivals")->rows.empty())
      return showInstead(text(data_->answer->why));
    applySentences();
    matrixPanel_->setVisible(data_->answer->stragglers.has_value());
    if (data_->answer->stragglers) applyMatrix(*data_->answer->stragglers);
    const std::pair<DataTable*, const char*> tables[] = {{stages_, "stages"},
                                                         {workers_, "workers"},
                                                         {ranks_, "data_parallel_ranks"},
                                                         {ranksOfPlaces_, "ranks_of_places"},
                                                         {arrivals_, "arrivals"},
                                                         {operations_, "operations"},
                                                         {iterations_, "iterations"}};
    for (const auto& [widget, name] : tables) {
      const sections::SectionTable* table = tableNamed(data_->section, name);
      widget->setTable(*table, data_->section.ticksPerShownUnit);
      widget->parentWidget()->setVisible(tells(*table));
    }
    followOthers();
  }

  /// True for a table that says more than the others: one stage or rank is all there is, and stages of one
  /// worker each have the figures of their workers.
  bool tells(const sections::SectionTable& table) const {
    const bool isChoice =
        table.key == "stages" || table.key == "data_parallel_ranks" || table.key == "ranks_of_places";
    if (table.rows.size() <= (isChoice ? 1U : 0U)) return false;
    if (table.key != "stages" || !data_->answer->stragglers) return true;
    const auto slowdowns = [](const std::vector<analysis::Straggler>& all) {
      std::vector<std::pair<double, double>> values;
      for (const analysis::Straggler& one : all) values.emplace_back(one.alone, one.without);
      std::ranges::sort(values);
      return values;
    };
    return slowdowns(data_->answer->stragglers->stages) != slowdowns(data_->answer->stragglers->workers);
  }

  void applySentences() {
    while (QLayoutItem* item = sentences_->body()->takeAt(0)) {
      delete item->widget();
      delete item;
    }
    for (const std::string& sentence : data_->section.remarks)
      sentences_->body()->addWidget(new IconSentence(context_.palette, QStringLiteral("info"),
                                                     shell::Ui::accent, text(sentence), sentences_));
  }

  /// The colour of a cell is the share by which the worker is slower than usual.
  void applyMatrix(const analysis::Stragglers& found) {
    QStringList rows, columns;
    std::vector<timeline::WaitCell> cells;
    std::vector<std::size_t> order(found.workers.size());
    for (std::size_t w = 0; w < order.size(); ++w) order[w] = w;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return sections::countsBefore(found.workers[a].name, found.workers[b].name);
    });
    for (const std::size_t w : order) rows << text(found.workers[w].name);
    constexpr std::size_t kFewIterations = 12;
    const bool few = found.iterations.size() <= kFewIterations;
    for (std::size_t i = 0; i < found.iterations.size(); ++i)
      columns << (few ? tr("iteration %1").arg(i) : QString::number(i));
    for (std::size_t row = 0; row < order.size(); ++row) {
      const std::vector<double>& paces = found.pace[order[row]];
      for (std::size_t i = 0; i < paces.size(); ++i) {
        const double pace = paces[i];
        if (pace <= 0) continue;  // it computed nothing
        timeline::WaitCell cell;
        cell.row = static_cast<int>(row);
        cell.column = static_cast<int>(i);
        cell.share = std::max(0.0, pace - 1);
        cell.role = geometry::ColourRole::waitSlowerStage;
        cell.label = QString::number(pace, 'f', 2);
        cell.tip = tr("%1, iteration %2: its computations take %3 times as long as usual.")
                       .arg(rows[cell.row])
                       .arg(i)
                       .arg(text(formatCell(pace, Format::ratio)));
        cells.push_back(std::move(cell));
      }
    }
    double slowest = 1;
    for (const timeline::WaitCell& cell : cells) slowest = std::max(slowest, 1 + cell.share);
    matrixPanel_->setTitle(
        tr("Workers and iterations"),
        tr("time of a worker's computations ÷ the usual time of the same computations, in each "
           "iteration; the palest colour is the usual time, the strongest is %1 times as long")
            .arg(QString::number(slowest, 'f', 2)));
    matrix_->setMatrix(rows, columns, std::move(cells));
  }

  /// The worker of a row of the matrix.
  shell::Selected subjectOfRow(int row) const {
    shell::Selected subject;
    if (row < 0 || row >= matrix_->rows().size()) return subject;
    for (const model::Device& device : context_.session.snapshot()->catalog->devices) {
      if (text(device.name) != matrix_->rows()[row]) continue;
      subject.kind = shell::Selected::Kind::device;
      subject.device = device.id;
    }
    return subject;
  }

  void followOthers() {
    if (!data_) return;
    const model::Device* device =
        context_.session.snapshot()->catalog->device(context_.selection.current().device);
    matrix_->setMarked(device == nullptr ? -1 : matrix_->rows().indexOf(text(device->name)));
  }

  std::shared_ptr<const StragglersData> data_;
  Panel* sentences_ = nullptr;
  timeline::WaitMatrix* matrix_ = nullptr;
  Panel* matrixPanel_ = nullptr;
  DataTable *stages_ = nullptr, *workers_ = nullptr, *ranks_ = nullptr, *ranksOfPlaces_ = nullptr,
            *arrivals_ = nullptr, *operations_ = nullptr, *iterations_ = nullptr;
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(stragglers) {
  registry.add({QStringLiteral("stragglers"), QObject::tr("Stragglers"), QStringLiteral("stragglers"),
                QObject::tr("Which workers of a recorded run slow the others down, and when"),
                PageGroup::recorded, 20,
                [](PageContext& context) -> Page* { return new pages::StragglersPage(context); }, true,
                pages::whyNoStragglers});
}

}  // namespace pipescope::shell
