#include "views/workbench/workbench.h"

#include <QAction>
#include <QApplication>
#include <QCloseEvent>
#include <QFile>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QScreen>
#include <QScrollArea>
#include <QSplitter>
#include <QStyle>
#include <QVBoxLayout>
#include <functional>

#include "profiler/base/files/output_file.h"
#include "views/pages/parts/data/setting_words.h"
#include "views/pages/parts/layout/panel.h"
#include "views/shell/background.h"
#include "views/shell/dialogs/notice.h"
#include "views/shell/help/help_window.h"
#include "views/shell/look/palette.h"
#include "views/shell/window_settings.h"
#include "views/workbench/axes_bar.h"
#include "views/workbench/child_run.h"
#include "views/workbench/key_value.h"
#include "views/workbench/run_list.h"
#include "views/workbench/settings_form.h"
#include "views/workbench/stage_board.h"
#include "views/workbench/stage_figures.h"
#include "views/workbench/workbench_tools.h"

namespace pipescope::workbench {
namespace {

const auto kGeometry = QStringLiteral("workbench/geometry");
constexpr int kLeastForm = 330, kMostForm = 620, kFormShare = 2, kStagesShare = 3;

QString fileText(const Draft& draft) {
  return QString::fromUtf8(base::kPlanTitle.data(), static_cast<int>(base::kPlanTitle.size())) +
         QStringLiteral(": edited in the workbench.\n") + draft.toml();
}

base::Status writeConfiguration(const QString& file, const QString& text) {
  PIPESCOPE_ASSIGN(base::OutputFile output,
                   base::OutputFile::create(QFile::encodeName(file).toStdString(), base::FileKind::plan, {}));
  PIPESCOPE_TRY(output.write(text.toStdString()));
  return output.close();
}

}  // namespace

Workbench::Workbench(shell::Palette& palette, Services services, QWidget* parent)
    : QMainWindow(parent),
      palette_(palette),
      services_(std::move(services)),
      draft_(std::make_unique<Draft>(std::make_shared<const Keys>(services_.keys))) {
  setWindowTitle(tr("Workbench — Pipescope"));
  const QSize wanted(1400, 860);
  const QScreen* screen = QGuiApplication::primaryScreen();
  resize(screen == nullptr ? wanted : wanted.boundedTo(screen->availableSize() * 0.95));
  setMinimumSize(960, 560);  // nothing is cut at this size
  predictor_ = new Predictor(services_.program, this);
  makeLayout();
  makeActions();
  connect(predictor_, &Predictor::answered, this, &Workbench::showPrediction);
  connect(predictor_, &Predictor::failed, this, &Workbench::showFailure);
  connect(&palette_, &shell::Palette::changed, this, &Workbench::followPalette);
  followPalette();
  fillPresets();
  restoreGeometry(shell::WindowSettings().value(kGeometry).toByteArray());
}

/// The form refers to the draft, so it goes first.
Workbench::~Workbench() {
  delete takeCentralWidget();
}

void Workbench::makeLayout() {
  auto* content = new QWidget(this);
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  notice_ = new shell::NoticeBar(palette_, content);
  column->addWidget(notice_);
  tools_ = new WorkbenchTools(services_.folder, content);
  column->addWidget(tools_);
  auto* across = new QSplitter(Qt::Horizontal, content);
  across->setChildrenCollapsible(false);
  auto* settings = new pages::Panel(palette_, tr("Settings"), across);
  settings->setTitle(tr("Settings"), tr("axes of parallelism, and what differs from its default"));
  axes_ = new AxesBar(*draft_, settings);
  settings->body()->addWidget(axes_);
  form_ = new SettingsForm(palette_, *draft_, settings);
  settings->body()->addWidget(form_, 1);
  settings->setMinimumWidth(kLeastForm);
  settings->setMaximumWidth(kMostForm);
  auto* down = new QSplitter(Qt::Vertical, across);
  down->setChildrenCollapsible(false);
  down->addWidget(makeStages());
  auto* below = new pages::Panel(palette_, {}, down);
  runs_ = new RunList(services_.open, below);
  below->body()->addWidget(runs_, 1);
  down->addWidget(below);
  // Thirteen stages have room at 1440 × 900; the list of runs is short.
  constexpr int kBoardShare = 72, kRunsShare = 28;
  down->setStretchFactor(0, kBoardShare);
  down->setStretchFactor(1, kRunsShare);
  down->setSizes({10 * kBoardShare, 10 * kRunsShare});
  across->addWidget(settings);
  across->addWidget(down);
  across->setStretchFactor(0, kFormShare);
  across->setStretchFactor(1, kStagesShare);
  across->setSizes({1000 * kFormShare, 1000 * kStagesShare});
  auto* framed = new QHBoxLayout;
  framed->setContentsMargins(12, 4, 12, 12);
  framed->addWidget(across);
  column->addLayout(framed, 1);
  setCentralWidget(content);
  shell::HelpWindow::markAsPage(*content, QStringLiteral("workbench"));
  connect(tools_, &WorkbenchTools::configurationChosen, this, &Workbench::openConfiguration);
  connect(tools_, &WorkbenchTools::saveChosen, this, &Workbench::saveConfiguration);
  connect(tools_, &WorkbenchTools::startWanted, this, &Workbench::startRun);
  connect(form_, &SettingsForm::changed, this, &Workbench::settingsChanged);
  connect(axes_, &AxesBar::changed, this, [this] {
    form_->refresh();
    settingsChanged();
  });
  connect(runs_, &RunList::openWanted, this, &Workbench::openWanted);
  connect(runs_, &RunList::profileStarted, this, &Workbench::runStarted);
  connect(runs_, &RunList::compareWanted, this, &Workbench::compareWanted);
  connect(runs_, &RunList::editWanted, this, &Workbench::edit);
  connect(runs_, &RunList::activeChanged, this, [this] {
    if (closing_ && runs_->active() == 0) close();
  });
}

QWidget* Workbench::makeStages() {
  auto* panel = new pages::Panel(palette_, {}, this);
  panel->setTitle(tr("Stages"),
                  tr("time of a micro-batch with host copies and exchange; drag blocks to other "
                     "stages, and stages to other devices"));
  summary_ = new QLabel(panel);
  shortage_ = new QLabel(panel);
  for (QLabel* label : {summary_, shortage_}) {
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    panel->body()->addWidget(label);
  }
  summary_->setAccessibleName(tr("Prediction"));
  shortage_->setAccessibleName(tr("What is wrong"));
  shortage_->setProperty("colour", QStringLiteral("error"));
  auto* area = new QScrollArea(panel);
  area->setFrameShape(QFrame::NoFrame);
  area->setWidgetResizable(true);
  area->setFocusPolicy(Qt::NoFocus);
  board_ = new StageBoard(palette_, area);
  area->setWidget(board_);
  area->viewport()->setAutoFillBackground(false);
  board_->setAutoFillBackground(false);
  panel->body()->addWidget(area, 1);
  connect(board_, &StageBoard::tried, this, [this](const StagePlaces& places) {
    Draft trial = *draft_;
    apply(places, trial);
    trialToml_ = trial.toml();
    predictor_->predict(trialToml_);
  });
  connect(board_, &StageBoard::attention, area, [area](const QRect& part) {
    const QPoint middle = part.center();
    area->ensureVisible(middle.x(), middle.y(), part.width() / 2, part.height() / 2);
  });
  connect(board_, &StageBoard::moved, this, &Workbench::takeStages);
  connect(board_, &StageBoard::abandoned, this, [this] {
    trialToml_.clear();
    predict();
  });
  return panel;
}

void Workbench::makeActions() {
  const auto add = [this](const QKeySequence& key, const std::function<void()>& act) {
    auto* action = new QAction(this);
    action->setShortcut(key);
    connect(action, &QAction::triggered, this, act);
    addAction(action);
    return action;
  };
  // A field for text has undo and redo of its own, and keeps these keys while it is edited.
  undo_ = add(QKeySequence::Undo, [this] { undo(); });
  redo_ = add(QKeySequence(QStringLiteral("Ctrl+Shift+Z")), [this] { redo(); });
  add(QKeySequence(Qt::Key_F1), [this] {
    shell::HelpWindow::showFor(*this, palette_, QStringLiteral("pages"), QStringLiteral("workbench"));
  });
  undo_->setEnabled(false);
  redo_->setEnabled(false);
  tools_->setSteps(*undo_, *redo_);
  add(QKeySequence(QStringLiteral("Ctrl+Return")), [this] { startRun(); });
  add(QKeySequence::Open, [this] { tools_->chooseConfiguration(); });
  add(QKeySequence::Save, [this] { tools_->chooseSaveName(); });
  add(QKeySequence(QStringLiteral("Ctrl+W")), [this] { close(); });
  add(QKeySequence::Find, [this] { form_->search()->setFocus(); });
}

void Workbench::followPalette() {
  QApplication::setPalette(palette_.widgets());
  setStyleSheet(palette_.styleSheet());
  form_->rebuild();  // the icons have the theme's colours
  stale_ = true;
  check();
}

void Workbench::fillPresets() {
  if (!services_.presets) return;
  shell::inBackground(this, services_.presets,
                      [this](const std::vector<Preset>& presets) { tools_->setPresets(presets); });
}

void Workbench::newRun() {
  tools_->forgetPreset();
  begin({}, {});
}

void Workbench::edit(const QString& profile, const std::vector<model::ConfigurationEntry>& options) {
  tools_->forgetPreset();
  begin(settingsOfRun(options, draft_->keys()), profile);
  if (options.empty())
    notice_->setNotice(shell::NoticeKind::warning, tr("The profile holds no options, so that its run "
                                                      "cannot be repeated. Choose a sample, or open "
                                                      "its configuration."));
}

void Workbench::change(const QStringList& changes) {
  QStringList unknown;
  for (const QString& change : changes) {
    const int equals = change.indexOf(QLatin1Char('='));
    const QString path = change.left(equals), value = change.mid(equals + 1);
    const int colon = value.lastIndexOf(QLatin1Char(':'));
    if (path == QStringLiteral("move") && colon > 0) {
      moves_.emplace_back(value.left(colon), value.mid(colon + 1).toInt());
    } else if (const KeyRow* key = draft_->keys().of(path); key != nullptr && equals > 0) {
      draft_->set(path, tomlOf(*key, value));
    } else {
      unknown << change;
    }
  }
  if (!unknown.isEmpty())
    notice_->setNotice(
        shell::NoticeKind::warning,
        tr("These changes are no settings, and are left out: %1.").arg(unknown.join(QStringLiteral(", "))));
  if (changes.isEmpty()) return;
  form_->refresh();
  settingsChanged();
}

/// Moves the blocks that a change named, now that it is known which stage holds them.
void Workbench::moveWanted() {
  if (moves_.empty()) return;
  StagePlaces places = board_->places();
  for (const auto& [block, stage] : std::exchange(moves_, {})) {
    if (stageOf(places, block) < 0 || !whyFixed(places).isEmpty())
      return notice_->setNotice(shell::NoticeKind::warning,
                                tr("The block %1 cannot be moved to stage %2 here.").arg(block).arg(stage));
    places = withBlockIn(std::move(places), block, stage);
  }
  takeStages(places);
}

/// Keeps the state before a change, so that it can be taken back.
void Workbench::remember() {
  if (remembered_ && !(*remembered_ == *draft_)) {
    past_.push_back(*std::move(remembered_));
    future_.clear();
  }
  remembered_ = *draft_;
  undo_->setEnabled(!past_.empty());
  redo_->setEnabled(!future_.empty());
}

void Workbench::restore(std::vector<Draft>& from, std::vector<Draft>& to) {
  if (from.empty()) return;
  to.push_back(*draft_);
  *draft_ = std::move(from.back());
  from.pop_back();
  remembered_ = *draft_;
  form_->refresh();
  settingsChanged();
}

void Workbench::undo() {
  restore(past_, future_);
}
void Workbench::redo() {
  restore(future_, past_);
}

void Workbench::openConfiguration(const QString& file) {
  reading_ = true;
  shell::inBackground(
      this, [read = services_.read, file] { return read(file); },
      [this](const base::Result<std::vector<FormSetting>>& settings) {
        reading_ = false;
        if (settings.ok()) return begin(*settings, {});
        notice_->setNotice(shell::NoticeKind::error, QString::fromStdString(settings.error().message));
      });
}

void Workbench::begin(const std::vector<FormSetting>& settings, const QString& former) {
  const QStringList unknown = draft_->assign(settings);
  former_ = former;
  ++beginnings_;
  past_.clear();
  future_.clear();
  remembered_.reset();
  moves_.clear();
  startingRate_.reset();
  board_->clear();
  notice_->clear();
  if (!unknown.isEmpty())
    notice_->setNotice(shell::NoticeKind::warning, tr("This version does not know these settings, and "
                                                      "leaves them out: %1.")
                                                       .arg(unknown.join(QStringLiteral(", "))));
  tools_->setName(draft_->fileName());
  form_->refresh();
  settingsChanged();
}

void Workbench::saveConfiguration(const QString& file) {
  shell::inBackground(
      this, [file, text = fileText(*draft_)] { return writeConfiguration(file, text); },
      [this, file](const base::Status& written) {
        if (written.ok()) return notice_->setNotice(shell::NoticeKind::info, tr("Wrote %1.").arg(file));
        notice_->setNotice(shell::NoticeKind::error, QString::fromStdString(written.error().message));
      });
}

void Workbench::settingsChanged() {
  remember();
  axes_->refresh();
  stale_ = true;
  predictor_->cancel();
  board_->setPending(true);
  check();
}

/// Checks the settings on a worker, one state at a time.
void Workbench::check() {
  if (checking_ || !stale_) return;
  checking_ = true;
  stale_ = false;
  shell::inBackground(
      this, [check = services_.check, settings = draft_->settings()] { return check(settings); },
      [this](const std::vector<Problem>& problems) {
        checking_ = false;
        if (stale_) return check();
        applyCheck(problems);
      });
}

void Workbench::applyCheck(const std::vector<Problem>& problems) {
  const QStringList others = form_->setProblems(problems);
  wrong_ = !problems.empty();
  tools_->setStartPossible(!wrong_);
  if (!wrong_) return predict();
  QStringList said = others;
  if (said.isEmpty()) said << tr("A setting is wrong: see its sentence on the left.");
  if (draft_->settings().empty()) {
    say(
        tr("There are no settings yet: choose a sample, open a configuration, "
           "or add settings on the left."));
  } else {
    say({}, said.join(QLatin1Char(' ')));
  }
}

void Workbench::predict() {
  if (board_->isDragging()) return;  // a drag asks for itself, and its end asks again
  if (draft_->count(QStringLiteral("fixed.stages")) > 0) {
    board_->clear();
    return say(
        tr("The costs of the stages are given as settings, so there is "
           "nothing to predict."));
  }
  board_->setPending(true);
  predictor_->predict(draft_->toml());
}

void Workbench::showPrediction(const QString& toml, const Prediction& prediction) {
  if (board_->isDragging()) {
    if (toml == trialToml_) board_->setPrediction(prediction);
  } else if (toml == draft_->toml()) {
    const StagePlaces found = placesOf(*draft_, prediction);
    const StagePlaces& shown = board_->places();
    if (found.stages != shown.stages || found.namesDevices != shown.namesDevices ||
        found.divided != shown.divided)
      board_->setPlaces(found);
    board_->setPrediction(prediction);
    if (!startingRate_) startingRate_ = prediction.samplesPerSecond;
    moveWanted();
  } else {
    return;
  }
  say(predictionSentence(prediction, startingRate_), shortageSentence(prediction),
      prediction.remarks.join(QStringLiteral("\n\n")));
}

void Workbench::showFailure(const QString& toml, const QString& sentence) {
  if (board_->isDragging() ? toml != trialToml_ : toml != draft_->toml()) return;
  say({}, inWords(sentence));
}

/// The sentence with the names of settings as the form writes them.
QString Workbench::inWords(const QString& sentence) const {
  analysis::Catalog catalog;
  for (const KeyRow& key : draft_->keys().all())
    catalog.configuration.push_back({key.path.toStdString(), {}, {}});
  return pages::withSettingsInWords(sentence, catalog);
}

/// The user has dropped a block or a stage.
void Workbench::takeStages(const StagePlaces& places) {
  apply(places, *draft_);
  trialToml_.clear();
  form_->refresh();
  settingsChanged();
}

void Workbench::say(const QString& sentence, const QString& wrong, const QString& details) {
  summary_->setText(sentence);
  summary_->setVisible(!sentence.isEmpty());
  shortage_->setText(wrong);
  shortage_->setToolTip(details);
  shortage_->setVisible(!wrong.isEmpty());
}

void Workbench::startRun() {
  if (wrong_ || closing_) return;
  RunRequest request;
  request.program = services_.program;
  request.folder = tools_->folder();
  request.name = draft_->fileName();
  request.toml = fileText(*draft_);
  request.former = former_;
  if (request.folder.isEmpty())
    return notice_->setNotice(shell::NoticeKind::error, tr("Name the folder for the profiles of runs."));
  notice_->clear();
  // The next run of these settings is compared with this one.
  const ChildRun* run = runs_->add(std::move(request));
  connect(run, &ChildRun::profileStarted, this, [this, run, own = beginnings_] {
    if (own == beginnings_) former_ = run->profile();
  });
}

QString Workbench::notice() const {
  return notice_->sentence();
}

QString Workbench::summary() const {
  return summary_->text().isEmpty() || shortage_->text().isEmpty()
             ? summary_->text() + shortage_->text()
             : summary_->text() + QLatin1Char('\n') + shortage_->text();
}

bool Workbench::isSettled() const {
  return !checking_ && !stale_ && !reading_ && !predictor_->isBusy();
}

/// Runs end with the window. The user is asked, because a long run would be lost otherwise.
void Workbench::closeEvent(QCloseEvent* event) {
  if (runs_->active() == 0) {
    closing_ = false;  // the window may be shown again
    shell::WindowSettings().setValue(kGeometry, saveGeometry());
    return QMainWindow::closeEvent(event);
  }
  event->ignore();
  if (closing_) return;
  auto* box = new QMessageBox(
      QMessageBox::Question, tr("Workbench"),
      runs_->active() == 1 ? tr("A run is going on.") : tr("%1 runs are going on.").arg(runs_->active()),
      QMessageBox::NoButton, this);
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->setInformativeText(tr("They end with this window. The profiles so far are kept."));
  QPushButton* stops = box->addButton(tr("Stop and close"), QMessageBox::DestructiveRole);
  QPushButton* stays = box->addButton(tr("Keep running"), QMessageBox::RejectRole);
  box->setDefaultButton(stays);
  connect(stops, &QPushButton::clicked, this, [this] {
    closing_ = true;
    if (runs_->active() == 0) {
      close();
    } else {
      runs_->stopAll();
    }
  });
  box->open();
}

}  // namespace pipescope::workbench
