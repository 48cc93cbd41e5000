#include "profiler/import/read/chrome_events.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "profiler/import/read/source/text_mending.h"
#include "profiler/import/read/trace_tables.h"

namespace pipescope::importing {
namespace {

namespace od = simdjson::ondemand;

/// More numbers in one event are no series of a counter.
constexpr std::size_t kMostSeries = 64;
constexpr double kMostDevices = 1e6;
constexpr std::int64_t kPicosecondsPerMicrosecond = 1'000'000;
/// Stands for the text of a number where something else is.
constexpr std::string_view kUnreadable = "?";
/// Farther from the first event than this (53 days) no event of a run can be.
constexpr Picoseconds kFarthest = Picoseconds{std::numeric_limits<std::int64_t>::max()} / 2;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

struct ChromeEvents::Parser {
  explicit Parser(const std::vector<std::string>& namesOfArguments) : ownArguments(namesOfArguments) {}

  const std::vector<std::string> ownArguments;
  od::parser parser;
  ParsedWindow* window = nullptr;             // window that receives the events
  std::vector<Picoseconds>* times = nullptr;  // null: events are parsed; otherwise only their times

  // The members of the event that is being parsed.
  struct Members {
    char phase = 0;
    std::string_view time, duration;  // number texts; empty: not stated
    std::string_view name, category, metadataText;
    std::string_view process, thread, identity;
    bool hasProcess = false, hasThread = false, hasIdentity = false, any = false;
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
  static bool keyText(od::value& value, std::string_view& key) {
    od::json_type type{};
    if (value.type().get(type) != simdjson::SUCCESS) return false;
    if (type == od::json_type::string) return value.get_string().get(key) == simdjson::SUCCESS;
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
    key = trimmed(value.raw_json_token());
    return type == od::json_type::number;
  }

  static std::optional<std::int64_t> wholeNumber(std::string_view text) {
    std::int64_t plain = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), plain);
    if (wrong == std::errc() && end == text.data() + text.size()) return plain;
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
    const auto known = argumentNamed(key, ownArguments);
    // A counter's arguments are its series. PyTorch states its memory in instant events. The phase may come
    // later.
    const bool series = (members.phase == 'C' || members.phase == 'i' || members.phase == 0) &&
                        members.series.size() < kMostSeries;
    if (!known && !series) return;
    od::json_type type{};
    if (value.type().get(type) != simdjson::SUCCESS) return;
    std::optional<double> number;
    if (type == od::json_type::string) {
      std::string_view text;
      if (value.get_string().get(text) != simdjson::SUCCESS) return;
      const auto whole = known ? wholeNumber(text) : std::nullopt;
      if (whole) {
        members.event.add({*known, false, *whole});
      } else if (known) {
        members.event.add({*known, true, window->name(text).value});
      }
      if (series) number = decimal(text);  // Some tools state numbers as text.
    } else if (type == od::json_type::number) {
      const auto whole = known ? wholeNumber(trimmed(value.raw_json_token())) : std::nullopt;
      if (whole) members.event.add({*known, false, *whole});
      double plain = 0;
      if (series && value.get_double().get(plain) == simdjson::SUCCESS) number = plain;
    }
    if (number) members.series.emplace_back(key, *number);
  }

  static std::optional<double> decimal(std::string_view text) {
    double number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = failed == std::errc() && end == text.data() + text.size() && std::isfinite(number);
    return whole ? std::optional(number) : std::nullopt;
  }

  /// The name of a member. Nearly all have no escapes and are used as they stand.
  static simdjson::error_code keyOf(od::field& field, std::string_view& key) {
    const char* const raw = field.key().raw();
    const char* end = raw;
    while (*end != '"' && *end != '\\') ++end;  // The JSON text has a closing quote.
    if (*end == '\\') return field.unescaped_key().get(key);
    key = std::string_view(raw, static_cast<std::size_t>(end - raw));
    return simdjson::SUCCESS;
  }

  static simdjson::error_code textOf(od::value& value, std::string_view& text) {
    od::json_type type{};
    if (const auto failed = value.type().get(type)) return failed;
    return type == od::json_type::string ? value.get_string().get(text) : simdjson::SUCCESS;
  }

  simdjson::error_code phase(od::value& value) {
    std::string_view text;
    if (const auto failed = value.get_string().get(text)) return failed;
    members.phase = text.size() == 1 ? text[0] : '?';
    return simdjson::SUCCESS;
  }

  simdjson::error_code arguments(od::value& value) {
    od::json_type type{};
    if (const auto failed = value.type().get(type)) return failed;
    if (type != od::json_type::object) return simdjson::SUCCESS;
    od::object all;
    if (const auto failed = value.get_object().get(all)) return failed;
    for (auto entry : all) {
      od::field field;
      if (const auto failed = std::move(entry).get(field)) return failed;
      std::string_view name;
      if (const auto failed = keyOf(field, name)) return failed;
      argument(name, field.value());
    }
    return simdjson::SUCCESS;
  }

