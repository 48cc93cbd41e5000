// Reads and writes zip archives of .npy files, for npy_file.h.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>

#include "engine/data/npy_file.h"
#include "profiler/base/files/output_file.h"
#include "profiler/base/printable.h"

namespace pipescope::data {
namespace {

using base::badInput;
using base::Result;
using base::Status;

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr std::size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22;
constexpr std::uint32_t kIn64 = 0xFFFFFFFF;  ///< this value means that the zip64 field holds the number

template <class T>
T at(std::span<const std::byte> file, std::size_t place) {
  T value{};
  std::memcpy(&value, file.data() + place, sizeof(T));
  return value;
}

struct Member {
  std::string name;
  std::uint64_t packed = 0, size = 0, offset = 0;
  unsigned method = 0;
  std::uint32_t checksum = 0;  ///< CRC-32 of the unpacked bytes
};

/// Reads sizes that do not fit 32 bits from an extra field. The field holds the size, the packed size and the
/// offset, in this order, but only those whose 32-bit field is kIn64.
void readZip64(std::span<const std::byte> extra, Member& member) {
  for (std::size_t i = 0; i + 4 <= extra.size();) {
    const auto id = at<std::uint16_t>(extra, i), length = at<std::uint16_t>(extra, i + 2);
    i += 4;
    if (id == 1 && i + length <= extra.size()) {
      std::size_t place = i;
      for (std::uint64_t* value : {&member.size, &member.packed, &member.offset}) {
        if (*value != kIn64 || place + 8 > i + length) continue;
        *value = at<std::uint64_t>(extra, place);
        place += 8;
      }
    }
    i += length;
  }
}

/// `file` is the end of an archive, from byte `base` on. If its directory begins before that, `missing` is
/// set to where it begins.
Result<std::vector<Member>> membersOf(std::span<const std::byte> file, const std::string& name,
                                      std::size_t base = 0, std::optional<std::size_t>* missing = nullptr) {
  const base::Error damaged = badInput(fmt::format("{} is no .npz file, or it is cut off or damaged", name));
  if (file.size() < kEndBytes) return damaged;
  std::size_t end = file.size() - kEndBytes;
  const std::size_t least = end > 65535 ? end - 65535 : 0;
  while (at<std::uint32_t>(file, end) != kEnd) {
    if (end-- == least) return damaged;
  }
  const auto count = at<std::uint16_t>(file, end + 10);
  std::size_t place = at<std::uint32_t>(file, end + 16);
  if (place < base) {
    if (missing != nullptr) *missing = place;
    return damaged;
  }
  place -= base;
  std::vector<Member> members;
  for (std::size_t i = 0; i < count; ++i) {
    if (place > end || end - place < kCentralBytes || at<std::uint32_t>(file, place) != kCentral)
      return damaged;
    const std::size_t nameLength = at<std::uint16_t>(file, place + 28),
                      extra = at<std::uint16_t>(file, place + 30),
                      comment = at<std::uint16_t>(file, place + 32);
    if (end - place - kCentralBytes < nameLength + extra + comment) return damaged;
    Member member;
    member.method = at<std::uint16_t>(file, place + 10);
    member.checksum = at<std::uint32_t>(file, place + 16);
    member.packed = at<std::uint32_t>(file, place + 20);
    member.size = at<std::uint32_t>(file, place + 24);
    member.offset = at<std::uint32_t>(file, place + 42);
    member.name.assign(reinterpret_cast<const char*>(file.data()) + place + kCentralBytes, nameLength);
    readZip64(file.subspan(place + kCentralBytes + nameLength, extra), member);
    members.push_back(std::move(member));
    place += kCentralBytes + nameLength + extra + comment;
  }
  return members;
}

/// Bytes of the local header of a member; `start` begins with it. It must have the same name as the
/// directory: otherwise one of the two is damaged, and an array would be taken for another one.
Result<std::size_t> localBytes(std::span<const std::byte> start, const Member& member,
                               const std::string& name) {
  const base::Error damaged = badInput(fmt::format("{}: member {} is cut off or damaged", name, member.name));
  if (start.size() < kLocalBytes || at<std::uint32_t>(start, 0) != kLocal) return damaged;
  const std::size_t nameBytes = at<std::uint16_t>(start, 26);
  const std::size_t skip = kLocalBytes + nameBytes + at<std::uint16_t>(start, 28);
  if (start.size() < skip) return damaged;
  const std::string_view own(reinterpret_cast<const char*>(start.data()) + kLocalBytes, nameBytes);
  if (own != member.name)
    return badInput(fmt::format("{}: member {} is damaged: its own header calls it {}; use another copy",
                                name, member.name, base::printableName(own)));
  return skip;
}

/// Returns the member's bytes as the file holds them, still compressed.
Result<std::span<const std::byte>> packedBytes(std::span<const std::byte> file, const Member& member,
                                               const std::string& name) {
  const auto from = static_cast<std::size_t>(std::min<std::uint64_t>(member.offset, file.size()));
  const std::span<const std::byte> start = file.subspan(from);
  PIPESCOPE_ASSIGN(const std::size_t skip, localBytes(start, member, name));
  if (start.size() - skip < member.packed)
    return badInput(fmt::format("{}: member {} is cut off or damaged", name, member.name));
  return start.subspan(skip, static_cast<std::size_t>(member.packed));
}

/// Inflates up to `wanted` bytes. Returns nothing if the packed bytes are damaged or end before.
std::optional<std::vector<std::byte>> inflateTo(std::span<const std::byte> packed, std::size_t wanted,
                                                bool toTheEnd) {
  std::vector<std::byte> bytes(wanted);
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return std::nullopt;
  std::size_t in = 0, out = 0;
  int state = Z_OK;
  Bytef nothing = 0;
  while (state == Z_OK && (toTheEnd || out < wanted)) {
    constexpr std::size_t kPiece = 1 << 30;
    const std::size_t more = std::min(packed.size() - in, kPiece),
                      room = std::min(bytes.size() - out, kPiece);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()) + in);
    stream.avail_in = static_cast<uInt>(more);
    stream.next_out = room > 0 ? reinterpret_cast<Bytef*>(bytes.data() + out) : &nothing;
    stream.avail_out = static_cast<uInt>(room);
    state = inflate(&stream, Z_NO_FLUSH);
    in += more - stream.avail_in;
    out += room - stream.avail_out;
  }
  inflateEnd(&stream);
  if (out != wanted || (toTheEnd && state != Z_STREAM_END)) return std::nullopt;
  return bytes;
}

