// Reads memory snapshots of PyTorch (torch.cuda.memory._dump_snapshot): what each device's allocator held
// over time.
//
// A snapshot is a pickle, which is a program: it may ask to call any function of Python. This reader knows
// the instructions that make plain values, and refuses all others.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "profiler/import/read/source/text_mending.h"
#include "profiler/import/read/trace_format.h"

namespace pipescope::importing {
namespace {

/// Limit of values, which take about 1 GB.
constexpr std::size_t kMostValues = 32'000'000;
constexpr std::size_t kLongestPickled = 64 << 20;
constexpr std::int64_t kPicosecondsPerMicros = 1'000'000;

/// A value of a pickle. Values refer to each other by their index.
using ValueId = std::uint32_t;
struct Value {
  enum class Kind : std::uint8_t { none, number, real, text, list, dict } kind = Kind::none;
  std::int64_t number = 0;  ///< index of the content of texts, lists and dictionaries
  double real = 0;
};

/// Makes the values of a pickle.
class Unpickler {
 public:
  explicit Unpickler(ByteSource& source, const base::Progress& progress)
      : source_(source), progress_(progress) {}

  /// The value that the pickle describes.
  base::Result<ValueId> read() {
    for (;;) {
      if ((++instructions_ & 0xFFFFFU) == 0 && progress_.cancelled())
        return base::cancelled("The import was stopped.");
      const auto code = byte();
      if (!code) return base::badInput("ends early");
      if (*code == '.') {
        if (stack_.empty()) return base::badInput("is damaged: it describes no value");
        return stack_.back();
      }
      PIPESCOPE_TRY(run(*code));
    }
  }

  const Value& value(ValueId id) const { return values_[id]; }
  const std::string& text(const Value& value) const { return texts_[static_cast<std::size_t>(value.number)]; }
  const std::vector<ValueId>& items(const Value& value) const {
    return lists_[static_cast<std::size_t>(value.number)];
  }
  /// A member of a dictionary; null: it has none of this name, or is no dictionary.
  const Value* member(const Value& dict, std::string_view name) const {
    if (dict.kind != Value::Kind::dict) return nullptr;
    // An entry has some ten members. Many entries may refer to one dictionary, however large it is.
    constexpr std::size_t kMostSearched = 256;
    const std::vector<ValueId>& all = items(dict);
    for (std::size_t i = 0; i + 1 < std::min(all.size(), kMostSearched); i += 2)
      if (const Value& key = values_[all[i]]; key.kind == Value::Kind::text && text(key) == name)
        return &values_[all[i + 1]];
    return nullptr;
  }

 private:
  using Kind = Value::Kind;

  std::optional<unsigned char> byte() {
    if (at_ == have_) {
      auto count = source_.read(buffer_);
      at_ = 0;
      have_ = count.ok() ? *count : 0;
      if (have_ == 0) return std::nullopt;
    }
    return static_cast<unsigned char>(buffer_[at_++]);
  }

  /// A number of so many bytes, the lowest first.
  base::Result<std::uint64_t> whole(int bytes) {
    std::uint64_t number = 0;
    for (int i = 0; i < bytes; ++i) {
      const auto next = byte();
      if (!next) return base::badInput("ends early");
      number |= std::uint64_t{*next} << static_cast<unsigned>(8 * i);
    }
    return number;
  }

  base::Result<std::string> bytes(std::uint64_t size) {
    if (size > kLongestPickled) return base::badInput("is damaged: a text is longer than 64 MB");
    std::string text;
    for (std::uint64_t i = 0; i < size; ++i) {
      const auto next = byte();
      if (!next) return base::badInput("ends early");
      text += static_cast<char>(*next);
    }
    return text;
  }