  simdjson::error_code member(od::field& field) {
    std::string_view key;
    if (const auto failed = keyOf(field, key)) return failed;
    od::value& value = field.value();
    // The length tells most names apart.
    switch (key.size()) {
      case 2:
        if (key == "ph") return phase(value);
        if (key == "ts" && !numberText(value, members.time)) members.time = {};
        if (key == "id") identity(value);
        break;
      case 3:
        if (key == "dur" && !numberText(value, members.duration)) members.duration = kUnreadable;
        if (key == "pid") members.hasProcess = keyText(value, members.process);
        if (key == "tid") members.hasThread = keyText(value, members.thread);
        if (key == "cat") return textOf(value, members.category);
        if (key == "id2") identity(value);
        break;
      case 4:
        if (key == "name") return textOf(value, members.name);
        if (key == "args") return arguments(value);
        break;
      default:
        if (key == "bind_id") identity(value);
    }
    return simdjson::SUCCESS;
  }

  void identity(od::value& value) {
    if (!members.hasIdentity) members.hasIdentity = keyText(value, members.identity);
  }

  simdjson::error_code readMembers(od::object object) {
    members.phase = 0;
    members.time = members.duration = members.name = members.category = members.metadataText = {};
    members.hasProcess = members.hasThread = members.hasIdentity = members.any = false;
    members.series.clear();
    members.sortIndex.reset();
    members.event.argumentCount = 0;
    for (auto entry : object) {
      od::field field;
      if (const auto failed = std::move(entry).get(field)) return failed;
      members.any = true;
      if (const auto failed = member(field)) return failed;
    }
    return simdjson::SUCCESS;
  }

  void locate(TraceEvent& event) {
    event.process = window->process(members.hasProcess ? members.process : std::string_view());
    event.thread = window->thread(event.process, members.hasThread ? members.thread : std::string_view());
  }

  static bool isAsynchronous(EventKind kind) {
    return kind == EventKind::asyncBegin || kind == EventKind::asyncInstant || kind == EventKind::asyncEnd;
  }

  void metadata() {
    using About = ParsedWindow::About;
    constexpr std::pair<std::string_view, About> kAbout[] = {{"process_name", About::processName},
                                                             {"process_labels", About::processLabels},
                                                             {"process_sort_index", About::processOrder},
                                                             {"thread_name", About::threadName},
                                                             {"thread_sort_index", About::threadOrder}};
    TraceEvent& event = members.event;
    locate(event);
    for (const auto& [name, about] : kAbout)
      if (members.name == name)
        window->describe(about, event.process, event.thread, trimmed(members.metadataText),
                         members.sortIndex.value_or(0));
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
      window->findings.add("An event has no time that can be read and is left out.");
      return false;
    }
    if (!window->origin) window->origin = *time;
    const Picoseconds relative = *time - *window->origin;
    if (relative > kFarthest || relative < -kFarthest) {
      window->findings.add("An event lies more than 50 days from the first event and is left out.");
      return false;
    }
    event.time = static_cast<std::int64_t>(relative);
    event.duration = 0;
    if (event.kind != EventKind::complete) return true;
    auto duration = members.duration.empty()
                        ? Picoseconds{0}
                        : parseTime(members.duration, kPicosecondsPerMicrosecond).value_or(-1);
    if (duration < 0) {
      window->findings.add("An event has a negative or unreadable duration; it is kept with length 0.");
      duration = 0;
    }
    if (duration > kFarthest) {
      window->findings.add("An event lasts more than 50 days and is left out.");
      return false;
    }
    event.duration = static_cast<std::int64_t>(duration);
    return true;
  }

  /// Numbers stand for themselves, because a trace may have millions of them; other texts get negative
  /// numbers.
  std::int64_t identityOf(std::string_view text) {
    const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    std::int64_t number = 0;
    const char* const first = text.data() + (hexadecimal ? 2 : 0);
    const char* const last = text.data() + text.size();
    const auto [end, failed] = std::from_chars(first, last, number, hexadecimal ? 16 : 10);
    if (failed == std::errc() && end == last && number >= 0) return number;
    return identityOfText(window->name(text));
  }

