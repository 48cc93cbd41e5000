#include "views/remote/sftp_session.h"

#include <QProcessEnvironment>
#include <algorithm>

namespace pipescope::remote {
namespace {

constexpr quint32 kVersion = 3, kReadFlag = 1;
constexpr quint32 kChunk = 32'768;  ///< bytes of a request; every server gives as many
constexpr int kMostAsked = 32;      ///< requests under way, so that a long way costs little
constexpr int kMostSaid = 16'384;
constexpr std::size_t kMostEntries = 100'000;
constexpr int kMostTries = 3;

QString fromHost(const std::string& sentence) {
  return QString::fromStdString(sentence);
}

}  // namespace

struct SftpSession::Listing {
  QByteArray folder, handle;
  std::vector<RemoteEntry> entries;
};

struct SftpSession::Fetching {
  RemoteFile file;
  SftpAttributes attributes;
  QByteArray handle;
  QString copy;
  std::unique_ptr<QFile> part;
  qint64 asked = 0, got = 0;
  int underWay = 0, tries = 0;
};

SftpSession::SftpSession(SshProgram ssh, RemoteCache cache, QObject* parent)
    : QObject(parent), ssh_(std::move(ssh)), cache_(std::move(cache)) {
  connect(&process_, &QProcess::readyReadStandardOutput, this, &SftpSession::readMore);
  connect(&process_, &QProcess::readyReadStandardError, this,
          [this] { said_ = (said_ + process_.readAllStandardError()).right(kMostSaid); });
  connect(&process_, qOverload<int, QProcess::ExitStatus>(&QProcess::finished), this, [this] {
    said_ = (said_ + process_.readAllStandardError()).right(kMostSaid);
    end(reason());
  });
  connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart)
      end(tr("%1 cannot be started: install the package openssh-client.").arg(ssh_.program));
  });
}

SftpSession::~SftpSession() {
  ended_ = true;
  finish();
  process_.disconnect(this);
  process_.kill();
  process_.waitForFinished(1000);
}

void SftpSession::connectTo(const RemoteHost& host) {
  constexpr int kEndMs = 2000;
  if (process_.state() != QProcess::NotRunning) {
    // The former ssh was killed, and its end must not be taken for that of the next one.
    ended_ = true;
    process_.kill();
    process_.waitForFinished(kEndMs);
  }
  host_ = host;
  task_ = Task::connecting;
  ended_ = ready_ = false;
  said_.clear();
  stream_ = {};
  waiting_.clear();
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  for (auto each = ssh_.environment.begin(); each != ssh_.environment.end(); ++each)
    environment.insert(each.key(), each.value());
  process_.setProcessEnvironment(environment);
  QStringList arguments{QStringLiteral("-T"), QStringLiteral("-x"), QStringLiteral("-a")};
  for (const char* option : {"ConnectTimeout=20", "ServerAliveInterval=15", "ServerAliveCountMax=3",
                             "ClearAllForwardings=yes", "PermitLocalCommand=no", "RemoteCommand=none"})
    arguments << QStringLiteral("-o") << QString::fromLatin1(option);
  arguments << ssh_.options;
  if (host.port > 0) arguments << QStringLiteral("-p") << QString::number(host.port);
  arguments << QStringLiteral("-s") << QStringLiteral("--") << host.destination << QStringLiteral("sftp");
  process_.start(ssh_.program, arguments);
  process_.write(SftpRequest(SftpType::init).number(kVersion).packet());
}

void SftpSession::cancel() {
  if (ended_) return;
  end(task_ == Task::none ? tr("The connection was closed.") : tr("This was stopped."));
}

void SftpSession::readMore() {
  stream_.add(process_.readAllStandardOutput());
  while (!ended_) {
    const std::optional<QByteArray> packet = stream_.next();
    if (!packet) break;
    take(*packet);
  }
  if (!ended_ && stream_.isForeign())
    end(tr("%1 answers with something else than SFTP. A start file of the shell there may print a text.")
            .arg(toString(host_)));
}

