// Tests the connection to other machines against an SSH server on the loopback interface.
#include <gtest/gtest.h>

#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QFileInfo>
#include <QSignalSpy>
#include <QTest>
#include <algorithm>
#include <cstdio>
#include <random>

#include "local_sshd.h"

namespace pipescope::testing {
namespace {

using remote::RemoteCache;
using remote::RemoteEntry;
using remote::RemoteFile;
using remote::SftpSession;

constexpr int kPatienceMs = 20'000;

QByteArray randomBytes(int count, unsigned seed = 1) {
  std::minstd_rand random(seed);
  QByteArray bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

QByteArray bytesOf(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray("unreadable");
}

class RemoteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const QString problem = LocalSshd::problem(); !problem.isEmpty())
      GTEST_SKIP() << problem.toStdString();
    ASSERT_TRUE(server.start());
    begin(server.ssh(), server.host());
  }
  /// Makes a session and connects it.
  void begin(const remote::SshProgram& ssh, const remote::RemoteHost& host) {
    session = std::make_unique<SftpSession>(ssh, RemoteCache(cache.path()));
    QObject::connect(session.get(), &SftpSession::connected,
                     [this] { events << QStringLiteral("connected"); });
    QObject::connect(session.get(), &SftpSession::listed,
                     [this](const QByteArray& at, const std::vector<RemoteEntry>& found) {
                       folder = at;
                       entries = found;
                       events << QStringLiteral("listed");
                     });
    QObject::connect(session.get(), &SftpSession::fetched, [this](const QString& path, bool wasKept) {
      copy = path;
      events << (wasKept ? QStringLiteral("kept") : QStringLiteral("fetched"));
    });
    QObject::connect(session.get(), &SftpSession::refused, [this](const QString& s) { events << s; });
    QObject::connect(session.get(), &SftpSession::ended, [this](const QString& s) { events << s; });
    events.clear();
    session->connectTo(host);
    next();
  }
  /// Waits for the next event and returns it.
  QString next() {
    if (!QTest::qWaitFor([this] { return !events.isEmpty(); }, kPatienceMs))
      return QStringLiteral("nothing came");
    last = events.takeFirst();
    return last;
  }
  QString fetch(const QByteArray& name) {
    session->fetch(server.folder() + '/' + name);
    return next();
  }
  QStringList partial() const {
    QStringList found;
    QDirIterator all(cache.path(), {QStringLiteral("*.part")}, QDir::Files, QDirIterator::Subdirectories);
    while (all.hasNext()) found << all.next();
    return found;
  }

  LocalSshd server;
  QTemporaryDir cache;
  std::unique_ptr<SftpSession> session;
  QStringList events;
  QString last, copy;
  QByteArray folder;
  std::vector<RemoteEntry> entries;
};

TEST_F(RemoteTest, ListsNamesOfAllKinds) {
  ASSERT_EQ(last, QStringLiteral("connected"));
  const std::vector<QByteArray> names = {"plain.pop",    "with blank.pop",  "quote'\".pop",
                                         "-dash.pop",    "line\nbreak.pop", "$(touch x).pop",
                                         "\xff\xfe.pop", "caf\xc3\xa9.pop"};
  ASSERT_TRUE(QDir().mkdir(server.path(QStringLiteral("names"))));
  ASSERT_TRUE(QDir().mkdir(server.path(QStringLiteral("names/zz folder"))));
  for (const QByteArray& name : names) {
    FILE* file = std::fopen((server.folder() + "/names/" + name).constData(), "w");
    ASSERT_NE(file, nullptr);
    std::fputs("12345", file);
    std::fclose(file);
  }
  session->list(server.folder() + "/names");
  ASSERT_EQ(next(), QStringLiteral("listed"));
  EXPECT_EQ(folder, server.folder() + "/names");
  ASSERT_EQ(entries.size(), names.size() + 1);
  EXPECT_EQ(entries[0].name, "zz folder") << "folders come first";
  EXPECT_TRUE(entries[0].attributes.isFolder());
  for (const QByteArray& name : names) {
    const auto found = std::ranges::find(entries, name, &RemoteEntry::name);
    ASSERT_NE(found, entries.end()) << name.constData();
    EXPECT_EQ(found->attributes.size, 5);
    EXPECT_EQ(fetch("names/" + name), QStringLiteral("fetched")) << name.constData();
    EXPECT_EQ(bytesOf(copy), "12345");
    EXPECT_TRUE(copy.endsWith(QStringLiteral(".pop")));
    EXPECT_EQ(QFileInfo(QFileInfo(copy).absolutePath()).absolutePath(),
              QFileInfo(cache.path()).absoluteFilePath());
    // Qt cannot remove names that are not UTF-8.
    EXPECT_EQ(std::remove((server.folder() + "/names/" + name).constData()), 0);
  }
}

