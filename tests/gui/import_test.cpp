// Opening traces of other tools: the import in a process of its own, its progress, its cache and its errors.
#include <QAbstractButton>
#include <QDir>
#include <QDropEvent>
#include <QFile>
#include <QFileInfo>
#include <QMessageBox>
#include <QMimeData>
#include <QTemporaryDir>
#include <QUrl>
#include <thread>

#include "app/gui/given_files.h"
#include "app/gui/import_trace.h"
#include "app/gui/open_profile.h"
#include "views/shell/comparison.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

class ImportTest : public ::testing::Test {
 protected:
  QString write(const QString& name, const QByteArray& content) {
    QDir().mkpath(QFileInfo(folder.filePath(name)).path());
    QFile file(folder.filePath(name));
    EXPECT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(content);
    return file.fileName();
  }

  /// A script that takes the place of pipescope. It writes a line into `calls` whenever it starts.
  gui::ImportPlaces places(const QByteArray& script) {
    const QString program = write(
        QStringLiteral("pipescope"),
        "#!/bin/sh\necho \"$@\" >> " + folder.filePath(QStringLiteral("calls")).toUtf8() + "\n" + script);
    QFile(program).setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    return {program, folder.filePath(QStringLiteral("cache/imports"))};
  }

  base::Result<std::string> import(const QString& trace, const gui::ImportPlaces& where) {
    return gui::importTrace(
        trace.toStdString(), where, [this](const QString& text) { told << text; }, [this] { return stop; });
  }

  QByteArray calls() const {
    QFile file(folder.filePath(QStringLiteral("calls")));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
  }

  QTemporaryDir folder;
  QStringList told;
  bool stop = false;
};

TEST_F(ImportTest, ImportsATraceOnceAndTellsItsProgress) {
  const QString trace = write(QStringLiteral("run.json.gz"), "[]");
  const auto where =
      places("echo '{\"fraction\": 0.25, \"what\": \"reading\"}' >&2\nprintf profile > \"$4\"\n");
  const auto imported = import(trace, where);
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  EXPECT_EQ(QFileInfo(QString::fromStdString(*imported)).path(), where.cache);
  EXPECT_TRUE(QFileInfo(QString::fromStdString(*imported)).fileName().startsWith(QStringLiteral("run-")));
  EXPECT_EQ(told, (QStringList{QStringLiteral("Importing run.json.gz: 25 %"), QString()}));
  EXPECT_TRUE(calls().startsWith("import " + trace.toUtf8() + " -o ")) << calls().toStdString();
  EXPECT_TRUE(calls().contains("--progress json")) << calls().toStdString();
  // The cache answers now, until the trace changes.
  EXPECT_EQ(*import(trace, where), *imported);
  EXPECT_EQ(calls().count('\n'), 1);
  write(QStringLiteral("run.json.gz"), "[ ]");
  EXPECT_NE(*import(trace, where), *imported);
  EXPECT_EQ(calls().count('\n'), 2);
}

TEST_F(ImportTest, KeepsTheProfilesOfTheLastTraces) {
  const auto where = places("printf profile > \"$4\"\n");
  for (int i = 0; i < 23; ++i)
    ASSERT_TRUE(import(write(QStringLiteral("t%1.json").arg(i), "[]"), where).ok());
  EXPECT_EQ(QDir(where.cache).entryList(QDir::Files).size(), 20);
}

TEST_F(ImportTest, SaysWhyATraceCannotBeImported) {
  const QString trace = write(QStringLiteral("run.json"), "nothing");
  const auto message = [&](const gui::ImportPlaces& where) {
    const auto imported = import(trace, where);
    return imported.ok() ? std::string("imported") : imported.error().message;
  };
  EXPECT_EQ(message(places("echo 'note: a remark' >&2\necho 'pipescope: It is no trace.' >&2\nexit 2\n")),
            "It is no trace.");
  EXPECT_NE(message(places("kill -9 $$\n")).find("ended early"), std::string::npos);
  EXPECT_NE(message({folder.filePath(QStringLiteral("missing")), folder.path()})
                .find("cannot be started: install it beside"),
            std::string::npos);
  EXPECT_NE(message({places("").program, QStringLiteral("/proc/nowhere")})
                .find("cannot be written to: make it writable"),
            std::string::npos);
}

