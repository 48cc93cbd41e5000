#include "app/gui/given_files.h"

#include <QCoreApplication>
#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QMessageBox>
#include <QPushButton>
#include <QRegularExpression>
#include <algorithm>
#include <optional>
#include <set>

#include "app/gui/import_trace.h"
#include "views/shell/background.h"

namespace pipescope::gui {
namespace {

QString givenText(const char* text) {
  return QCoreApplication::translate("pipescope::gui", text);
}

bool isTrace(const QString& file) {
  const QFileInfo info(file);
  return info.isFile() && !shell::MainWindow::runs(file) &&
         !file.endsWith(QLatin1String(".csv"), Qt::CaseInsensitive) && mayBeTrace(file.toStdString());
}

/// The rank that a trace of PyTorch states near its beginning.
std::optional<qint64> statedRank(const QString& path) {
  constexpr qint64 kHead = 1 << 16;
  static const QRegularExpression stated(
      QStringLiteral("\"distributedInfo\"\\s*:\\s*\\{[^}]*\"rank\"\\s*:\\s*(\\d{1,9})"));
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return std::nullopt;
  const auto found = stated.match(QString::fromLatin1(file.read(kHead)));
  if (!found.hasMatch()) return std::nullopt;
  return found.captured(1).toLongLong();
}

bool stateDifferentRanks(const QStringList& files) {
  std::set<qint64> ranks;
  return std::all_of(files.begin(), files.end(), [&](const QString& file) {
    const auto rank = statedRank(file);
    return rank && ranks.insert(*rank).second;
  });
}

/// The numbers in a path, each with the text before it.
struct NumberedPath {
  QStringList texts, numbers;
};

NumberedPath numbersOf(const QString& file) {
  static const QRegularExpression number(QStringLiteral("\\d+"));
  const QString path = QFileInfo(file).absoluteFilePath();
  NumberedPath found;
  int last = 0;
  for (auto at = number.globalMatch(path); at.hasNext();) {
    const auto match = at.next();
    found.texts << path.mid(last, match.capturedStart() - last);
    found.numbers << match.captured();
    last = match.capturedEnd();
  }
  found.texts << path.mid(last);
  return found;
}

/// True for paths that differ in numbers only, among them a different one for each file behind a word that
/// stands for a rank.
bool namedAfterRanks(const QStringList& files) {
  static const QRegularExpression word(
      QStringLiteral("(?:rank|worker|gpu|hpu|ipu|npu|device|chip|node|host|process|proc|stage|(?:^|[^a-z])r)"
                     "[-_. ]*$"),
      QRegularExpression::CaseInsensitiveOption);
  const NumberedPath first = numbersOf(files.front());
  std::set<QStringList> ranks;
  for (const QString& file : files) {
    const NumberedPath own = numbersOf(file);
    if (own.texts != first.texts) return false;
    QStringList rank;
    for (int i = 0; i < own.numbers.size(); ++i)
      if (word.match(own.texts[i]).hasMatch()) rank << own.numbers[i];
    if (!ranks.insert(rank).second) return false;
  }
  return true;
}

/// Imports the files as one run in the window.
void importRanks(shell::MainWindow& window, const QStringList& files, const GivenOpeners& openers) {
  shell::inBackground(
      &window, [files, cache = openers.cache] { return folderOfRanks(files, cache); },
      [&window, openers](const base::Result<QString>& folder) {
        if (folder.ok()) return openers.here(*folder);
        auto* box = new QMessageBox(QMessageBox::Warning, givenText("Open files"),
                                    QString::fromStdString(folder.error().message), QMessageBox::Ok, &window);
        box->setAttribute(Qt::WA_DeleteOnClose);
        box->open();
      });
}

void openEach(const QStringList& files, const GivenOpeners& openers) {
  openers.here(files.front());
  for (const QString& file : files.mid(1)) openers.beside(file);
}

}  // namespace

GivenFiles kindOf(const QStringList& files) {
  const auto traces = std::count_if(files.begin(), files.end(), isTrace);
  if (traces < 2) return GivenFiles::others;
  if (traces < files.size()) return GivenFiles::mixed;
  return stateDifferentRanks(files) || namedAfterRanks(files) ? GivenFiles::ranks : GivenFiles::traces;
}

base::Result<QString> folderOfRanks(const QStringList& files, const QString& cache) {
  QStringList paths;
  for (const QString& file : files) paths << QFileInfo(file).absoluteFilePath();
  paths.sort();
  QCryptographicHash hash(QCryptographicHash::Sha256);
  for (const QString& path : paths) hash.addData(path.toUtf8() + '\n');
  const QString stem = QFileInfo(paths.front()).fileName().section(QLatin1Char('.'), 0, 0).left(60);
  // The last part of the path is the title of the window.
  const QString folder =
      QDir(cache).filePath(QStringLiteral("ranks/%1/%2 and %3 more")
                               .arg(QString::fromLatin1(hash.result().toHex().left(12)), stem)
                               .arg(paths.size() - 1));
  const auto refuse = [&](const QString& what) {
    return base::ioError(
        (QStringLiteral("The files cannot be imported as one run, because %1 cannot be "
                        "written: make it writable, or set XDG_CACHE_HOME to another folder.")
             .arg(what))
            .toStdString());
  };
  if (!QDir().mkpath(folder)) return refuse(folder);
  QStringList names;
  for (const QString& path : paths) names << QFileInfo(path).fileName();
  const bool distinct = names.removeDuplicates() == 0;
  for (int i = 0; i < paths.size(); ++i) {
    const QString name = QFileInfo(paths[i]).fileName();
    const QString link = QDir(folder).filePath(distinct ? name : QStringLiteral("%1-%2").arg(i).arg(name));
    if (QFileInfo(link).isSymLink()) continue;
    if (!QFile::link(paths[i], link)) return refuse(link);
  }
  return folder;
}

void askAbout(shell::MainWindow& window, GivenFiles kind, const QStringList& files,
              const GivenOpeners& openers) {
  auto* box = new QMessageBox(QMessageBox::Question, givenText("Open files"),
                              kind == GivenFiles::traces
                                  ? givenText("Are these %1 traces of one run?").arg(files.size())
                                  : givenText("%1 files were given. A window shows one.").arg(files.size()),
                              QMessageBox::Cancel, &window);
  QStringList names;
  for (const QString& file : files) names << QFileInfo(file).fileName();
  constexpr int kMostNames = 12;
  const QStringList shown = names.mid(0, kMostNames);
  box->setInformativeText(shown.join(QLatin1Char('\n')) +
                          (names.size() > kMostNames ? QStringLiteral("\n…") : QString()));
  box->setAttribute(Qt::WA_DeleteOnClose);
  const auto offer = [&](const QString& text, const std::function<void()>& run) {
    QPushButton* button = box->addButton(text, QMessageBox::AcceptRole);
    QObject::connect(button, &QPushButton::clicked, &window, run);
    return button;
  };
  if (kind == GivenFiles::traces)
    box->setDefaultButton(offer(givenText("Import as one run"),
                                [&window, files, openers] { importRanks(window, files, openers); }));
  if (files.size() == 2)
    offer(givenText("Compare"), [&window, files] { window.compare(files.front(), files.back()); });
  offer(givenText("Open each in a window"), [files, openers] { openEach(files, openers); });
  box->open();
}

void takeDropped(shell::MainWindow& window, const QStringList& files, const GivenOpeners& openers) {
  shell::inBackground(
      &window, [files] { return kindOf(files); },
      [&window, files, openers](GivenFiles kind) {
        if (kind == GivenFiles::ranks) return importRanks(window, files, openers);
        if (kind == GivenFiles::others && files.size() == 2)
          return window.compare(files.front(), files.back());
        askAbout(window, kind, files, openers);
      });
}

}  // namespace pipescope::gui