std::uint32_t checksumOf(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

base::Error damagedMember(const Member& member, const std::string& name) {
  return badInput(fmt::format("{}: member {} is damaged", name, member.name));
}

/// Deflate compresses by a factor of at most 1,032.
bool isPossible(const Member& member) {
  return member.method != Z_DEFLATED || member.size <= (member.packed + 64) * 1032;
}

/// The array of a member, from its unpacked bytes. Damage within numbers shows in the checksum only.
Result<graph::TensorValue> arrayOf(std::span<const std::byte> bytes, const Member& member,
                                   const std::string& name) {
  if (checksumOf(bytes) != member.checksum)
    return badInput(fmt::format(
        "{}: member {} is damaged: its bytes do not have the checksum (CRC-32) that the archive states; use "
        "another copy",
        name, member.name));
  return parseNpy(bytes, fmt::format("{}: member {}", name, member.name));
}

Result<std::vector<std::byte>> inflated(std::span<const std::byte> packed, const Member& member,
                                        const std::string& name) {
  if (!isPossible(member)) return damagedMember(member, name);
  auto bytes = inflateTo(packed, static_cast<std::size_t>(member.size), true);
  if (!bytes) return damagedMember(member, name);
  return *std::move(bytes);
}

base::Error unknownMethod(const Member& member, const std::string& what) {
  return badInput(
      fmt::format("{} is packed by method {}; stored and deflated ones are read", what, member.method));
}

/// The name of an array, without ".npy".
std::string keyOf(const Member& member) {
  return member.name.ends_with(".npy") ? member.name.substr(0, member.name.size() - 4) : member.name;
}

/// The members of an archive, from its end.
Result<std::vector<Member>> readDirectory(const std::filesystem::path& path, std::size_t size) {
  const std::string name = "'" + path.string() + "'";
  std::size_t from = size - std::min<std::size_t>(size, 65535 + kEndBytes);
  std::optional<std::size_t> missing;
  PIPESCOPE_ASSIGN(std::vector<std::byte> tail, readFilePart(path, from, size - from, "archive of arrays"));
  Result<std::vector<Member>> members = membersOf(tail, name, from, &missing);
  if (members.ok() || !missing) return members;
  PIPESCOPE_ASSIGN(tail, readFilePart(path, *missing, size - *missing, "archive of arrays"));
  return membersOf(tail, name, *missing);
}

/// The type of a member, from the first bytes of it.
Result<graph::TensorType> typeOfMember(const std::filesystem::path& path, std::size_t size,
                                       const Member& member) {
  const std::string name = "'" + path.string() + "'", what = fmt::format("{}: member {}", name, member.name);
  if (member.method != 0 && member.method != Z_DEFLATED) return unknownMethod(member, what);
  // A local header has a name and an extra field, each of 65,535 bytes at most.
  constexpr std::uint64_t kStart = kLocalBytes + 2 * 65535 + kNpyStart;
  const std::uint64_t from = std::min<std::uint64_t>(member.offset, size);
  PIPESCOPE_ASSIGN(
      const std::vector<std::byte> part,
      readFilePart(path, from, static_cast<std::size_t>(std::min(kStart, size - from)), "archive of arrays"));
  PIPESCOPE_ASSIGN(const std::size_t skip, localBytes(part, member, name));
  if (member.packed > size - from - skip)
    return badInput(fmt::format("{}: member {} is cut off or damaged", name, member.name));
  if (!isPossible(member)) return damagedMember(member, name);
  const auto known = static_cast<std::size_t>(std::min<std::uint64_t>(member.packed, part.size() - skip));
  const std::span<const std::byte> packed = std::span(part).subspan(skip, known);
  if (member.method == 0)
    return parseNpyType(packed.subspan(0, std::min(known, kNpyStart)),
                        static_cast<std::size_t>(member.packed), what);
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(member.size, kNpyStart));
  const auto bytes = inflateTo(packed, wanted, false);
  if (!bytes) return damagedMember(member, name);
  return parseNpyType(*bytes, static_cast<std::size_t>(member.size), what);
}