  void finishEvent() {
    // JAX and XLA close the list of events with an empty one, which lets them end each event with a comma.
    if (!members.any) return;
    if (times != nullptr) {
      const auto time =
          members.phase == 'M' ? std::nullopt : parseTime(members.time, kPicosecondsPerMicrosecond);
      if (time) times->push_back(*time);
      return;
    }
    if (members.phase == 'M') return metadata();
    TraceEvent& event = members.event;
    const auto kind = kindOf(members.phase);
    if (!kind) {
      window->findings.add(
          "An event is of a phase that is not imported (object snapshots, marks) and is left out.");
      return;
    }
    event.kind = *kind;
    if (!setTimes(event)) return;
    locate(event);
    // An asynchronous event may end on another thread than it began, so all of a category share a row of
    // their process.
    if (isAsynchronous(event.kind))
      event.thread = window->asynchronousThread(
          event.process, members.category.empty() ? std::string_view("events") : members.category);
    event.name = window->name(members.name);
    event.category = window->name(members.category);
    event.id = members.hasIdentity ? identityOf(members.identity) : -1;
    event.value = 0;
    if (event.kind == EventKind::counter) return counter(event);
    if (event.kind == EventKind::instant && members.name == "[memory]") return memory(event);
    window->add(event);
  }

  /// Each series of a counter becomes a counter of its own, whose name does not depend on how many series an
  /// event has. Counters of one name with different ids are different ones.
  void counter(TraceEvent& event) {
    if (members.series.empty()) window->findings.add("A counter states no number and is left out.");
    std::string name(members.name);
    if (members.hasIdentity) name += fmt::format(" [{}]", members.identity);
    for (const auto& [series, value] : members.series) {
      const bool plain = !name.empty() && (series == "value" || series == members.name);
      event.name = window->newName(plain ? name : name.empty() ? series : name + ", " + series);
      event.value = value;
      window->add(event);
    }
  }

  /// PyTorch's profiler states in such an event what the allocator of a device holds afterwards.
  void memory(TraceEvent& event) {
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
          window->newName((key == "Total Allocated" ? "allocated memory" : "reserved memory") + where);
      event.value = value;
      window->countsBytes(event.name);
      window->add(event);
    }
  }

  simdjson::error_code readAlone(const simdjson::padded_string& text) {
    od::document document;
    od::object object;
    auto failed = parser.iterate(text).get(document);
    if (!failed) failed = document.get_object().get(object);
    return failed ? failed : readMembers(object);
  }

  /// Parses one event by itself, after damage was found in its window.
  void parseAlone(std::string_view text) {
    simdjson::padded_string padded(text);
    auto failed = readAlone(padded);
    if (failed) {
      std::string mended(text);
      mendText(mended);
      mendEscapes(mended);
      dropLastCommas(mended);
      padded = simdjson::padded_string(mended);
      failed = readAlone(padded);
    }
    if (!failed) return finishEvent();
    if (times == nullptr) window->findings.add("An event is no valid JSON and is left out.");
  }

  /// The time from which times count, if no window before has stated one: that of the first event, unless it
  /// lies apart from most others of the window. Nothing if no event has a time.
  std::optional<Picoseconds> originOf(JsonWindows::Window& text) {
    std::vector<Picoseconds> all;
    times = &all;
    parseWindow(text);
    times = nullptr;
    if (all.empty()) return std::nullopt;
    const Picoseconds first = all.front();
    const auto isFar = [first](Picoseconds time) {
      return time - first > kFarthest || first - time > kFarthest;
    };
    if (2 * static_cast<std::size_t>(std::ranges::count_if(all, isFar)) <= all.size()) return first;
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::ranges::nth_element(all, middle);
    return *middle;
  }

  void parseWindow(JsonWindows::Window& text) {
    std::size_t done = 0;
    text.text.reserve(text.text.size() + simdjson::SIMDJSON_PADDING);
    {
      od::document document;
      od::array events;
      const bool whole =
          parser.iterate(text.text.data(), text.text.size(), text.text.capacity()).get(document) ==
              simdjson::SUCCESS &&
          document.get_array().get(events) == simdjson::SUCCESS;
      if (whole) {
        for (auto element : events) {
          od::object object;
          if (element.get_object().get(object) != simdjson::SUCCESS ||
              readMembers(object) != simdjson::SUCCESS)
            break;
          ++done;
          finishEvent();
        }
      }
    }
    if (done == text.events.size()) return;
    window->keepCopies();
    for (; done < text.events.size(); ++done) {
      const auto [offset, size] = text.events[done];
      parseAlone(std::string_view(text.text).substr(offset, size));
    }
  }
};

ChromeEvents::ChromeEvents(const std::vector<std::string>& ownArguments)
    : parser_(std::make_unique<Parser>(ownArguments)) {}
ChromeEvents::~ChromeEvents() = default;

void ChromeEvents::parse(JsonWindows::Window& window, ParsedWindow& events) {
  parser_->window = &events;
  if (!events.origin) events.origin = parser_->originOf(window);
  parser_->parseWindow(window);
}

}  // namespace pipescope::importing