void SftpSession::take(const QByteArray& packet) {
  SftpAnswer answer(packet);
  const SftpType type = answer.type();
  if (type == SftpType::version) {
    const quint32 version = answer.number();
    if (ready_ || !answer.ok() || version < kVersion)
      return end(tr("%1 speaks another version of SFTP (%2).").arg(toString(host_)).arg(version));
    ready_ = true;
    task_ = Task::none;
    Q_EMIT connected();
    return;
  }
  const Handler handler = waiting_.take(answer.number());
  if (handler) handler(answer, type);
}

void SftpSession::send(SftpType type, const std::function<void(SftpRequest&)>& fill, Handler handler) {
  SftpRequest request(type);
  request.number(next_);
  fill(request);
  waiting_.insert(next_++, std::move(handler));
  process_.write(request.packet());
}

/// Ends a request. Drops what was fetched of a file so far.
void SftpSession::finish() {
  task_ = Task::none;
  if (listing_ && !listing_->handle.isEmpty()) closeHandle(listing_->handle);
  if (fetching_ && !fetching_->handle.isEmpty()) closeHandle(fetching_->handle);
  if (fetching_ && fetching_->part) fetching_->part->remove();
  listing_.reset();
  fetching_.reset();
  // Answers that are still on their way belong to nothing.
  for (Handler& handler : waiting_) handler = [](SftpAnswer&, SftpType) {};
}

void SftpSession::refuse(const QString& sentence) {
  finish();
  Q_EMIT refused(sentence);
}

void SftpSession::end(const QString& sentence) {
  if (ended_) return;
  ended_ = true;
  ready_ = false;
  finish();
  process_.kill();
  Q_EMIT ended(sentence);
}

/// Says why ssh has ended: what it said last, without the lines that only decorate.
QString SftpSession::reason() const {
  QStringList lines;
  for (const QByteArray& line : said_.split('\n')) {
    const QString text = shownName(line.trimmed());
    if (text.isEmpty() || text.startsWith(QLatin1Char('@'))) continue;
    lines << text;
  }
  const QString said = lines.join(QLatin1Char(' '));
  if (task_ == Task::connecting)
    return said.isEmpty() ? tr("ssh could not connect to %1 and does not say why.").arg(toString(host_))
                          : tr("ssh could not connect to %1. It says: %2").arg(toString(host_), said);
  return said.isEmpty() ? tr("The connection to %1 was lost.").arg(toString(host_))
                        : tr("The connection to %1 was lost. ssh says: %2").arg(toString(host_), said);
}

void SftpSession::closeHandle(const QByteArray& handle) {
  if (!ended_)
    send(
        SftpType::close, [&](SftpRequest& r) { r.text(handle); }, [](SftpAnswer&, SftpType) {});
}

QString SftpSession::statusSentence(SftpAnswer& answer, SftpType type, const QString& what) const {
  if (type != SftpType::status)
    return tr("%1: %2 gives an answer that makes no sense.").arg(what, toString(host_));
  const auto status = static_cast<SftpStatus>(answer.number());
  if (status == SftpStatus::noSuchFile) return tr("%1 is not there (any more).").arg(what);
  if (status == SftpStatus::permissionDenied) return tr("%1 may not be read by this user.").arg(what);
  const QString said = shownName(answer.text());
  return tr("%1 cannot be read. The host says: %2").arg(what, said.isEmpty() ? tr("failure") : said);
}

void SftpSession::list(const QByteArray& folder) {
  if (!ready_ || isBusy()) return;
  task_ = Task::listing;
  listing_ = std::make_unique<Listing>();
  const auto opened = [this](SftpAnswer& answer, SftpType type) {
    if (type != SftpType::handle) return refuse(statusSentence(answer, type, shownName(listing_->folder)));
    listing_->handle = answer.text();
    readFolder();
  };
  const auto resolved = [this, folder, opened](SftpAnswer& answer, SftpType type) {
    if (type != SftpType::name) return refuse(statusSentence(answer, type, shownName(folder)));
    answer.number();
    listing_->folder = answer.text();
    send(
        SftpType::opendir, [this](SftpRequest& r) { r.text(listing_->folder); }, opened);
  };
  send(
      SftpType::realpath, [&](SftpRequest& r) { r.text(folder); }, resolved);
}