  base::Status push(const Value& value) {
    if (values_.size() == kMostValues)
      return base::badInput(
          fmt::format("holds more than {} million values: record fewer, with a smaller max_entries",
                      kMostValues / 1'000'000));
    stack_.push_back(static_cast<ValueId>(values_.size()));
    values_.push_back(value);
    return {};
  }
  base::Status pushNumber(std::int64_t number) { return push({Kind::number, number, 0}); }
  base::Status pushText(int sizeBytes) {
    PIPESCOPE_ASSIGN(const std::uint64_t size, whole(sizeBytes));
    PIPESCOPE_ASSIGN(std::string text, bytes(size));
    texts_.push_back(std::move(text));
    return push({Kind::text, static_cast<std::int64_t>(texts_.size()) - 1, 0});
  }
  base::Status pushList(Kind kind, std::vector<ValueId> items) {
    lists_.push_back(std::move(items));
    return push({kind, static_cast<std::int64_t>(lists_.size()) - 1, 0});
  }
  /// An integer of any length. Larger ones than 64 bits are addresses or damage, and of no use here.
  base::Status pushLong(int sizeBytes) {
    PIPESCOPE_ASSIGN(const std::uint64_t size, whole(sizeBytes));
    PIPESCOPE_ASSIGN(const std::string digits, bytes(size));
    std::uint64_t number = !digits.empty() && (digits.back() & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(digits.size(), 8); ++i) {
      const auto shift = static_cast<unsigned>(8 * i);
      number = (number & ~(std::uint64_t{0xFF} << shift)) |
               std::uint64_t{static_cast<unsigned char>(digits[i])} << shift;
    }
    return pushNumber(static_cast<std::int64_t>(number));
  }

  /// Takes values from the stack: the last `count`, or all behind the last mark.
  base::Result<std::vector<ValueId>> take(std::optional<std::size_t> count) {
    std::size_t from = 0;
    if (count) {
      if (stack_.size() < *count) return damaged();
      from = stack_.size() - *count;
    } else {
      if (marks_.empty() || marks_.back() > stack_.size()) return damaged();
      from = marks_.back();
      marks_.pop_back();
    }
    std::vector<ValueId> taken(stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
    stack_.resize(from);
    return taken;
  }
  static base::Error damaged() { return base::badInput("is damaged: its instructions do not fit together"); }

  base::Status extend(Kind kind, std::optional<std::size_t> count) {
    PIPESCOPE_ASSIGN(const std::vector<ValueId> added, take(count));
    if (stack_.empty() || values_[stack_.back()].kind != kind ||
        (kind == Kind::dict && added.size() % 2 != 0))
      return damaged();
    std::vector<ValueId>& own = lists_[static_cast<std::size_t>(values_[stack_.back()].number)];
    if (listed_ + added.size() > 4 * kMostValues) return damaged();
    listed_ += added.size();
    own.insert(own.end(), added.begin(), added.end());
    return {};
  }
  base::Status tuple(std::optional<std::size_t> count) {
    PIPESCOPE_ASSIGN(std::vector<ValueId> items, take(count));
    return pushList(Kind::list, std::move(items));
  }

  base::Status keep(std::uint64_t place) {
    if (stack_.empty() || place > values_.size()) return damaged();
    if (memo_.size() <= place) memo_.resize(place + 1, kNoValue);
    memo_[place] = stack_.back();
    return {};
  }
  base::Status keep(int bytes) {
    PIPESCOPE_ASSIGN(const std::uint64_t place, whole(bytes));
    return keep(place);
  }
  base::Status recall(int bytes) {
    PIPESCOPE_ASSIGN(const std::uint64_t place, whole(bytes));
    if (place >= memo_.size() || memo_[place] == kNoValue) return damaged();
    stack_.push_back(memo_[place]);
    return {};
  }

  base::Status real() {
    PIPESCOPE_ASSIGN(const std::string digits, bytes(8));
    std::uint64_t bits = 0;  // the highest byte first
    for (const char c : digits) bits = bits << 8U | static_cast<unsigned char>(c);
    return push({Kind::real, 0, std::bit_cast<double>(bits)});
  }

  base::Status run(unsigned char code) {
    switch (code) {
      case 0x80:  // number of the protocol
        return ignore(1);
      case 0x95:  // size of a frame
        return ignore(8);
      case ']':
        return pushList(Kind::list, {});
      case '}':
        return pushList(Kind::dict, {});
      case ')':
        return pushList(Kind::list, {});
      case '(':
        marks_.push_back(stack_.size());
        return {};
      case 'a':
        return extend(Kind::list, 1);
      case 'e':
        return extend(Kind::list, std::nullopt);
      case 's':
        return extend(Kind::dict, 2);
      case 'u':
        return extend(Kind::dict, std::nullopt);
      case 't':
        return tuple(std::nullopt);
      case 0x85:
      case 0x86:
      case 0x87:
        return tuple(code - 0x84U);
      case 'U':
      case 'C':
      case 0x8c:
        return pushText(1);
      case 'X':
      case 'B':
      case 'T':
        return pushText(4);
      case 0x8d:
      case 0x8e:
        return pushText(8);
      default:
        return runOther(code);
    }
  }

  base::Status runOther(unsigned char code) {
    switch (code) {
      case 'K':
      case 'M': {
        PIPESCOPE_ASSIGN(const std::uint64_t number, whole(code == 'K' ? 1 : 2));
        return pushNumber(static_cast<std::int64_t>(number));
      }
      case 'J': {
        PIPESCOPE_ASSIGN(const std::uint64_t number, whole(4));
        return pushNumber(static_cast<std::int32_t>(number));
      }
      case 0x8a:
        return pushLong(1);
      case 0x8b:
        return pushLong(4);
      case 'G':
        return real();
      case 'N':
        return push({});
      case 0x88:
      case 0x89:
        return pushNumber(code == 0x88 ? 1 : 0);
      case 0x94:
        return keep(memo_.size());
      case 'q':
        return keep(1);
      case 'r':
        return keep(4);
      case 'h':
        return recall(1);
      case 'j':
        return recall(4);
      case '0':
        if (stack_.empty()) return damaged();
        stack_.pop_back();
        return {};
      default:
        return base::badInput(
            fmt::format("asks for an object that only a program can make (instruction 0x{:02x}), so it is no "
                        "plain snapshot "
                        "and is not read",
                        code));
    }
  }

  base::Status ignore(int bytes) {
    PIPESCOPE_ASSIGN(const std::uint64_t unused, whole(bytes));
    static_cast<void>(unused);
    return {};
  }

  static constexpr ValueId kNoValue = 0xFFFFFFFF;
  ByteSource& source_;
  const base::Progress& progress_;
  std::array<char, 64 * 1024> buffer_{};
  std::size_t at_ = 0, have_ = 0, listed_ = 0;
  std::uint64_t instructions_ = 0;
  std::vector<Value> values_;
  std::vector<std::string> texts_;
  std::vector<std::vector<ValueId>> lists_;
  std::vector<ValueId> stack_, memo_;
  std::vector<std::size_t> marks_;
};

/// Writes what the allocator of a device held over time.
class SnapshotReader {
 public:
  SnapshotReader(const Unpickler& pickle, TraceData& data) : pickle_(pickle), data_(data) {}