TEST_F(ImportTest, EndsTheImportThatNobodyWaitsFor) {
  const QString trace = write(QStringLiteral("run.json"), "[]");
  stop = true;
  const auto imported = import(trace, places("exec sleep 60\n"));
  ASSERT_FALSE(imported.ok());
  EXPECT_EQ(imported.error().kind, base::ErrorKind::cancelled);
  EXPECT_TRUE(QDir(folder.filePath(QStringLiteral("cache/imports"))).entryList(QDir::Files).isEmpty());
}

TEST_F(ImportTest, TellsTracesFromProfiles) {
  EXPECT_TRUE(gui::mayBeTrace(write(QStringLiteral("a.json"), "[]").toStdString()));
  EXPECT_FALSE(gui::mayBeTrace(write(QStringLiteral("a.pop"), "damaged").toStdString()));
  EXPECT_FALSE(gui::mayBeTrace(write(QStringLiteral("b.db"), "SQLite format 3").toStdString()));
  EXPECT_FALSE(gui::mayBeTrace(folder.filePath(QStringLiteral("missing")).toStdString()));
  write(QStringLiteral("ranks/rank0.json"), "[]");
  EXPECT_TRUE(gui::mayBeTrace(folder.filePath(QStringLiteral("ranks")).toStdString()));
  // A file that is no trace is opened as before, with the sentence of the reader.
  const auto opened = gui::openOrImport(
      folder.filePath(QStringLiteral("a.pop")).toStdString(), [](const QString&) {}, [] { return false; });
  EXPECT_FALSE(opened.ok());
}

TEST_F(ImportTest, DialogsBeginWhereTheTracesAre) {
  const QString trace = write(QStringLiteral("runs/rank0.json"), "[]"),
                runs = QFileInfo(trace).canonicalPath(),
                links = folder.filePath(QStringLiteral("cache/ranks"));
  EXPECT_EQ(gui::folderOfTraces(trace.toStdString()), QFileInfo(trace).path().toStdString());
  EXPECT_EQ(gui::folderOfTraces(runs.toStdString()), runs.toStdString()) << "a folder of traces";
  ASSERT_TRUE(QDir().mkpath(links));
  ASSERT_TRUE(QFile::link(trace, links + QStringLiteral("/rank0.json")));
  EXPECT_EQ(gui::folderOfTraces(links.toStdString()), runs.toStdString())
      << "traces that were given together";
}

/// Traces that are given together are ranks of one run if they say so, or if their names do.
TEST_F(ImportTest, RanksAreKnownByTheirNamesOrByWhatTheyState) {
  const auto files = [&](const QStringList& names, const char* content = "[]") {
    QStringList paths;
    for (const QString& name : names) paths << write(name, content);
    return paths;
  };
  const auto kind = [&](const QStringList& names) { return gui::kindOf(files(names)); };
  using gui::GivenFiles;
  EXPECT_EQ(kind({"rank0.json", "rank1.json", "rank10.json"}), GivenFiles::ranks);
  EXPECT_EQ(kind({"a/worker-3/trace.json.gz", "a/worker-4/trace.json.gz"}), GivenFiles::ranks);
  EXPECT_EQ(kind({"node1_gpu0_171234.json", "node1_gpu1_171299.json"}), GivenFiles::ranks);
  EXPECT_EQ(kind({"node0_gpu0.json", "node1_gpu0.json"}), GivenFiles::ranks);
  EXPECT_EQ(kind({"run1.json", "run2.json"}), GivenFiles::traces) << "two runs have such names";
  EXPECT_EQ(kind({"rank0.json", "other1.json"}), GivenFiles::traces);
  EXPECT_EQ(kind({"rank0_1.json", "rank0_2.json"}), GivenFiles::traces) << "the same rank twice";
  EXPECT_EQ(kind({"one.json", "rank1.csv"}), GivenFiles::others);
  EXPECT_EQ(kind({"one.json", "two.json", "a.toml"}), GivenFiles::mixed);
  EXPECT_EQ(gui::kindOf(files({"a.pop", "b.pop"}, "SQLite format 3")), GivenFiles::others);
  EXPECT_EQ(gui::kindOf({}), GivenFiles::others);
  const auto stating = [&](int first, int second) {
    const auto content = [](int rank) {
      return R"({"distributedInfo": {"backend": "nccl", "rank": )" + QByteArray::number(rank) +
             R"(, "world_size": 2}, "traceEvents": []})";
    };
    return gui::kindOf({write(QStringLiteral("x_1.json"), content(first)),
                        write(QStringLiteral("y.json"), content(second))});
  };
  EXPECT_EQ(stating(0, 1), GivenFiles::ranks);
  EXPECT_EQ(stating(1, 1), GivenFiles::traces);
}

