// Shows the model as a graph: blocks, layers and operators with the tensors between them, and where it is cut
// into stages.
#include <QComboBox>
#include <QLabel>
#include <QTabWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "profiler/sections/frame/words.h"
#include "views/pages/parts/charts/graph_drawing.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/empty_states.h"
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/layout/tool_row.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/row_menu.h"
#include "views/pages/parts/tables/row_subject.h"
#include "views/shell/page.h"
#include "views/timeline/graph_canvas.h"
#include "views/timeline/legend.h"

namespace pipescope::pages {
namespace {

using geometry::ColourRole;
using sections::Format;

const auto kGraphColourKey = QStringLiteral("graph/colour");

}  // namespace

class GraphPage : public shell::Page {
 public:
  explicit GraphPage(shell::PageContext& context) : Page(context) {
    auto* tools = new QHBoxLayout;
    tools->addWidget(makeTools());
    auto* area = area_ = new SplitArea(context.palette, tools, this);
    area->setShares(7, 3);
    upper_ = area->picture();
    canvas_ = new timeline::GraphCanvas(context.palette, upper_);
    canvas_->setAccessibleName(tr("Graph of the model"));
    legend_ = new timeline::Legend(context.palette, upper_);
    upper_->body()->addWidget(canvas_, 1);
    upper_->body()->addWidget(legend_);
    facts_ = new FactGrid(context.palette, area->tabs());
    tensors_ = new DataTable(context.palette, area->tabs());
    cuts_ = new DataTable(context.palette, area->tabs());
    for (DataTable* table : {tensors_, cuts_}) table->setFilterVisible(true);
    tensors_->setComparable(false);
    area->tabs()->addTab(tensors_, tr("Tensors"));
    area->tabs()->addTab(cuts_, tr("Cuts between stages"));
    area->setFacts(facts_, tr("Details"));
    area->tabs()->setCurrentIndex(0);
    setContent(area);
    setKeyWidget(canvas_);
    canvas_->setDescriber([this](int box) { return describe(box); });
    connect(canvas_, &timeline::GraphCanvas::selectionChanged, this, [this](int box) {
      applyDetails(box);
      following_ = true;  // it need not answer itself
      if (box >= 0) context_.selection.set(subjectOfBox(box));
      following_ = false;
    });
    connect(canvas_, &timeline::GraphCanvas::opened, this, &GraphPage::openBox);
    connect(canvas_, &timeline::GraphCanvas::menuWanted, this,
            [this](int box, const QPoint& at) { popUpSubjectMenu(*canvas_, subjectOfBox(box), at); });
    connect(&context.selection, &shell::Selection::changed, this, &GraphPage::followOthers);
    connect(canvas_, &timeline::GraphCanvas::leaveWanted, this, [this] { leave(); });
    const QString group = tr("Graph");
    for (const auto& [what, keys] :
         {std::pair{tr("Zoom"), tr("wheel  +  -")}, std::pair{tr("Pan"), tr("drag  ←  →  ↑  ↓")},
          std::pair{tr("Show everything"), tr("0")}, std::pair{tr("Select the next box"), tr(".")},
          std::pair{tr("Select the previous box"), tr(",")},
          std::pair{tr("Open the selected group"), tr("Return  double click")},
          std::pair{tr("Show the group around it"), tr("Backspace")}})
      context.actions.describe(group, what, keys);
  }

  shell::Picture picture() override { return {canvas_, accessibleName(), {}}; }
  QWidget* chartBeside() override { return canvas_; }
  bool showsSelection() const override { return canvas_->selected() >= 0 || opening_; }

  /// Finds operators by name in the whole graph, opens their group and selects them.
  QString find(const QString& words, int direction) override {
    if (!data_ || words.isEmpty()) return {};
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < data_->graph.nodes.size(); ++i) {
      if (text(data_->graph.nodes[i].name).contains(words, Qt::CaseInsensitive)) found.push_back(i);
    }
    if (found.empty()) return tr("nothing found");
    const auto count = static_cast<int>(found.size());
    found_ = direction == 0 ? 0 : (found_ + direction + count) % count;
    showNode(found[static_cast<std::size_t>(found_)]);
    return tr("%1 of %2 operators").arg(found_ + 1).arg(count);
  }
  void endFind() override {}

 protected:
  Load load() override {
    return [this](const Job& job) -> base::Result<Apply> {
      if (job.catalog.executables.empty())
        return base::badInput("The profile has no executable: its run ended before anything was compiled.");
      auto content = std::make_shared<GraphData>();
      PIPESCOPE_ASSIGN(content->graph, analysis::modelGraph(job.source, job.catalog, job.executable));
      content->time = sections::wordsOf(job.catalog).time;
      return Apply([this, content] { apply(content); });
    };
  }

