#include "profiler/base/files/file_kind.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

namespace pipescope::base {
namespace {

using namespace std::string_view_literals;

unsigned byteAt(std::string_view head, std::size_t place) {
  return static_cast<unsigned char>(head[place]);
}

/// The header of an SQLite file has a signature and, at byte 68, the application id (sqlite.org/fileformat).
bool isDatabase(std::string_view head, std::uint32_t applicationId) {
  constexpr std::size_t kIdAt = 68;
  if (!head.starts_with("SQLite format 3\0"sv) || head.size() < kIdAt + 4) return false;
  std::uint32_t id = 0;
  for (std::size_t i = 0; i < 4; ++i) id = id << 8U | byteAt(head, kIdAt + i);
  return id == applicationId;
}

std::string_view afterSpace(std::string_view text) {
  const std::size_t at = text.find_first_not_of(" \t\r\n");
  return at == std::string_view::npos ? std::string_view() : text.substr(at);
}

bool isChromeTrace(std::string_view head) {
  return afterSpace(head).starts_with("{") && head.find("\"traceEvents\"") != std::string_view::npos;
}

/// An SVG file's first element is <svg>. An XML declaration, comments and a document type may stand before.
bool isSvg(std::string_view head) {
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  for (head = afterSpace(head); head.starts_with("<?") || head.starts_with("<!"); head = afterSpace(head)) {
    const std::string_view end = head.starts_with("<!--") ? "-->"sv : head.starts_with("<?") ? "?>"sv : ">"sv;
    const std::size_t at = head.find(end);
    if (at == std::string_view::npos) return false;
    head.remove_prefix(at + end.size());
  }
  return head.starts_with("<svg") && head.size() > 4 && " \t\r\n>/"sv.find(head[4]) != std::string_view::npos;
}

/// "BM", the file's size, four bytes of zero, the offset of the pixels, and the size of a known second header
/// (BITMAPFILEHEADER and BITMAPINFOHEADER of Windows GDI).
bool isBmp(std::string_view head) {
  constexpr std::size_t kReservedAt = 6, kHeaderAt = 14, kLeast = 26;
  constexpr std::array<unsigned, 5> kHeaderSizes = {12, 40, 56, 108, 124};
  return head.size() >= kLeast && head.starts_with("BM") && head.substr(kReservedAt, 4) == "\0\0\0\0"sv &&
         std::ranges::find(kHeaderSizes, byteAt(head, kHeaderAt)) != kHeaderSizes.end();
}

/// A TFRecord: length (8 bytes), its checksum (4), then an Event whose field 3 is the text "brain.Event:2".
bool isEventFile(std::string_view head) {
  constexpr std::size_t kData = 12, kWithin = 64;
  return head.size() > kData && head.substr(kData, kWithin).find("brain.Event:") != std::string_view::npos;
}

/// A local header of a zip archive: signature, name's length at byte 26, name at byte 30 (PKWARE's APPNOTE).
bool isNpz(std::string_view head) {
  constexpr std::size_t kLengthAt = 26, kNameAt = 30;
  if (!head.starts_with("PK\3\4") || head.size() < kNameAt) return false;
  const std::size_t length = byteAt(head, kLengthAt) | byteAt(head, kLengthAt + 1) << 8U;
  return head.size() >= kNameAt + length && head.substr(kNameAt, length).ends_with(".npy");
}

/// The number of fields of the CSV record that `text` begins with, which is then removed. None if the text
/// ends within the record, or if a quote or control character stands where none may be (RFC 4180).
std::optional<std::size_t> takeCsvRecord(std::string_view& text) {
  std::size_t fields = 1;
  bool quoted = false, begins = true, closed = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      const bool doubled = c == '"' && i + 1 < text.size() && text[i + 1] == '"';
      if (doubled) ++i;
      if (c == '"' && !doubled) quoted = false, closed = true;
    } else if (c == '"' && begins) {
      quoted = true;
    } else if (c == ',') {
      ++fields;
      begins = true;
      closed = false;
      continue;
    } else if (c == '\n') {
      text.remove_prefix(i + 1);
      return fields;
    } else if (c == '"' || (closed && c != '\r') ||
               (static_cast<unsigned char>(c) < 0x20 && c != '\r' && c != '\t')) {
      text = {};
      return 0;
    }
    begins = false;
  }
  return std::nullopt;
}

