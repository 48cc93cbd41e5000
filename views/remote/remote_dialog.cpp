#include "views/remote/remote_dialog.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDateTime>
#include <QFormLayout>
#include <QFrame>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QProgressBar>
#include <QPushButton>
#include <QTimer>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "profiler/figures/text.h"

namespace pipescope::remote {
namespace {

const auto kRecentHosts = QStringLiteral("remote_hosts"), kLastFolders = QStringLiteral("remote_folders");
constexpr int kMostHosts = 12, kProgressSteps = 1000;

SshProgram withQuestions(const RemoteSetup& setup, const Questions& questions) {
  SshProgram ssh = setup.ssh;
  if (setup.helper.isEmpty()) return ssh;
  const QHash<QString, QString> more = questions.environment(setup.helper);
  for (auto each = more.begin(); each != more.end(); ++each) ssh.environment.insert(each.key(), each.value());
  return ssh;
}

/// Columns of the list of files.
enum FileColumn { kName, kSize, kChanged };

/// A number of bytes as all pages write it.
QString shownSize(qint64 bytes) {
  return QString::fromStdString(figures::formatCell(std::int64_t{bytes}, figures::Format::bytes));
}

/// The folder above; "/" is above itself.
QByteArray parentOf(const QByteArray& folder) {
  const int slash = folder.lastIndexOf('/');
  return slash <= 0 ? QByteArray("/") : folder.left(slash);
}

QByteArray joined(const QByteArray& folder, const QByteArray& name) {
  return folder.endsWith('/') ? folder + name : folder + '/' + name;
}

}  // namespace

RemoteDialog::RemoteDialog(const RemoteSetup& setup, shell::WindowSettings& settings, QWidget* parent)
    : QDialog(parent),
      setup_(setup),
      settings_(settings),
      session_(withQuestions(setup, questions_), RemoteCache(setup.cache)) {
  setWindowTitle(tr("Open from another machine"));
  build();
  connect(&questions_, &Questions::asked, this, &RemoteDialog::ask);
  connect(&questions_, &Questions::withdrawn, this, &RemoteDialog::withdraw);
  connect(&session_, &SftpSession::connected, this, [this] {
    rememberHost();
    say(tr("Connected to %1.").arg(toString(session_.host())), false);
    if (again_) {
      session_.fetch(again_->path);
    } else {
      session_.list(path_->text().isEmpty() ? QByteArray(".") : path_->text().toUtf8());
    }
    enable();
  });
  connect(&session_, &SftpSession::listed, this, &RemoteDialog::showEntries);
  connect(&session_, &SftpSession::progressed, this, [this](qint64 done, qint64 all) {
    progress_->setValue(all == 0 ? kProgressSteps : static_cast<int>(done * kProgressSteps / all));
    say(tr("Fetching: %1 of %2").arg(shownSize(done), shownSize(all)), false);
    enable();
  });
  connect(&session_, &SftpSession::fetched, this, [this](const QString& copy, bool wasKept) {
    accept();
    Q_EMIT fetched(copy, wasKept);
  });
  connect(&session_, &SftpSession::refused, this, [this](const QString& sentence) {
    again_.reset();
    say(sentence, true);
    enable();
  });
  connect(&session_, &SftpSession::ended, this, [this](const QString& sentence) {
    again_.reset();
    entries_->clear();
    listed_.clear();
    while (!asked_.empty()) reply(false);  // nobody waits for an answer any more
    say(sentence, true);
    enable();
  });
  enable();
}

void RemoteDialog::build() {
  auto* layout = new QVBoxLayout(this);
  auto* form = new QFormLayout;
  auto* hostRow = new QHBoxLayout;
  hosts_ = new QComboBox(this);
  hosts_->setEditable(true);
  hosts_->setInsertPolicy(QComboBox::NoInsert);
  hosts_->addItems(settings_.value(kRecentHosts).toStringList());
  hosts_->lineEdit()->setPlaceholderText(tr("node7, me@node7:2222, or a Host of ~/.ssh/config"));
  hosts_->setAccessibleName(tr("Host"));
  connect_ = new QPushButton(tr("&Connect"), this);
  hostRow->addWidget(hosts_, 1);
  hostRow->addWidget(connect_);
  form->addRow(tr("Host"), hostRow);
  path_ = new QLineEdit(this);
  path_->setAccessibleName(tr("Folder"));
  path_->setPlaceholderText(tr("the folder in which the connection begins"));
  form->addRow(tr("Folder"), path_);
  layout->addLayout(form);
  // Both fields hold what was used last, which users replace more often than they add to it.
  for (QLineEdit* field : {hosts_->lineEdit(), path_}) field->installEventFilter(this);
  connect(hosts_, QOverload<int>::of(&QComboBox::activated), this, &RemoteDialog::proposeFolder);
  proposeFolder();
  entries_ = new QTreeWidget(this);
  entries_->setRootIsDecorated(false);
  entries_->setUniformRowHeights(true);
  entries_->setAccessibleName(tr("Files"));
  entries_->setHeaderLabels({tr("Name"), tr("Size"), tr("Changed")});
  QHeaderView* head = entries_->header();
  head->setStretchLastSection(false);
  head->setSectionResizeMode(0, QHeaderView::Stretch);
  head->setSectionsClickable(true);
  head->setSortIndicatorShown(true);
  head->setSortIndicator(kName, Qt::AscendingOrder);
  head->setToolTip(tr("Click to sort; a second click turns the order around"));
  for (const int column : {kSize, kChanged})
    entries_->headerItem()->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
  connect(head, &QHeaderView::sectionClicked, this, &RemoteDialog::sortBy);
  layout->addWidget(entries_, 1);
  questionFrame_ = makeQuestion();
  layout->addWidget(questionFrame_);
  status_ =
      new QLabel(tr("The system's ssh makes the connection, with its keys, agent and configuration."), this);
  status_->setWordWrap(true);
  status_->setTextFormat(Qt::PlainText);
  status_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  layout->addWidget(status_);
  progress_ = new QProgressBar(this);
  progress_->setRange(0, kProgressSteps);
  progress_->setTextVisible(false);
  layout->addWidget(progress_);
  auto* buttons = new QHBoxLayout;
  stop_ = new QPushButton(tr("&Stop"), this);
  open_ = new QPushButton(tr("&Open"), this);
  auto* close = new QPushButton(tr("Close"), this);
  for (QPushButton* button : {connect_, stop_, open_, close}) button->setAutoDefault(false);
  hidden_ = new QCheckBox(tr("&Hidden files"), this);
  hidden_->setToolTip(tr("Also lists names that begin with a dot"));
  connect(hidden_, &QCheckBox::toggled, this, &RemoteDialog::fillEntries);
  buttons->addWidget(hidden_);
  buttons->addStretch();
  for (QPushButton* button : {stop_, open_, close}) buttons->addWidget(button);
  layout->addLayout(buttons);
  resize(720, 520);
  connect(connect_, &QPushButton::clicked, this, &RemoteDialog::startConnecting);
  connect(hosts_->lineEdit(), &QLineEdit::returnPressed, this, &RemoteDialog::startConnecting);
  connect(path_, &QLineEdit::returnPressed, this, [this] {
    session_.list(path_->text().isEmpty() ? QByteArray(".") : path_->text().toUtf8());
    enable();
  });
  connect(entries_, &QTreeWidget::itemActivated, this, &RemoteDialog::activate);
  connect(entries_, &QTreeWidget::currentItemChanged, this, [this] { enable(); });
  connect(open_, &QPushButton::clicked, this, &RemoteDialog::openChosen);
  connect(stop_, &QPushButton::clicked, this, [this] { session_.cancel(); });
  connect(close, &QPushButton::clicked, this, &QDialog::reject);
  connect(this, &QDialog::finished, this, [this] { session_.cancel(); });
}

QFrame* RemoteDialog::makeQuestion() {
  auto* frame = new QFrame(this);
  frame->setFrameShape(QFrame::StyledPanel);
  auto* layout = new QVBoxLayout(frame);
  question_ = new QLabel(frame);
  question_->setWordWrap(true);
  question_->setTextFormat(Qt::PlainText);
  question_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  layout->addWidget(question_);
  auto* row = new QHBoxLayout;
  answer_ = new QLineEdit(frame);
  answer_->setEchoMode(QLineEdit::Password);
  answer_->setAccessibleName(tr("Answer"));
  yes_ = new QPushButton(frame);
  no_ = new QPushButton(frame);
  for (QPushButton* button : {yes_, no_}) button->setAutoDefault(false);
  row->addWidget(answer_, 1);
  row->addWidget(yes_);
  row->addWidget(no_);
  layout->addLayout(row);
  connect(answer_, &QLineEdit::returnPressed, this, [this] { reply(true); });
  connect(yes_, &QPushButton::clicked, this, [this] { reply(true); });
  connect(no_, &QPushButton::clicked, this, [this] { reply(false); });
  frame->setVisible(false);
  return frame;
}

void RemoteDialog::fetchAgain(const RemoteFile& file) {
  again_ = file;
  hosts_->setEditText(toString(file.host));
  path_->setText(QString::fromUtf8(parentOf(file.path)));
  startConnecting();
}

void RemoteDialog::startConnecting() {
  if (session_.isBusy()) return;
  const auto host = parseHost(hosts_->currentText());
  if (!host.ok()) return say(QString::fromStdString(host.error().message), true);
  if (!setup_.helper.isEmpty() && !questions_.problem().isEmpty()) return say(questions_.problem(), true);
  if (session_.isConnected()) session_.cancel();
  entries_->clear();
  listed_.clear();
  say(tr("Connecting to %1 …").arg(toString(*host)), false);
  session_.connectTo(*host);
  enable();
}

void RemoteDialog::showEntries(const QByteArray& folder, const std::vector<RemoteEntry>& entries) {
  folder_ = folder;
  path_->setText(QString::fromUtf8(folder));
  QVariantMap folders = settings_.value(kLastFolders).toMap();
  folders[toString(session_.host())] = QString::fromUtf8(folder);
  settings_.setValue(kLastFolders, folders);
  all_ = entries;
  fillEntries();
  entries_->setFocus();
}

/// Begins in the folder that was shown last on this host.
void RemoteDialog::proposeFolder() {
  path_->setText(settings_.value(kLastFolders).toMap().value(hosts_->currentText()).toString());
}

bool RemoteDialog::eventFilter(QObject* watched, QEvent* event) {
  // A click sets the cursor after the field has got the focus.
  if (auto* field = qobject_cast<QLineEdit*>(watched); field != nullptr && event->type() == QEvent::FocusIn)
    QTimer::singleShot(0, field, &QLineEdit::selectAll);
  return QDialog::eventFilter(watched, event);
}

/// Names are first sorted from A on, sizes from the largest and times from the newest on.
void RemoteDialog::sortBy(int column) {
  const bool isSame = column == sortedBy_;
  turned_ = isSame && !turned_;
  sortedBy_ = column;
  const bool ascends = (column == kName) != turned_;
  entries_->header()->setSortIndicator(column, ascends ? Qt::AscendingOrder : Qt::DescendingOrder);
  fillEntries();
}

/// Sorts what is listed: folders stay before files. The host's answer is sorted by name.
void RemoteDialog::sortListed() {
  const auto key = [this](const RemoteEntry& entry) {
    return sortedBy_ == kSize ? entry.attributes.size : entry.attributes.modified;
  };
  if (sortedBy_ != kName)
    std::ranges::stable_sort(listed_,
                             [&](const RemoteEntry& a, const RemoteEntry& b) { return key(a) > key(b); });
  if (turned_) std::reverse(listed_.begin(), listed_.end());
  std::stable_partition(listed_.begin(), listed_.end(),
                        [](const RemoteEntry& entry) { return entry.attributes.isFolder(); });
}

/// Lists what the folder holds, without hidden files unless they are wanted.
void RemoteDialog::fillEntries() {
  listed_ = all_;
  if (!hidden_->isChecked())
    std::erase_if(listed_, [](const RemoteEntry& entry) { return entry.name.startsWith('.'); });
  const std::size_t left = all_.size() - listed_.size();
  const auto count = static_cast<int>(listed_.size());
  sortListed();
  if (folder_ != "/" && !folder_.isEmpty())
    listed_.insert(listed_.begin(), RemoteEntry{"..", {-1, -1, 0040000}});
  entries_->clear();
  QList<QTreeWidgetItem*> rows;
  for (const RemoteEntry& entry : listed_) {
    auto* row = new QTreeWidgetItem;
    const SftpAttributes& known = entry.attributes;
    row->setText(0, shownName(entry.name) + (known.isFolder() ? QStringLiteral("/") : QString()));
    if (!known.isFolder() && known.size >= 0) row->setText(1, shownSize(known.size));
    if (known.modified >= 0)
      row->setText(2,
                   QLocale().toString(QDateTime::fromSecsSinceEpoch(known.modified), QLocale::ShortFormat));
    for (const int column : {kSize, kChanged})
      row->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    rows << row;
  }
  entries_->addTopLevelItems(rows);
  constexpr int kBetween = 24;  // pixels before the texts of a column
  for (const int column : {kSize, kChanged}) {
    entries_->resizeColumnToContents(column);
    entries_->header()->resizeSection(column, entries_->columnWidth(column) + kBetween);
  }
  if (!rows.isEmpty()) entries_->setCurrentItem(rows.first());
  const QString shown = count == 1 ? tr("1 entry") : tr("%L1 entries").arg(count);
  say(left == 0 ? shown : tr("%1, and %L2 hidden").arg(shown).arg(left), false);
  enable();
}

QByteArray RemoteDialog::chosenPath() const {
  const int row = entries_->indexOfTopLevelItem(entries_->currentItem());
  if (row < 0 || row >= static_cast<int>(listed_.size())) return {};
  const QByteArray& name = listed_[static_cast<std::size_t>(row)].name;
  return name == ".." ? parentOf(folder_) : joined(folder_, name);
}

void RemoteDialog::activate(QTreeWidgetItem*) {
  openChosen();
}

void RemoteDialog::openChosen() {
  const QByteArray path = chosenPath();
  if (path.isEmpty() || session_.isBusy()) return;
  const auto row = static_cast<std::size_t>(entries_->indexOfTopLevelItem(entries_->currentItem()));
  const SftpAttributes& known = listed_[row].attributes;
  if (known.isFolder()) {
    session_.list(path);
  } else {
    session_.fetch(path);
  }
  enable();
}

void RemoteDialog::ask(int number, const Question& what) {
  asked_.emplace_back(number, what);
  if (asked_.size() > 1) return;
  question_->setText(what.text);
  answer_->clear();
  answer_->setVisible(what.kind == Question::Kind::secret);
  yes_->setVisible(what.kind != Question::Kind::notice);
  yes_->setText(what.kind == Question::Kind::yesNo ? tr("&Yes") : tr("&Answer"));
  no_->setText(what.kind == Question::Kind::yesNo ? tr("&No") : tr("&Decline"));
  questionFrame_->setVisible(true);
  (what.kind == Question::Kind::secret ? static_cast<QWidget*>(answer_) : no_)->setFocus();
}

void RemoteDialog::withdraw(int number) {
  const bool isShown = !asked_.empty() && asked_.front().first == number;
  std::erase_if(asked_, [number](const auto& each) { return each.first == number; });
  if (!isShown) return;
  answer_->clear();
  questionFrame_->setVisible(false);
  if (asked_.empty()) return;
  const auto [next, what] = asked_.front();
  asked_.erase(asked_.begin());
  ask(next, what);
}

void RemoteDialog::reply(bool accepts) {
  if (asked_.empty()) return;
  const auto [number, what] = asked_.front();
  const QString text = what.kind == Question::Kind::yesNo ? QStringLiteral("yes") : answer_->text();
  accepts ? questions_.answer(number, text) : questions_.decline(number);
  withdraw(number);
}

void RemoteDialog::say(const QString& sentence, bool isError) {
  status_->setText(sentence);
  QFont font = status_->font();
  font.setBold(isError);
  status_->setFont(font);
}

QString RemoteDialog::status() const {
  return status_->text();
}

bool RemoteDialog::isAsking() const {
  return !asked_.empty();
}

void RemoteDialog::enable() {
  const bool busy = session_.isBusy(), there = session_.isConnected();
  hosts_->setEnabled(!busy);
  connect_->setEnabled(!busy);
  path_->setEnabled(!busy);
  entries_->setEnabled(there && !busy);
  open_->setEnabled(there && !busy && !chosenPath().isEmpty());
  stop_->setEnabled(busy);
  progress_->setVisible(busy);
}

void RemoteDialog::rememberHost() {
  QStringList hosts = settings_.value(kRecentHosts).toStringList();
  const QString used = toString(session_.host());
  hosts.removeAll(used);
  hosts.prepend(used);
  settings_.setValue(kRecentHosts, QStringList(hosts.mid(0, kMostHosts)));
}

}  // namespace pipescope::remote