template <class T>
void put(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

/// Writes the part that local and central headers share: version, flags, method, time, checksum, sizes,
/// length of the name.
void putFacts(std::string& to, std::uint32_t checksum, std::uint32_t size, const std::string& name) {
  put<std::uint16_t>(to, 20);
  put<std::uint16_t>(to, 0);
  put<std::uint16_t>(to, 0);
  put<std::uint32_t>(to, 0x00210000);  // 1 January 1980; a fixed date gives the same bytes at every run
  put(to, checksum);
  put(to, size);
  put(to, size);
  put(to, static_cast<std::uint16_t>(name.size()));
}

Status writeAll(std::ofstream& stream, std::span<const NpzMember> members) {
  std::string central;
  std::uint64_t offset = 0;
  for (const NpzMember& member : members) {
    const std::string name = member.name + ".npy";
    const std::vector<std::byte> bytes = npyBytes(member.type, member.values);
    if (offset + bytes.size() + kLocalBytes + name.size() >= kIn64)
      return badInput(
          "an .npz file holds less than 4 GiB, and these weights with their optimizer's state are more");
    const auto size = static_cast<std::uint32_t>(bytes.size());
    const std::uint32_t checksum = checksumOf(bytes);
    std::string local;
    put(local, kLocal);
    putFacts(local, checksum, size, name);
    put<std::uint16_t>(local, 0);
    local += name;
    put(central, kCentral);
    put<std::uint16_t>(central, 20);
    putFacts(central, checksum, size, name);
    central.append(8, '\0');  // extra, comment, disk, internal attributes
    put<std::uint32_t>(central, 0);
    put(central, static_cast<std::uint32_t>(offset));
    central += name;
    stream.write(local.data(), static_cast<std::streamsize>(local.size()));
    stream.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    offset += local.size() + bytes.size();
  }
  std::string end;
  put(end, kEnd);
  put<std::uint32_t>(end, 0);
  put(end, static_cast<std::uint16_t>(members.size()));
  put(end, static_cast<std::uint16_t>(members.size()));
  put(end, static_cast<std::uint32_t>(central.size()));
  put(end, static_cast<std::uint32_t>(offset));
  put<std::uint16_t>(end, 0);
  central += end;
  stream.write(central.data(), static_cast<std::streamsize>(central.size()));
  stream.flush();
  return {};
}

}  // namespace

Result<std::map<std::string, graph::TensorValue>> readNpz(const std::filesystem::path& path) {
  const std::string name = "'" + path.string() + "'";
  PIPESCOPE_ASSIGN(const std::vector<std::byte> file, readWholeFile(path, "archive of arrays"));
  PIPESCOPE_ASSIGN(const std::vector<Member> members, membersOf(file, name));
  std::map<std::string, graph::TensorValue> arrays;
  for (const Member& member : members) {
    PIPESCOPE_ASSIGN(const std::span<const std::byte> packed, packedBytes(file, member, name));
    if (member.method == 0) {
      PIPESCOPE_ASSIGN(arrays[keyOf(member)], arrayOf(packed, member, name));
    } else if (member.method == Z_DEFLATED) {
      PIPESCOPE_ASSIGN(const std::vector<std::byte> bytes, inflated(packed, member, name));
      PIPESCOPE_ASSIGN(arrays[keyOf(member)], arrayOf(bytes, member, name));
    } else {
      return unknownMethod(member, fmt::format("{}: member {}", name, member.name));
    }
  }
  return arrays;
}

Result<std::map<std::string, graph::TensorType>> readNpzTypes(const std::filesystem::path& path) {
  PIPESCOPE_ASSIGN(const std::uintmax_t size, plainFileSize(path, "archive of arrays"));
  PIPESCOPE_ASSIGN(const std::vector<Member> members, readDirectory(path, static_cast<std::size_t>(size)));
  std::map<std::string, graph::TensorType> types;
  for (const Member& member : members) {
    PIPESCOPE_ASSIGN(types[keyOf(member)], typeOfMember(path, static_cast<std::size_t>(size), member));
  }
  return types;
}

Status writeNpz(const std::filesystem::path& file, std::span<const NpzMember> members) {
  if (members.size() > 65535)
    return badInput(fmt::format("{} arrays are more than an .npz file holds", members.size()));
  PIPESCOPE_ASSIGN(base::PendingFile pending, base::PendingFile::create(file));
  std::ofstream stream(pending.temporary(), std::ios::binary);
  PIPESCOPE_TRY(writeAll(stream, members));
  stream.close();
  if (!stream) return base::machineError(fmt::format("cannot write '{}': is the disk full?", file.string()));
  return pending.publish();
}

}  // namespace pipescope::data