/// A line of at least two headings, and as many fields in each record that follows.
bool isCsv(std::string_view head) {
  const std::optional<std::size_t> headings = takeCsvRecord(head);
  if (headings.value_or(0) < 2) return false;
  while (!head.empty()) {
    const std::optional<std::size_t> fields = takeCsvRecord(head);
    if (!fields) return true;  // the head of the file ends here
    if (*fields != *headings) return false;
  }
  return true;
}

/// The wire type of each field of a message (protobuf.dev/programming-guides/encoding); 8: either a varint
/// or a packed list of them; −1: no such field.
using WireTypes = std::array<signed char, 33>;

std::optional<std::uint64_t> takeVarint(std::string_view& text) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !text.empty(); shift += 7) {
    const unsigned byte = byteAt(text, 0);
    text.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

/// True if all fields in the head belong to the message, and `needed` is one of them.
bool isMessage(std::string_view head, const WireTypes& types, std::uint64_t needed) {
  bool found = false;
  while (!head.empty()) {
    const std::optional<std::uint64_t> tag = takeVarint(head);
    if (!tag || *tag >> 3U >= types.size()) return false;
    const std::uint64_t field = *tag >> 3U, wire = *tag & 7U;
    const int expected = types[static_cast<std::size_t>(field)];
    if (expected != static_cast<int>(wire) && !(expected == 8 && (wire == 0 || wire == 2))) return false;
    found = found || field == needed;
    constexpr std::size_t kFixed32 = 4, kFixed64 = 8;
    const std::optional<std::uint64_t> value = wire == 0 || wire == 2 ? takeVarint(head)
                                               : wire == 5            ? kFixed32
                                                                      : kFixed64;
    if (!value) return found;  // the head of the file ends here
    if (wire != 0) head.remove_prefix(static_cast<std::size_t>(std::min<std::uint64_t>(*value, head.size())));
  }
  return found;
}

WireTypes wireTypes(std::span<const std::pair<int, signed char>> fields) {
  WireTypes types{};
  types.fill(-1);
  for (const auto& [field, type] : fields) types[static_cast<std::size_t>(field)] = type;
  return types;
}

/// Fields of ModelProto and TensorProto in onnx.proto: number and wire type. Both are recognised by a field
/// that every writer gives: ir_version, and data_type.
bool isOnnxModel(std::string_view head) {
  constexpr std::pair<int, signed char> kFields[] = {{1, 0}, {2, 2}, {3, 2},  {4, 2},  {5, 0}, {6, 2},
                                                     {7, 2}, {8, 2}, {14, 2}, {20, 2}, {25, 2}};
  static const WireTypes types = wireTypes(kFields);
  return isMessage(head, types, 1);
}
bool isOnnxTensor(std::string_view head) {
  constexpr std::pair<int, signed char> kFields[] = {{1, 8},  {2, 0},  {3, 2},  {4, 2},  {5, 8},
                                                     {6, 2},  {7, 8},  {8, 2},  {9, 2},  {10, 2},
                                                     {11, 8}, {12, 2}, {13, 2}, {14, 0}, {16, 2}};
  static const WireTypes types = wireTypes(kFields);
  return isMessage(head, types, 2);
}

/// Returns what the head holds of the next block, whose length stands before it; none at the end of the head.
std::optional<std::string_view> takeStartOfBlock(std::string_view& head) {
  const std::optional<std::uint64_t> size = takeVarint(head);
  if (!size) return std::nullopt;
  const std::string_view block =
      head.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(*size, head.size())));
  head.remove_prefix(block.size());
  return block;
}

/// The text of the next block; none at the end of the head or within a block.
std::optional<std::string_view> takeBlock(std::string_view& head) {
  std::string_view rest = head;
  const std::optional<std::uint64_t> size = takeVarint(rest);
  if (!size || *size > rest.size()) return std::nullopt;
  return takeStartOfBlock(head);
}

/// Nothing but packets: field 1, a block. The exporter's first packets are short.
bool isPerfettoTrace(std::string_view head) {
  bool any = false;
  while (!head.empty()) {
    if (head.front() != '\x0A') return false;
    head.remove_prefix(1);
    if (!takeBlock(head)) return any;
    any = true;
  }
  return any;
}

