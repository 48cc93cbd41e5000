#include "profiler/import/chrome_events.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "profiler/import/text_mending.h"

namespace pipescope::importing {
namespace {

namespace od = simdjson::ondemand;

/// More numbers in one event are no series of a counter.
constexpr std::size_t kMostSeries = 64;
constexpr double kMostDevices = 1e6;
constexpr std::int64_t kPicosecondsPerMicrosecond = 1'000'000;
/// Farther from the first event than this (53 days) no event of a run can be.
constexpr Picoseconds kFarthest = Picoseconds{std::numeric_limits<std::int64_t>::max()} / 2;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

struct ChromeEvents::Parser {
  Parser(TraceTables& fileTables, Receive to) : tables(fileTables), receive(std::move(to)) {}

  TraceTables& tables;
  Receive receive;
  od::parser parser;
  std::string lastProcessKey, lastThreadKey;
  ProcessId lastProcess;
  ThreadId lastThread;

  // The members of the event that is being parsed.
  struct Members {
    char phase = 0;
    std::string_view time, duration;  // number texts
    std::string_view name, category, metadataText;
    std::string process, thread, identity;
    bool hasProcess = false, hasThread = false, hasIdentity = false;
    std::vector<std::pair<std::string, double>> series;  // numbers among the arguments
    std::optional<std::int64_t> sortIndex;
    TraceEvent event;
  };
  Members members;

  /// A number, or a number in quotes, as text.
  static bool numberText(od::value& value, std::string_view& text) {
    od::json_type type{};
    if (value.type().get(type) != simdjson::SUCCESS) return false;
    if (type == od::json_type::string) return value.get_string().get(text) == simdjson::SUCCESS;
    text = trimmed(value.raw_json_token());
    return type == od::json_type::number;
  }

  /// A key of a process or thread: a number or a text.
  static bool keyText(od::value& value, std::string& key) {
    od::json_type type{};
    if (value.type().get(type) != simdjson::SUCCESS) return false;
    std::string_view text;
    if (type == od::json_type::string) {
      if (value.get_string().get(text) != simdjson::SUCCESS) return false;
      key.assign(text);
      return true;
    }
    if (type == od::json_type::object) {  // {"local": "0x1"}, of flow ids
      od::object object;
      if (value.get_object().get(object) != simdjson::SUCCESS) return false;
      for (auto field : object) {
        od::value inner;
        if (field.value().get(inner) != simdjson::SUCCESS) return false;
        return keyText(inner, key);
      }
      return false;
    }
    key.assign(trimmed(value.raw_json_token()));
    return type == od::json_type::number;
  }

  static std::optional<std::int64_t> wholeNumber(std::string_view text) {
    // parseTime reads decimals and exponents exactly.
    const auto number = parseTime(text, 1);
    if (!number || *number > std::numeric_limits<std::int64_t>::max() ||
        *number < std::numeric_limits<std::int64_t>::min())
      return std::nullopt;
    return static_cast<std::int64_t>(*number);
  }

  void argument(std::string_view key, od::value& value) {
    const bool metadata = members.phase == 'M' || members.phase == 0;
    if (metadata && (key == "name" || key == "labels" || key == "sort_index")) {
      std::string_view text;
      if (!numberText(value, text)) return;
      if (key == "sort_index") {
        members.sortIndex = wholeNumber(text);
      } else {
        members.metadataText = text;
      }
      return;
    }
    const auto known = tables.argumentNamed(key);
    if (known) {
      od::json_type type{};
      if (value.type().get(type) != simdjson::SUCCESS) return;
      std::string_view text;
      if (type == od::json_type::string) {
        if (value.get_string().get(text) != simdjson::SUCCESS) return;
        if (const auto number = wholeNumber(text)) {
          members.event.add({*known, false, *number});
        } else {
          members.event.add({*known, true, tables.names.add(text).value});
        }
      } else if (type == od::json_type::number) {
        if (const auto number = wholeNumber(trimmed(value.raw_json_token())))
          members.event.add({*known, false, *number});
      }
    }
    // A counter's arguments are its series. PyTorch states its memory in instant events. The phase may come
    // later.
    if (members.phase == 'C' || members.phase == 'i' || members.phase == 0) {
      double number = 0;
      od::json_type type{};
      if (members.series.size() < kMostSeries && value.type().get(type) == simdjson::SUCCESS &&
          type == od::json_type::number && value.get_double().get(number) == simdjson::SUCCESS)
        members.series.emplace_back(key, number);
    }
  }