TEST_F(RemoteTest, FetchesAFileOnceUntilItChanges) {
  const QByteArray first = randomBytes(3'000'001), second = randomBytes(2'000'000, 2);
  server.write("profile.pop", first);
  QSignalSpy progress(session.get(), &SftpSession::progressed);
  ASSERT_EQ(fetch("profile.pop"), QStringLiteral("fetched"));
  EXPECT_EQ(bytesOf(copy), first);
  EXPECT_EQ(progress.last()[0].toLongLong(), first.size());
  EXPECT_EQ(progress.last()[1].toLongLong(), first.size());
  EXPECT_TRUE(partial().isEmpty());
  const QString before = copy;
  ASSERT_EQ(fetch("profile.pop"), QStringLiteral("kept"));
  EXPECT_EQ(copy, before);
  const auto origin = RemoteCache(cache.path()).originOf(copy);
  ASSERT_TRUE(origin.has_value());
  EXPECT_EQ(*origin, (RemoteFile{server.host(), server.folder() + "/profile.pop"}));
  server.write("profile.pop", second);
  ASSERT_EQ(fetch("profile.pop"), QStringLiteral("fetched"));
  EXPECT_EQ(bytesOf(copy), second);
}

TEST_F(RemoteTest, AnEmptyFileIsFetched) {
  server.write("empty", "");
  ASSERT_EQ(fetch("empty"), QStringLiteral("fetched"));
  EXPECT_EQ(bytesOf(copy), "");
}

TEST_F(RemoteTest, WhatCannotBeFetchedIsRefusedAndTheConnectionGoesOn) {
  EXPECT_EQ(fetch("vanished.pop"),
            QString::fromUtf8(server.folder()) + QStringLiteral("/vanished.pop is not there (any more)."));
  ASSERT_TRUE(QDir().mkdir(server.path(QStringLiteral("folder"))));
  EXPECT_TRUE(fetch("folder").endsWith(QStringLiteral("/folder is no file.")));
  server.write("secret", "x");
  ASSERT_TRUE(QFile::setPermissions(server.path(QStringLiteral("secret")), {}));
  EXPECT_TRUE(fetch("secret").endsWith(QStringLiteral("/secret may not be read by this user.")));
  session->list(server.folder() + "/nowhere");
  EXPECT_TRUE(next().endsWith(QStringLiteral("/nowhere is not there (any more)."))) << last.toStdString();
  EXPECT_TRUE(partial().isEmpty());
  server.write("good", "x");
  EXPECT_EQ(fetch("good"), QStringLiteral("fetched"));
}

TEST_F(RemoteTest, AFetchThatIsStoppedLeavesNoPart) {
  server.write("large", randomBytes(8'000'000));
  QObject::connect(session.get(), &SftpSession::progressed, [this](qint64 done, qint64) {
    if (done > 0) session->cancel();
  });
  EXPECT_EQ(fetch("large"), QStringLiteral("This was stopped."));
  EXPECT_TRUE(partial().isEmpty());
  EXPECT_TRUE(partial().isEmpty());
  session->connectTo(server.host());
  EXPECT_EQ(next(), QStringLiteral("connected"));
}