  void forget() override {
    path_.clear();
    followed_.clear();
  }

 private:
  QWidget* makeTools() {
    auto* tools = new ToolRow(context_, this);
    tools->setIndent(kSplitIndent);
    crumbs_ = new QLabel(tools);
    crumbs_->setTextFormat(Qt::RichText);
    crumbs_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);  // a long path is cut
    crumbs_->setAccessibleName(tr("Open group"));
    connect(crumbs_, &QLabel::linkActivated, this, [this](const QString& path) { openPath(path.mid(1)); });
    tools->add(crumbs_, 1);
    colour_ =
        tools->combo({tr("Colour: stage"), tr("Colour: time"), tr("Colour: memory"), tr("Colour: type")},
                     tr("Colour"), tr("What the colour of a box stands for"));
    colour_->setCurrentIndex(qBound(0, context_.settings.value(kGraphColourKey, 0).toInt(), 3));
    connect(colour_, QOverload<int>::of(&QComboBox::activated), this, [this](int index) {
      context_.settings.setValue(kGraphColourKey, index);
      if (data_) openPath(path_);
    });
    tools->button(QStringLiteral("zoom_out"), tr("Zoom out"), [this] { canvas_->zoomBy(0.8); });
    tools->button(QStringLiteral("zoom_in"), tr("Zoom in"), [this] { canvas_->zoomBy(1.25); });
    tools->button(QStringLiteral("fit"), tr("Show everything"), [this] { canvas_->zoomToAll(); });
    tools->pictureButton();
    return tools;
  }

  void apply(std::shared_ptr<const GraphData> content) {
    data_ = std::move(content);
    if (data_->graph.nodes.empty())
      return showInstead(tr("This profile records no operators, so there is no graph to draw."));
    remark(data_->graph.edgesKnown
               ? QString()
               : tr("This profile does not say which operator reads what another one makes, "
                    "so the graph has no edges."));
    followed_.clear();
    if (!followOthers()) openPath(path_);
  }

  shell::Selected subjectOfBox(int box) const {
    shell::Selected subject;
    if (!opened_ || box < 0) return subject;
    const analysis::GraphBox& own = opened_->view.boxes[static_cast<std::size_t>(box)];
    subject.kind = shell::Selected::Kind::operation;
    subject.name = text(own.path);
    subject.stage = own.stage;
    return withDevice(subject, context_.session);
  }

  /// Selects the operator or group that another page selected. False: there is none.
  bool followOthers() {
    const QString& name = context_.selection.current().name;
    if (following_ || !data_ || name.isEmpty() || name == followed_) return false;
    const auto& nodes = data_->graph.nodes;
    const int node = nearestName(name, static_cast<int>(nodes.size()),
                                 [&](int i) { return text(nodes[static_cast<std::size_t>(i)].name); });
    if (node < 0) return false;
    followed_ = name;
    const QString own = text(nodes[static_cast<std::size_t>(node)].name);
    const bool isGroup = own.startsWith(name + QLatin1Char('/'));
    openPath(isGroup ? name.section(QLatin1Char('/'), 0, -2)
                     : text(analysis::groupOf(nodes[static_cast<std::size_t>(node)])),
             node);
    return true;
  }

  /// Lays a group out on a worker and shows it.
  void openPath(const QString& path, int wantedNode = -1) {
    path_ = path;
    opening_ = wantedNode >= 0;
    readInBackground(
        [data = data_, path, colour = static_cast<GraphColour>(colour_->currentIndex())] {
          return std::make_shared<const OpenedGraph>(openGraph(*data, path, colour));
        },
        [this, data = data_, wantedNode](const std::shared_ptr<const OpenedGraph>& opened) {
          if (data != data_ || opened->path != path_) return;
          opened_ = opened;
          opening_ = false;
          canvas_->setScene(opened->scene);
          applyCrumbs();
          applyLegend();
          applyDetails(-1);
          applyCuts();
          if (wantedNode >= 0) selectNode(static_cast<std::size_t>(wantedNode));
        });
  }

  void openBox(int box) {
    const analysis::GraphBox& own = opened_->view.boxes[static_cast<std::size_t>(box)];
    if (own.group) return openPath(text(own.path));
    showSubject(*canvas_, subjectOfBox(box), QStringLiteral("trace"));
  }

  void leave() {
    if (!path_.isEmpty()) openPath(path_.section(QLatin1Char('/'), 0, -2));
  }

  void showNode(std::size_t node) {
    openPath(text(analysis::groupOf(data_->graph.nodes[node])), static_cast<int>(node));
  }

  void selectNode(std::size_t node) {
    const auto& boxes = opened_->view.boxes;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      if (std::find(boxes[i].nodes.begin(), boxes[i].nodes.end(), node) == boxes[i].nodes.end()) continue;
      canvas_->select(static_cast<int>(i));
      return applyDetails(static_cast<int>(i));
    }
  }

  void applyCrumbs() {
    QStringList parts = {QStringLiteral("<a href=\"/\">%1</a>").arg(tr("Model"))};
    QString so;
    for (const QString& part : path_.split(QLatin1Char('/'), Qt::SkipEmptyParts)) {
      so += (so.isEmpty() ? QString() : QStringLiteral("/")) + part;
      parts << QStringLiteral("<a href=\"/%1\">%2</a>").arg(so.toHtmlEscaped(), part.toHtmlEscaped());
    }
    const std::size_t left = opened_->view.left;
    crumbs_->setText(
        parts.join(QStringLiteral(" › ")) +
        (left > 0 ? tr(" — the first %1 boxes; %2 operators are left out").arg(kMostGraphBoxes).arg(left)
                  : QString()));
  }

  void applyLegend() {
    std::vector<timeline::LegendEntry> entries;
    const auto colour = static_cast<GraphColour>(colour_->currentIndex());
    const auto add = [&](const QString& name, ColourRole role) {
      if (std::ranges::none_of(entries, [&](const auto& entry) { return entry.text == name; }))
        entries.push_back({name, role, false});
    };
    if (colour == GraphColour::time || colour == GraphColour::memory) {
      add(tr("little"), shadeOf(1, 8));
      add(tr("most"), shadeOf(1, 1));
    }
    if (colour == GraphColour::stage) {
      std::set<std::int32_t> stages;
      for (const analysis::GraphBox& box : opened_->view.boxes) stages.insert(box.stage);
      for (const std::int32_t stage : stages)
        if (stage >= 0) add(tr("stage %1").arg(stageWords(stage)), geometry::seriesRole(stage));
      if (stages.contains(-1)) add(tr("several stages"), ColourRole::gaps);
    }
    std::vector<std::string> kinds;
    for (const analysis::GraphBox& box : opened_->view.boxes) {
      if (colour != GraphColour::type) continue;
      if (std::find(kinds.begin(), kinds.end(), box.kind) == kinds.end()) kinds.push_back(box.kind);
      add(text(box.kind), geometry::seriesRole(static_cast<int>(
                              std::find(kinds.begin(), kinds.end(), box.kind) - kinds.begin())));
    }
    if (std::ranges::any_of(opened_->view.links, &analysis::GraphLink::cut))
      add(tr("cut between stages"), ColourRole::critical);
    legend_->setEntries(std::move(entries));
  }

  /// "3", or "3 and 12" where two stages hold the same operators.
  QString stageWords(std::int32_t stage) const {
    QString words = QString::number(stage);
    for (const auto& [mirror, own] : data_->graph.mirrors)
      if (own == stage) words = tr("%1 and %2").arg(words).arg(mirror);
    return words;
  }

  QString time(base::Ticks ticks) const {
    return text(timeText(static_cast<double>(ticks.count), data_->time, sections::TimeStyle::exact));
  }

  QString describe(int box) const {
    const analysis::GraphBox& own = opened_->view.boxes[static_cast<std::size_t>(box)];
    QStringList lines = {text(own.path), text(own.kind), time(own.ticks)};
    if (any(&analysis::ModelNode::flops))
      lines.back() += tr(", %1 FLOP").arg(text(formatCell(own.flops, Format::amount)));
    if (any(&analysis::ModelNode::memory))
      lines << tr("%1 of weights, stashes and code").arg(text(formatCell(own.memory.count, Format::bytes)));
    return lines.join(QLatin1Char('\n'));
  }

  /// True if the profile tells the quantity: devices with given costs have no FLOP and no memory.
  template <class Amount>
  bool any(Amount analysis::ModelNode::*amount) const {
    return std::ranges::any_of(data_->graph.nodes,
                               [&](const auto& node) { return node.*amount > Amount(0); });
  }

  void applyDetails(int box) {
    std::vector<ShownFact> facts;
    if (opened_ && box >= 0) {
      const analysis::GraphBox& own = opened_->view.boxes[static_cast<std::size_t>(box)];
      facts = {
          {tr("Name"), text(own.path), {}},
          {tr("Type"), text(own.kind), {}},
          {tr("Stage"), own.stage < 0 ? tr("several") : stageWords(own.stage), {}},
          {tr("Time"), time(own.ticks), tr("all passes of an iteration, on all devices of one replica")}};
      if (any(&analysis::ModelNode::flops))
        facts.push_back(
            {tr("FLOP"), text(formatCell(own.flops, Format::amount)), tr("all passes of an iteration")});
      if (any(&analysis::ModelNode::memory))
        facts.push_back({tr("Memory"), text(formatCell(own.memory.count, Format::bytes)),
                         tr("weights, optimizer state, stashes and code")});
    } else {
      facts = {{tr("Operators"),
                text(formatCell(static_cast<std::int64_t>(data_->graph.nodes.size()), Format::count)),
                tr("of the forward pass")},
               {tr("Tensors between them"),
                text(formatCell(static_cast<std::int64_t>(data_->graph.edges.size()), Format::count)),
                {}}};
    }
    facts_->setFacts(std::move(facts));
    area_->setNothingSelected(!opened_ || box < 0);
    tensors_->setTable(tensorTable(box), data_->time.ticks);
  }

  /// The tensors that go into a box or come out of it; without a box, all between the boxes shown.
  sections::SectionTable tensorTable(int box) const {
    sections::SectionTable table{"tensors", "Tensors", "per micro-batch", {}, {}};
    table.columns = {{"from", "From", Format::plain, ""},
                     {"to", "To", Format::plain, ""},
                     {"tensor", "Tensor", Format::plain, ""},
                     {"shape", "Shape", Format::plain, ""},
                     {"bytes", "Bytes", Format::bytes, ""},
                     {"cycles", "Copy", Format::ticks, "between stages, alone on the link"}};
    if (!opened_) return table;
    std::vector<int> boxOf(data_->graph.nodes.size(), -1);
    for (std::size_t i = 0; i < opened_->view.boxes.size(); ++i) {
      for (const std::size_t node : opened_->view.boxes[i].nodes) boxOf[node] = static_cast<int>(i);
    }
    addTensors(
        [&](const analysis::ModelEdge& edge) {
          const int from = boxOf[edge.from], to = boxOf[edge.to];
          return from != to && (box < 0 ? from >= 0 && to >= 0 : from == box || to == box);
        },
        [&](std::size_t node) { return boxOf[node]; }, table);
    return table;
  }

  /// Adds the tensors of the edges that are wanted. A tensor with several readers in one place is sent there
  /// once, so it is one row, which names them all.
  void addTensors(const std::function<bool(const analysis::ModelEdge&)>& wanted,
                  const std::function<int(std::size_t node)>& placeOf, sections::SectionTable& table) const {
    constexpr std::size_t kTo = 1;
    std::map<std::tuple<std::size_t, std::string, int>, std::size_t> rowOf;
    for (const analysis::ModelEdge& edge : data_->graph.edges) {
      if (!wanted(edge)) continue;
      const std::string& reader = data_->graph.nodes[edge.to].name;
      const auto [known, isNew] =
          rowOf.try_emplace({edge.from, edge.tensor, placeOf(edge.to)}, table.rows.size());
      if (isNew) {
        table.rows.push_back({data_->graph.nodes[edge.from].name, reader, edge.tensor, edge.shape,
                              edge.bytes.count,
                              edge.ticks.count > 0 ? sections::Cell(edge.ticks.count) : sections::Cell()});
      } else {
        auto& readers = std::get<std::string>(table.rows[known->second][kTo]);
        readers += ", " + reader;
      }
    }
  }

  void applyCuts() {
    sections::SectionTable table = tensorTable(static_cast<int>(kMostGraphBoxes));
    table.rows.clear();
    table.title = "Cuts between stages";
    const auto& nodes = data_->graph.nodes;
    addTensors([&](const auto& edge) { return nodes[edge.from].stage != nodes[edge.to].stage; },
               [&](std::size_t node) { return nodes[node].stage; }, table);
    cuts_->setTable(std::move(table), data_->time.ticks);
  }

  std::shared_ptr<const GraphData> data_;
  std::shared_ptr<const OpenedGraph> opened_;
  QString path_;      ///< path of the open group
  QString followed_;  ///< name that was selected elsewhere and is shown
  bool following_ = false, opening_ = false;
  int found_ = 0;
  SplitArea* area_ = nullptr;
  Panel* upper_ = nullptr;
  QLabel* crumbs_ = nullptr;
  QComboBox* colour_ = nullptr;
  timeline::GraphCanvas* canvas_ = nullptr;
  timeline::Legend* legend_ = nullptr;
  FactGrid* facts_ = nullptr;
  DataTable *tensors_ = nullptr, *cuts_ = nullptr;
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(graph) {
  registry.add(
      {QStringLiteral("graph"), QObject::tr("Graph"), QStringLiteral("graph"),
       QObject::tr("The model as a graph, and where it is cut into stages"), PageGroup::model, 30,
       [](PageContext& context) -> Page* { return new pages::GraphPage(context); }, true,
       [](const analysis::Catalog& catalog, model::ExecutableId) { return pages::whyNoOperators(catalog); }});
}

}  // namespace pipescope::shell