void SftpSession::readFolder() {
  send(
      SftpType::readdir, [this](SftpRequest& r) { r.text(listing_->handle); },
      [this](SftpAnswer& answer, SftpType type) {
        if (type == SftpType::name) {
          addEntries(answer);
          if (listing_->entries.size() < kMostEntries) return readFolder();
        } else if (type != SftpType::status || static_cast<SftpStatus>(answer.number()) != SftpStatus::end) {
          return refuse(tr("%1 cannot be listed.").arg(shownName(listing_->folder)));
        }
        std::vector<RemoteEntry> entries = std::move(listing_->entries);
        const QByteArray folder = listing_->folder;
        std::ranges::sort(entries, [](const RemoteEntry& a, const RemoteEntry& b) {
          if (a.attributes.isFolder() != b.attributes.isFolder()) return a.attributes.isFolder();
          return a.name < b.name;
        });
        finish();
        Q_EMIT listed(folder, entries);
      });
}

void SftpSession::addEntries(SftpAnswer& answer) {
  for (quint32 left = answer.number(); left > 0 && answer.ok(); --left) {
    RemoteEntry entry;
    entry.name = answer.text();
    answer.text();  // the same as a line for people
    entry.attributes = answer.attributes();
    // A name with a slash would lead out of the folder.
    const bool isPossible = answer.ok() && !entry.name.isEmpty() && !entry.name.contains('/') &&
                            entry.name != "." && entry.name != "..";
    if (isPossible) listing_->entries.push_back(std::move(entry));
  }
}

void SftpSession::fetch(const QByteArray& path) {
  if (!ready_ || isBusy()) return;
  if (const base::Status made = cache_.makeFolder(); !made.ok()) {
    Q_EMIT refused(fromHost(made.error().message));
    return;
  }
  task_ = Task::fetching;
  fetching_ = std::make_unique<Fetching>();
  fetching_->file = {host_, path};
  send(
      SftpType::stat, [&](SftpRequest& r) { r.text(path); },
      [this](SftpAnswer& answer, SftpType type) {
        const QString name = shownName(fetching_->file.path);
        if (type != SftpType::attributes) return refuse(statusSentence(answer, type, name));
        const SftpAttributes attributes = answer.attributes();
        if (!attributes.isFile()) return refuse(tr("%1 is no file.").arg(name));
        if (attributes.size < 0) return refuse(tr("%1: the host does not tell its size.").arg(name));
        if (cache_.holds(fetching_->file, attributes)) {
          const QString copy = cache_.pathOf(fetching_->file, attributes);
          cache_.keep(fetching_->file, copy);
          finish();
          Q_EMIT fetched(copy, true);
          return;
        }
        openFile(attributes);
      });
}

void SftpSession::openFile(const SftpAttributes& attributes) {
  Fetching& now = *fetching_;
  now.attributes = attributes;
  now.copy = cache_.pathOf(now.file, attributes);
  now.asked = now.got = 0;
  QDir().mkpath(QFileInfo(now.copy).path());
  now.part = std::make_unique<QFile>(now.copy + QStringLiteral(".part"));
  if (!now.part->open(QIODevice::WriteOnly | QIODevice::Truncate))
    return refuse(tr("%1 cannot be written: %2.").arg(now.part->fileName(), now.part->errorString()));
  send(
      SftpType::open, [&](SftpRequest& r) { r.text(now.file.path).number(kReadFlag).number(0); },
      [this](SftpAnswer& answer, SftpType type) {
        if (type != SftpType::handle)
          return refuse(statusSentence(answer, type, shownName(fetching_->file.path)));
        fetching_->handle = answer.text();
        Q_EMIT progressed(0, fetching_->attributes.size);
        readFile();
      });
}