TEST_F(RemoteTest, ALostConnectionKeepsTheOlderCopy) {
  const QByteArray older = randomBytes(1000);
  server.write("profile.pop", older);
  ASSERT_EQ(fetch("profile.pop"), QStringLiteral("fetched"));
  const QString kept = copy;
  server.write("profile.pop", randomBytes(8'000'000));
  // A connection that breaks after some megabytes.
  const QTemporaryDir scripts;
  QFile script(scripts.filePath(QStringLiteral("breaking")));
  ASSERT_TRUE(script.open(QIODevice::WriteOnly));
  // It ends with dd: ssh would notice the broken pipe only when it writes again.
  script.write("#!/bin/sh\nexec 3<&0\nssh \"$@\" <&3 | dd bs=32768 count=100 2>/dev/null &\nwait $!\n");
  script.close();
  ASSERT_TRUE(script.setPermissions(QFile::ReadOwner | QFile::ExeOwner));
  remote::SshProgram breaking = server.ssh();
  breaking.program = script.fileName();
  begin(breaking, server.host());
  ASSERT_EQ(last, QStringLiteral("connected"));
  EXPECT_TRUE(fetch("profile.pop").startsWith(QStringLiteral("The connection to 127.0.0.1:")))
      << last.toStdString();
  EXPECT_TRUE(last.contains(QStringLiteral("was lost"))) << last.toStdString();
  EXPECT_TRUE(partial().isEmpty());
  EXPECT_EQ(bytesOf(kept), older);
}

TEST_F(RemoteTest, ARefusedKeyAnUnknownHostAndAClosedPortAreSentences) {
  server.makeKey(QStringLiteral("other"));
  begin(server.ssh(QStringLiteral("IdentityFile %1").arg(server.path(QStringLiteral("other")))),
        server.host());
  EXPECT_EQ(last, QStringLiteral("connected")) << "the second key of the configuration is right";
  server.allow(QStringLiteral("other"));
  begin(server.ssh(), server.host());
  EXPECT_TRUE(last.startsWith(QStringLiteral("ssh could not connect to 127.0.0.1:"))) << last.toStdString();
  EXPECT_TRUE(last.contains(QStringLiteral("Permission denied (publickey)"))) << last.toStdString();
  begin(server.ssh(), {QStringLiteral("no..host"), 0});
  EXPECT_TRUE(last.contains(QStringLiteral("Could not resolve hostname no..host"))) << last.toStdString();
  const remote::RemoteHost closed = server.host();
  server.stop();
  begin(server.ssh(), closed);
  EXPECT_TRUE(last.contains(QStringLiteral("Connection refused"))) << last.toStdString();
}

TEST_F(RemoteTest, AChangedHostKeyIsRefused) {
  server.makeKey(QStringLiteral("impostor"));
  server.claimHostKey(QStringLiteral("impostor"));
  begin(server.ssh(), server.host());
  EXPECT_TRUE(last.contains(QStringLiteral("IDENTIFICATION HAS CHANGED")) ||
              last.contains(QStringLiteral("Host key verification failed")))
      << last.toStdString();
  EXPECT_FALSE(session->isConnected());
}

TEST_F(RemoteTest, AProgramThatIsNoSshIsNamed) {
  const QString script = cache.filePath(QStringLiteral("greeting"));
  QFile file(script);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write("#!/bin/sh\necho 'Welcome to node7, all of you'\nexec cat\n");
  file.close();
  ASSERT_TRUE(file.setPermissions(QFile::ReadOwner | QFile::ExeOwner));
  begin({script}, server.host());
  EXPECT_TRUE(last.contains(QStringLiteral("answers with something else than SFTP"))) << last.toStdString();
  begin({QStringLiteral("/nowhere/ssh")}, server.host());
  EXPECT_EQ(last, QStringLiteral("/nowhere/ssh cannot be started: install the package openssh-client."));
}