/// The metadata, then nodes, which have an id and a name (et_def.proto of mlcommons/chakra).
bool isChakraTrace(std::string_view head) {
  constexpr std::pair<int, signed char> kMetadata[] = {{1, 2}, {2, 2}};
  constexpr std::pair<int, signed char> kNode[] = {{1, 0}, {2, 2}, {3, 0}, {4, 8},  {5, 8}, {6, 0},
                                                   {7, 0}, {8, 2}, {9, 2}, {10, 2}, {11, 2}};
  static const WireTypes metadata = wireTypes(kMetadata), node = wireTypes(kNode);
  // The metadata of a trace of many devices is longer than the head.
  const std::optional<std::string_view> first = takeStartOfBlock(head);
  if (!first || !isMessage(*first, metadata, 1)) return false;
  const std::optional<std::string_view> second = takeBlock(head);
  return !second || isMessage(*second, node, 2);
}

/// The comment in the header of a gzip file whose only optional field it is (RFC 1952); otherwise empty.
std::string_view commentOfGzip(std::string_view head) {
  constexpr std::size_t kFlagsAt = 3, kCommentAt = 10;
  constexpr unsigned kCommentOnly = 16;
  if (!head.starts_with("\x1F\x8B\x08") || head.size() <= kCommentAt) return {};
  const std::size_t end = head.find('\0', kCommentAt);
  if (byteAt(head, kFlagsAt) != kCommentOnly || end == std::string_view::npos) return {};
  return head.substr(kCommentAt, end - kCommentAt);
}

}  // namespace

std::string_view nameOf(FileKind kind) {
  static constexpr std::string_view names[] = {"a Pipescope profile",
                                               "a database that pipescope exported",
                                               "a Chrome trace",
                                               "a table of comma-separated values",
                                               "an SVG drawing",
                                               "a PNG picture",
                                               "a JPEG picture",
                                               "a BMP picture",
                                               "a metrics file",
                                               "a file of Pipescope's metrics for Prometheus",
                                               "an event file of TensorBoard",
                                               "the table of a sweep",
                                               "an .npz archive",
                                               "an ONNX model",
                                               "an ONNX tensor",
                                               "a planned configuration",
                                               "a Perfetto trace",
                                               "a Chakra trace",
                                               "a file of poprun's flags",
                                               "a calibrated device",
                                               "a report in HTML"};
  return names[static_cast<std::size_t>(kind)];
}

std::string gzipComment(FileKind kind) {
  return "pipescope: " + std::string(nameOf(kind));
}

bool isOfKind(FileKind kind, std::string_view head) {
  if (const std::string_view comment = commentOfGzip(head); !comment.empty())
    return comment == gzipComment(kind);
  switch (kind) {
    case FileKind::profile:
      return isDatabase(head, kProfileId);
    case FileKind::database:
      return isDatabase(head, kExportId);
    case FileKind::chromeTrace:
      return isChromeTrace(head);
    case FileKind::csv:
      return isCsv(head);
    case FileKind::svg:
      return isSvg(head);
    case FileKind::png:
      return head.starts_with("\x89PNG\r\n\x1A\n");
    case FileKind::jpeg:  // the marker of the start, then the first byte of another marker
      return head.starts_with("\xFF\xD8\xFF");
    case FileKind::bmp:
      return isBmp(head);
    case FileKind::metrics:
      return head.starts_with("{\"kind\":\"");
    case FileKind::prometheus:
      return head.starts_with("# HELP pipescope_");
    case FileKind::eventFile:
      return isEventFile(head);
    case FileKind::sweep:
      return afterSpace(head).starts_with("{") && head.find("\"sweep_of\"") != std::string_view::npos;
    case FileKind::npz:
      return isNpz(head);
    case FileKind::onnxModel:
      return isOnnxModel(head);
    case FileKind::onnxTensor:
      return isOnnxTensor(head);
    case FileKind::plan:
      return head.starts_with(kPlanTitle) || head.starts_with(kLearnedTitle);
    case FileKind::perfettoTrace:
      return isPerfettoTrace(head);
    case FileKind::chakraTrace:
      return isChakraTrace(head);
    case FileKind::launchFlags:
      return afterSpace(head).starts_with("{") && head.find("\"num-instances\"") != std::string_view::npos;
    case FileKind::device:
      return head.starts_with(kDeviceTitle);
    case FileKind::report:
      return head.starts_with(kReportTitle);
  }
  return false;
}

bool canBeStreamed(FileKind kind) {
  return kind != FileKind::profile && kind != FileKind::database && kind != FileKind::npz &&
         kind != FileKind::prometheus && kind != FileKind::eventFile && kind != FileKind::onnxModel &&
         kind != FileKind::onnxTensor;
}

}  // namespace pipescope::base