  base::Result<bool> read(const Value& root) {
    const Value* const traces = pickle_.member(root, "device_traces");
    const Value* const segments = pickle_.member(root, "segments");
    if (traces == nullptr || traces->kind != Value::Kind::list) return false;
    if (segments != nullptr && segments->kind == Value::Kind::list) addSegments(*segments);
    const std::vector<ValueId>& devices = pickle_.items(*traces);
    for (std::size_t device = 0; device < devices.size(); ++device)
      if (const Value& list = pickle_.value(devices[device]); list.kind == Value::Kind::list)
        PIPESCOPE_TRY(addDevice(static_cast<std::int64_t>(device), pickle_.items(list)));
    if (data_.empty())
      data_.tables.findings.add(
          "The snapshot holds no history: call torch.cuda.memory._record_memory_history before what is to be "
          "seen.");
    return true;
  }

 private:
  struct Held {
    std::int64_t allocated = 0, reserved = 0;
  };

  std::int64_t numberOf(const Value& dict, std::string_view name) const {
    const Value* const found = pickle_.member(dict, name);
    return found == nullptr || found->kind != Value::Kind::number ? 0 : found->number;
  }

  /// The segments are those at the end.
  void addSegments(const Value& segments) {
    for (const ValueId id : pickle_.items(segments)) {
      const Value& segment = pickle_.value(id);
      Held& held = atEnd_[numberOf(segment, "device")];
      held.allocated += numberOf(segment, "allocated_size");
      held.reserved += numberOf(segment, "total_size");
    }
  }