void SftpSession::readFile() {
  Fetching& now = *fetching_;
  const auto ask = [&](qint64 offset, quint32 length) {
    ++now.underWay;
    send(
        SftpType::read,
        [&](SftpRequest& r) { r.text(now.handle).longNumber(static_cast<quint64>(offset)).number(length); },
        [this, offset, length](SftpAnswer& answer, SftpType type) { addData(offset, length, answer, type); });
  };
  while (now.underWay < kMostAsked && now.asked < now.attributes.size) {
    const auto length = static_cast<quint32>(std::min<qint64>(kChunk, now.attributes.size - now.asked));
    ask(now.asked, length);
    now.asked += length;
  }
  if (now.underWay == 0 && now.got == now.attributes.size) checkUnchanged();
}

void SftpSession::addData(qint64 offset, quint32 wanted, SftpAnswer& answer, SftpType type) {
  Fetching& now = *fetching_;
  --now.underWay;
  const QByteArray bytes = type == SftpType::data ? answer.text() : QByteArray();
  const bool isShorter =
      type == SftpType::status && static_cast<SftpStatus>(answer.number()) == SftpStatus::end;
  if (isShorter) return checkUnchanged();  // the file has shrunk
  if (bytes.isEmpty() || static_cast<quint32>(bytes.size()) > wanted)
    return refuse(tr("%1 cannot be read any further.").arg(shownName(now.file.path)));
  if (!now.part->seek(offset) || now.part->write(bytes) != bytes.size())
    return refuse(tr("%1 cannot be written: %2.").arg(now.part->fileName(), now.part->errorString()));
  now.got += bytes.size();
  const quint32 rest = wanted - static_cast<quint32>(bytes.size());
  if (rest > 0) {
    // The server gave less than was asked for.
    const qint64 from = offset + bytes.size();
    ++now.underWay;
    send(
        SftpType::read,
        [&](SftpRequest& r) { r.text(now.handle).longNumber(static_cast<quint64>(from)).number(rest); },
        [this, from, rest](SftpAnswer& more, SftpType kind) { addData(from, rest, more, kind); });
  }
  Q_EMIT progressed(now.got, now.attributes.size);
  if (fetching_) readFile();
}

/// A file that has changed meanwhile is fetched again from its beginning.
void SftpSession::checkUnchanged() {
  for (Handler& handler : waiting_) handler = [](SftpAnswer&, SftpType) {};
  fetching_->underWay = 0;
  send(
      SftpType::stat, [&](SftpRequest& r) { r.text(fetching_->file.path); },
      [this](SftpAnswer& answer, SftpType type) {
        Fetching& now = *fetching_;
        const QString name = shownName(now.file.path);
        if (type != SftpType::attributes) return refuse(statusSentence(answer, type, name));
        const SftpAttributes after = answer.attributes();
        const bool isSame = after.size == now.attributes.size && after.modified == now.attributes.modified;
        if (!isSame || now.got != now.attributes.size) {
          if (++now.tries == kMostTries)
            return refuse(tr("%1 changes while it is fetched: try again when its run has ended.").arg(name));
          closeHandle(now.handle);
          now.handle.clear();
          now.part->remove();
          return openFile(after);
        }
        if (!now.part->flush())
          return refuse(tr("%1 cannot be written: %2.").arg(now.part->fileName(), now.part->errorString()));
        now.part->close();
        // The copy of an earlier fetch may be there, but not whole.
        QFile::remove(now.copy);
        if (!now.part->rename(now.copy))
          return refuse(tr("%1 cannot be written: %2.").arg(now.copy, now.part->errorString()));
        now.part.reset();
        const QString copy = now.copy;
        cache_.keep(now.file, copy);
        finish();
        Q_EMIT fetched(copy, false);
      });
}

}  // namespace pipescope::remote