TEST_F(ImportTest, RanksAreImportedFromAFolderWithLinks) {
  const QString one = write(QStringLiteral("a/rank0.json"), "[0]"),
                two = write(QStringLiteral("a/rank1.json"), "[1]");
  const QString cache = folder.filePath(QStringLiteral("cache"));
  const auto made = gui::folderOfRanks({two, one}, cache);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(QFileInfo(*made).fileName(), QStringLiteral("rank0 and 1 more"));
  EXPECT_EQ(QDir(*made).entryList(QDir::Files), (QStringList{"rank0.json", "rank1.json"}));
  EXPECT_EQ(*gui::folderOfRanks({one, two}, cache), *made) << "the order says nothing";
  const QString same = write(QStringLiteral("b/rank0.json"), "[1]");
  EXPECT_EQ(QDir(*gui::folderOfRanks({one, same}, cache)).entryList(QDir::Files).size(), 2)
      << "files of one name";
  const auto refused = gui::folderOfRanks({one, two}, one);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("cannot be written"), std::string::npos) << refused.error().message;
}

class GivenFilesTest : public WindowTest {
 protected:
  void SetUp() override {
    WindowTest::SetUp();
    QObject::connect(window.get(), &shell::MainWindow::filesGiven, window.get(),
                     [this](const QStringList& files) { gui::takeDropped(*window, files, openers); });
  }
  QStringList write(const QStringList& names, const QByteArray& content) {
    QStringList paths;
    for (const QString& name : names) {
      QFile file(folder.filePath(name));
      EXPECT_TRUE(file.open(QIODevice::WriteOnly));
      file.write(content);
      paths << file.fileName();
    }
    return paths;
  }
  void drop(const QStringList& files) {
    QMimeData data;
    QList<QUrl> urls;
    for (const QString& file : files) urls << QUrl::fromLocalFile(file);
    data.setUrls(urls);
    QDragEnterEvent enter(QPoint(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(window.get(), &enter);
    QDropEvent event(QPointF(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(window.get(), &event);
  }
  QMessageBox* question() { return window->findChild<QMessageBox*>(); }
  /// Answers the question with the button of that text.
  void answer(const QString& text) {
    ASSERT_TRUE(waitFor([&] { return question() != nullptr; }));
    for (QAbstractButton* button : question()->buttons()) {
      if (button->text() == text) {
        button->click();
        return;
      }
    }
    FAIL() << "there is no button " << text.toStdString();
  }

  QTemporaryDir folder;
  QStringList here, beside;
  gui::GivenOpeners openers{folder.filePath(QStringLiteral("cache")),
                            [this](const QString& file) { here << file; },
                            [this](const QString& file) { beside << file; }};
};

TEST_F(GivenFilesTest, RanksBecomeOneImport) {
  drop(write({"rank0.json", "rank1.json", "rank2.json"}, "[]"));
  ASSERT_TRUE(waitFor([&] { return !here.isEmpty(); }));
  ASSERT_EQ(here.size(), 1);
  EXPECT_EQ(QDir(here.front()).entryList(QDir::Files).size(), 3);
  EXPECT_TRUE(beside.isEmpty());
}

TEST_F(GivenFilesTest, TracesThatMayBeOneRunAreAskedAbout) {
  const QStringList files = write({"run1.json", "run2.json"}, "[]");
  drop(files);
  answer(QStringLiteral("Import as one run"));
  ASSERT_TRUE(waitFor([&] { return !here.isEmpty(); }));
  EXPECT_EQ(QDir(here.front()).entryList(QDir::Files).size(), 2);
}

TEST_F(GivenFilesTest, NoneOfThreeProfilesIsForgotten) {
  const QStringList files = write({"a.pop", "b.pop", "c.pop"}, "SQLite format 3");
  drop(files);
  answer(QStringLiteral("Open each in a window"));
  EXPECT_EQ(here, files.mid(0, 1));
  EXPECT_EQ(beside, files.mid(1));
}

TEST_F(GivenFilesTest, TwoProfilesAreCompared) {
  drop(write({"a.pop", "b.pop"}, "SQLite format 3"));
  EXPECT_TRUE(waitFor([&] { return window->comparison().path().endsWith(QStringLiteral("a.pop")); }));
  EXPECT_TRUE(window->session().wantedPath().endsWith(QStringLiteral("b.pop")));
  EXPECT_EQ(question(), nullptr);
}

}  // namespace
}  // namespace pipescope::testing