TEST(RemotePlace, ReadsHostsAsPeopleWriteThem) {
  EXPECT_EQ(*remote::parseHost(QStringLiteral(" me@node7 ")),
            (remote::RemoteHost{QStringLiteral("me@node7"), 0}));
  EXPECT_EQ(*remote::parseHost(QStringLiteral("node7:2222")),
            (remote::RemoteHost{QStringLiteral("node7"), 2222}));
  EXPECT_EQ(*remote::parseHost(QStringLiteral("fe80::1")),
            (remote::RemoteHost{QStringLiteral("fe80::1"), 0}));
  for (const char* wrong : {"", "  ", "-oProxyCommand=x", "a b", "a;b", "$(x)", "a`b`"})
    EXPECT_FALSE(remote::parseHost(QString::fromLatin1(wrong)).ok()) << wrong;
  EXPECT_EQ(remote::parseHost(QStringLiteral("a;b")).error().message,
            "\"a;b\" is no host: write node7, me@node7 or me@node7:2222.");
  EXPECT_EQ(remote::parseHost({}).error().message, "Name the host: node7, me@node7 or me@node7:2222.");
  EXPECT_EQ(remote::parseHost(QStringLiteral("node7:70000")).error().message,
            "The port after the colon is a number from 1 to 65535.");
}

TEST(RemotePlace, TheCacheKeepsTheLastCopies) {
  const QTemporaryDir folder;
  const RemoteCache cache(folder.path());
  for (int i = 0; i < 30; ++i) {
    const RemoteFile file{{QStringLiteral("node7"), 0}, "/home/profile.pop"};
    const remote::SftpAttributes attributes{3, i, 0100644};
    const QString copy = cache.pathOf(file, attributes);
    EXPECT_FALSE(cache.holds(file, attributes));
    EXPECT_EQ(QFileInfo(copy).fileName(), QStringLiteral("profile.pop")) << "as people know it";
    ASSERT_TRUE(QDir().mkpath(QFileInfo(copy).path()));
    QFile made(copy);
    ASSERT_TRUE(made.open(QIODevice::WriteOnly));
    made.write("abc");
    made.close();
    cache.keep(file, copy);
    EXPECT_TRUE(cache.holds(file, attributes));
    EXPECT_FALSE(cache.holds(file, {4, i, 0100644}));
  }
  EXPECT_EQ(QDir(folder.path()).entryList(QDir::Dirs | QDir::NoDotAndDotDot).size(), 20);
  EXPECT_FALSE(cache.originOf(QStringLiteral("/elsewhere/profile.pop")).has_value());
}

TEST(SftpPackets, AnAnswerThatIsCutGivesNothing) {
  QByteArray packet;
  remote::SftpRequest request(remote::SftpType::name);
  packet = request.number(7).number(1).text("name").text("long").number(1).longNumber(99).packet();
  remote::SftpStream stream;
  for (int i = 0; i < packet.size(); ++i) {
    EXPECT_FALSE(stream.next().has_value());
    stream.add(packet.mid(i, 1));
  }
  const auto whole = stream.next();
  ASSERT_TRUE(whole.has_value());
  for (int length = 0; length <= whole->size(); ++length) {
    remote::SftpAnswer answer(whole->left(length));
    answer.type();
    answer.number();
    answer.number();
    const QByteArray name = answer.text();
    answer.text();
    const remote::SftpAttributes attributes = answer.attributes();
    EXPECT_EQ(answer.ok(), length == whole->size());
    if (answer.ok()) {
      EXPECT_EQ(name, "name");
      EXPECT_EQ(attributes.size, 99);
    }
  }
  remote::SftpStream text;
  text.add("Welcome to node7");
  EXPECT_FALSE(text.next().has_value());
  EXPECT_TRUE(text.isForeign());
}

}  // namespace
}  // namespace pipescope::testing