  /// Changes the sums by what an entry did. Memory is allocated until its release is complete.
  static bool change(std::string_view action, std::int64_t size, Held& held) {
    if (action == "alloc") return held.allocated += size, true;
    if (action == "free_completed") return held.allocated -= size, true;
    if (action == "segment_alloc" || action == "segment_map") return held.reserved += size, true;
    if (action == "segment_free" || action == "segment_unmap") return held.reserved -= size, true;
    return false;
  }

  base::Status addDevice(std::int64_t device, const std::vector<ValueId>& entries) {
    // The history may begin late, so what was held before follows from what is held at the end.
    Held changed;
    std::size_t timeless = 0;
    for (const ValueId id : entries) {
      const Value& entry = pickle_.value(id);
      change(actionOf(entry), numberOf(entry, "size"), changed);
      timeless += numberOf(entry, "time_us") > 0 ? 0 : 1;
    }
    if (timeless > 0)
      data_.tables.findings.add("An entry of the allocator's history states no time and is left out.",
                                static_cast<std::int64_t>(timeless));
    const Held end = atEnd_.contains(device) ? atEnd_.at(device) : changed;
    Held held{end.allocated - changed.allocated, end.reserved - changed.reserved};
    row_.process = data_.tables.process(fmt::format("device {}", device));
    data_.tables.processes[row_.process].name = fmt::format("GPU {}", device);
    row_.thread = data_.tables.thread(row_.process, "allocator");
    data_.tables.threads[row_.thread].name = "allocator";
    row_.category = data_.tables.names.add("memory");
    for (const ValueId id : entries) {
      const Value& entry = pickle_.value(id);
      const std::string_view action = actionOf(entry);
      const bool changes = change(action, numberOf(entry, "size"), held);
      const std::int64_t time = numberOf(entry, "time_us");
      if (time <= 0 || !setTime(time)) continue;
      if (changes) {
        PIPESCOPE_TRY(sample("allocated memory", held.allocated));
        PIPESCOPE_TRY(sample("reserved memory", held.reserved));
      } else if (action == "oom") {
        row_.kind = EventKind::instant;
        row_.name = data_.tables.names.add("out of memory");
        PIPESCOPE_TRY(data_.add(row_));
      }
    }
    return {};
  }

  std::string_view actionOf(const Value& entry) const {
    const Value* const action = pickle_.member(entry, "action");
    return action == nullptr || action->kind != Value::Kind::text ? std::string_view()
                                                                  : pickle_.text(*action);
  }

  bool setTime(std::int64_t micros) {
    constexpr std::int64_t kMostMicros = 4'600'000'000'000;  // 53 days
    if (!data_.tables.origin) {
      data_.tables.origin = Picoseconds{micros} * kPicosecondsPerMicros;
      first_ = micros;
    }
    if (micros - first_ > kMostMicros || first_ - micros > kMostMicros) return false;
    row_.time = (micros - first_) * kPicosecondsPerMicros;
    return true;
  }

  base::Status sample(const char* name, std::int64_t bytes) {
    row_.kind = EventKind::counter;
    row_.name = data_.tables.names.add(name);
    data_.tables.counterUnits[row_.name] = "B";
    row_.value = static_cast<double>(bytes);
    return data_.add(row_);
  }

  const Unpickler& pickle_;
  TraceData& data_;
  std::map<std::int64_t, Held> atEnd_;  // keyed by device
  TraceEvent row_;
  std::int64_t first_ = 0;  // µs
};

bool looksLikeSnapshot(std::string_view head) {
  return head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5 &&
         (head.find("device_traces") != std::string_view::npos ||
          head.find("segments") != std::string_view::npos);
}

base::Result<bool> readSnapshot(ByteSource& bytes, TraceData& data, base::Executor&,
                                const ReadReport& report) {
  Unpickler pickle(bytes, report.progress);
  const auto root = pickle.read();
  if (!root.ok()) {
    if (root.error().kind == base::ErrorKind::cancelled) return root.error();
    return base::badInput(fmt::format("{} {}.", report.name, root.error().message));
  }
  data.ofNoRank = true;  // It lies beside the trace of its rank.
  return SnapshotReader(pickle, data).read(pickle.value(*root));
}

}  // namespace

PIPESCOPE_REGISTER_FORMAT(memory_snapshot) {
  registry.add({"memory snapshots of PyTorch", ".pickle .pkl", looksLikeSnapshot, readSnapshot});
}

}  // namespace pipescope::importing