  simdjson::error_code member(od::field& field) {
    std::string_view key;
    if (const auto failed = field.unescaped_key().get(key)) return failed;
    od::value& value = field.value();
    if (key == "ph") {
      std::string_view text;
      if (const auto failed = value.get_string().get(text)) return failed;
      members.phase = text.size() == 1 ? text[0] : '?';
    } else if (key == "ts") {
      if (!numberText(value, members.time)) members.time = {};
    } else if (key == "dur") {
      if (!numberText(value, members.duration)) members.duration = {};
    } else if (key == "name") {
      od::json_type type{};
      if (const auto failed = value.type().get(type)) return failed;
      if (type == od::json_type::string) return value.get_string().get(members.name);
    } else if (key == "cat") {
      od::json_type type{};
      if (const auto failed = value.type().get(type)) return failed;
      if (type == od::json_type::string) return value.get_string().get(members.category);
    } else if (key == "pid") {
      members.hasProcess = keyText(value, members.process);
    } else if (key == "tid") {
      members.hasThread = keyText(value, members.thread);
    } else if (key == "id" || key == "id2" || key == "bind_id") {
      if (!members.hasIdentity) members.hasIdentity = keyText(value, members.identity);
    } else if (key == "args") {
      od::json_type type{};
      if (const auto failed = value.type().get(type)) return failed;
      if (type != od::json_type::object) return simdjson::SUCCESS;
      od::object arguments;
      if (const auto failed = value.get_object().get(arguments)) return failed;
      for (auto entry : arguments) {
        od::field inner;
        if (const auto failed = std::move(entry).get(inner)) return failed;
        std::string_view name;
        if (const auto failed = inner.unescaped_key().get(name)) return failed;
        argument(name, inner.value());
      }
    }
    return simdjson::SUCCESS;
  }

  simdjson::error_code readMembers(od::object object) {
    members.phase = 0;
    members.time = members.duration = members.name = members.category = members.metadataText = {};
    members.hasProcess = members.hasThread = members.hasIdentity = false;
    members.series.clear();
    members.sortIndex.reset();
    members.event.argumentCount = 0;
    for (auto entry : object) {
      od::field field;
      if (const auto failed = std::move(entry).get(field)) return failed;
      if (const auto failed = member(field)) return failed;
    }
    return simdjson::SUCCESS;
  }

  void locate(TraceEvent& event) {
    if (!members.hasProcess) members.process.clear();
    if (!members.hasThread) members.thread.clear();
    if (!lastProcess.valid() || members.process != lastProcessKey) {
      lastProcess = tables.process(members.process);
      lastProcessKey = members.process;
      lastThread = {};
    }
    if (!lastThread.valid() || members.thread != lastThreadKey) {
      lastThread = tables.thread(lastProcess, members.thread);
      lastThreadKey = members.thread;
    }
    event.process = lastProcess;
    event.thread = lastThread;
  }

  static bool isAsynchronous(EventKind kind) {
    return kind == EventKind::asyncBegin || kind == EventKind::asyncInstant || kind == EventKind::asyncEnd;
  }

  /// An asynchronous event may end on another thread than it began, so all of a category share a row of their
  /// process.
  void locateAsynchronous(TraceEvent& event) {
    const std::string_view category = members.category.empty() ? "events" : members.category;
    event.thread = tables.thread(event.process, "asynchronous " + std::string(category));
    TraceThread& thread = tables.threads[event.thread];
    if (thread.name.empty()) thread.name = thread.key;
  }

  void metadata() {
    TraceEvent& event = members.event;
    locate(event);
    TraceProcess& process = tables.processes[event.process];
    TraceThread& thread = tables.threads[event.thread];
    if (members.name == "process_name") process.name = trimmed(members.metadataText);
    if (members.name == "process_labels") process.labels = trimmed(members.metadataText);
    if (members.name == "process_sort_index") process.sortIndex = members.sortIndex.value_or(0);
    if (members.name == "thread_name") thread.name = trimmed(members.metadataText);
    if (members.name == "thread_sort_index") thread.sortIndex = members.sortIndex.value_or(0);
  }

  static std::optional<EventKind> kindOf(char phase) {
    switch (phase) {
      case 'X':
        return EventKind::complete;
      case 'B':
        return EventKind::begin;
      case 'E':
        return EventKind::end;
      case 'i':
      case 'I':
      case 'R':
        return EventKind::instant;
      case 'C':
        return EventKind::counter;
      case 's':
        return EventKind::flowStart;
      case 't':
        return EventKind::flowStep;
      case 'f':
        return EventKind::flowEnd;
      case 'b':
      case 'S':
        return EventKind::asyncBegin;
      case 'n':
      case 'T':
      case 'p':
        return EventKind::asyncInstant;
      case 'e':
      case 'F':
        return EventKind::asyncEnd;
      default:
        return std::nullopt;
    }
  }

  /// Fills time and duration. Returns false if the event cannot be placed.
  bool setTimes(TraceEvent& event) {
    const auto time = parseTime(members.time, kPicosecondsPerMicrosecond);
    if (!time) {
      tables.findings.add("An event has no time that can be read and is left out.");
      return false;
    }
    if (!tables.origin) tables.origin = *time;
    const Picoseconds relative = *time - *tables.origin;
    if (relative > kFarthest || relative < -kFarthest) {
      tables.findings.add("An event lies more than 50 days from the first event and is left out.");
      return false;
    }
    event.time = static_cast<std::int64_t>(relative);
    event.duration = 0;
    if (event.kind != EventKind::complete) return true;
    auto duration = members.duration.empty()
                        ? Picoseconds{0}
                        : parseTime(members.duration, kPicosecondsPerMicrosecond).value_or(-1);
    if (duration < 0) {
      tables.findings.add("An event has a negative or unreadable duration; it is kept with length 0.");
      duration = 0;
    }
    if (duration > kFarthest) {
      tables.findings.add("An event lasts more than 50 days and is left out.");
      return false;
    }
    event.duration = static_cast<std::int64_t>(duration);
    return true;
  }

