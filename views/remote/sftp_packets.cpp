#include "views/remote/sftp_packets.h"

#include <QtEndian>
#include <limits>

namespace pipescope::remote {
namespace {

/// Servers send packets of at most 256 KiB. Longer ones are other text, such as the greeting of a shell.
constexpr quint32 kMostPacketBytes = 1 << 20;

template <class Number>
void append(QByteArray& to, Number value) {
  char bytes[sizeof value];
  qToBigEndian(value, bytes);
  to.append(bytes, sizeof value);
}

}  // namespace

SftpRequest& SftpRequest::number(quint32 value) {
  append(bytes_, value);
  return *this;
}

SftpRequest& SftpRequest::longNumber(quint64 value) {
  append(bytes_, value);
  return *this;
}

SftpRequest& SftpRequest::text(const QByteArray& value) {
  append(bytes_, static_cast<quint32>(value.size()));
  bytes_ += value;
  return *this;
}

QByteArray SftpRequest::packet() const {
  QByteArray packet;
  append(packet, static_cast<quint32>(bytes_.size()));
  return packet + bytes_;
}

const uchar* SftpAnswer::take(int bytes) {
  if (!ok_ || bytes > bytes_.size() - at_) {
    ok_ = false;
    return nullptr;
  }
  const uchar* from = reinterpret_cast<const uchar*>(bytes_.constData()) + at_;
  at_ += bytes;
  return from;
}

SftpType SftpAnswer::type() {
  const uchar* byte = take(1);
  return static_cast<SftpType>(byte == nullptr ? 0 : *byte);
}

quint32 SftpAnswer::number() {
  const uchar* from = take(4);
  return from == nullptr ? 0 : qFromBigEndian<quint32>(from);
}

quint64 SftpAnswer::longNumber() {
  const uchar* from = take(8);
  return from == nullptr ? 0 : qFromBigEndian<quint64>(from);
}

QByteArray SftpAnswer::text() {
  const quint32 length = number();
  if (length > static_cast<quint32>(std::numeric_limits<int>::max())) {
    ok_ = false;
    return {};
  }
  const uchar* from = take(static_cast<int>(length));
  return from == nullptr ? QByteArray()
                         : QByteArray(reinterpret_cast<const char*>(from), static_cast<int>(length));
}

SftpAttributes SftpAnswer::attributes() {
  constexpr quint32 kSize = 1, kOwner = 2, kMode = 4, kTimes = 8, kExtended = 0x80000000;
  SftpAttributes made;
  const quint32 flags = number();
  if (flags & kSize) made.size = static_cast<qint64>(longNumber() & 0x7FFFFFFFFFFFFFFFULL);
  if (flags & kOwner) number(), number();
  if (flags & kMode) made.mode = number();
  if (flags & kTimes) number(), made.modified = number();
  if (flags & kExtended) {
    for (quint32 left = number(); left > 0 && ok_; --left) text(), text();
  }
  return made;
}

std::optional<QByteArray> SftpStream::next() {
  if (foreign_ || rest_.size() < 4) return {};
  const auto length = qFromBigEndian<quint32>(reinterpret_cast<const uchar*>(rest_.constData()));
  if (length == 0 || length > kMostPacketBytes) {
    foreign_ = true;
    return {};
  }
  if (static_cast<quint32>(rest_.size()) - 4 < length) return {};
  const QByteArray packet = rest_.mid(4, static_cast<int>(length));
  rest_.remove(0, 4 + static_cast<int>(length));
  return packet;
}

}  // namespace pipescope::remote
