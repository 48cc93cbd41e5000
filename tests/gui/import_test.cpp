// Opening traces of other tools: the import in a process of its own, its progress, its cache and its errors.
#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <thread>

#include "app/gui/import_trace.h"
#include "app/gui/open_profile.h"
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

}  // namespace
}  // namespace pipescope::testing