  /// Numbers stand for themselves, because a trace may have millions of them; other texts get negative
  /// numbers.
  std::int64_t identityOf(const std::string& text) {
    const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    std::int64_t number = 0;
    const char* const first = text.data() + (hexadecimal ? 2 : 0);
    const char* const last = text.data() + text.size();
    const auto [end, failed] = std::from_chars(first, last, number, hexadecimal ? 16 : 10);
    if (failed == std::errc() && end == last && number >= 0) return number;
    return -2 - tables.names.add(text).value;
  }

  base::Status finishEvent() {
    if (members.phase == 'M') {
      metadata();
      return {};
    }
    TraceEvent& event = members.event;
    const auto kind = kindOf(members.phase);
    if (!kind) {
      tables.findings.add(
          "An event is of a phase that is not imported (object snapshots, marks) and is left out.");
      return {};
    }
    event.kind = *kind;
    if (!setTimes(event)) return {};
    locate(event);
    if (isAsynchronous(event.kind)) locateAsynchronous(event);
    event.name = tables.names.add(members.name);
    event.category = tables.names.add(members.category);
    event.id = members.hasIdentity ? identityOf(members.identity) : -1;
    event.value = 0;
    if (event.kind == EventKind::counter) return counter(event);
    if (event.kind == EventKind::instant && members.name == "[memory]") return memory(event);
    return receive(event);
  }

  /// A counter with several series becomes one counter for each.
  base::Status counter(TraceEvent& event) {
    const std::string name(members.name);
    for (const auto& [series, value] : members.series) {
      if (members.series.size() > 1)
        event.name = tables.names.add(name.empty() ? series : name + ", " + series);
      event.value = value;
      PIPESCOPE_TRY(receive(event));
    }
    return {};
  }

  /// PyTorch's profiler states in such an event what the allocator of a device holds afterwards.
  base::Status memory(TraceEvent& event) {
    double device = -1;
    for (const auto& [key, value] : members.series)
      if (key == "Device Id" && value < kMostDevices) device = value;
    const std::string where =
        device < 0 ? ", host" : ", device " + std::to_string(static_cast<std::int64_t>(device));
    event.kind = EventKind::counter;
    event.argumentCount = 0;
    for (const auto& [key, value] : members.series) {
      if (key != "Total Allocated" && key != "Total Reserved") continue;
      event.name =
          tables.names.add((key == "Total Allocated" ? "allocated memory" : "reserved memory") + where);
      event.value = value;
      PIPESCOPE_TRY(receive(event));
    }
    return {};
  }

  /// Parses one event by itself, after damage was found in its window.
  base::Status parseAlone(std::string_view text) {
    simdjson::padded_string padded(text);
    od::document document;
    od::object object;
    auto failed = parser.iterate(padded).get(document);
    if (!failed) failed = document.get_object().get(object);
    if (!failed) failed = readMembers(object);
    if (failed) {
      std::string mended(text);
      mendText(mended);
      mendEscapes(mended);
      padded = simdjson::padded_string(mended);
      failed = parser.iterate(padded).get(document);
      if (!failed) failed = document.get_object().get(object);
      if (!failed) failed = readMembers(object);
    }
    if (failed) {
      tables.findings.add("An event is no valid JSON and is left out.");
      return {};
    }
    return finishEvent();
  }

  base::Status parseWindow(JsonWindows::Window& window) {
    std::size_t done = 0;
    bool damaged = false;
    {
      window.text.reserve(window.text.size() + simdjson::SIMDJSON_PADDING);
      od::document document;
      od::array events;
      damaged =
          parser.iterate(window.text.data(), window.text.size(), window.text.capacity()).get(document) !=
              simdjson::SUCCESS ||
          document.get_array().get(events) != simdjson::SUCCESS;
      if (!damaged) {
        for (auto element : events) {
          od::object object;
          if (element.get_object().get(object) != simdjson::SUCCESS ||
              readMembers(object) != simdjson::SUCCESS) {
            damaged = true;
            break;
          }
          ++done;
          PIPESCOPE_TRY(finishEvent());
        }
      }
    }
    if (!damaged) return {};
    for (; done < window.events.size(); ++done) {
      const auto [offset, size] = window.events[done];
      PIPESCOPE_TRY(parseAlone(std::string_view(window.text).substr(offset, size)));
    }
    return {};
  }
};

ChromeEvents::ChromeEvents(TraceTables& tables, Receive receive)
    : parser_(std::make_unique<Parser>(tables, std::move(receive))) {}
ChromeEvents::~ChromeEvents() = default;

base::Status ChromeEvents::parse(JsonWindows::Window& window) {
  return parser_->parseWindow(window);
}

}  // namespace pipescope::importing
