#include "profiler/import/read/source/json_windows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

namespace pipescope::importing {
namespace {

/// Delivers a text a few bytes at a time, so that every place becomes a border of two reads.
class Dribble : public ByteSource {
 public:
  Dribble(std::string text, std::size_t bytes) : text_(std::move(text)), bytes_(bytes) {}
  base::Result<std::size_t> read(std::span<char> buffer) override {
    const std::size_t count = text_.copy(buffer.data(), std::min(bytes_, buffer.size()), at_);
    at_ += count;
    return count;
  }

 private:
  std::string text_;
  std::size_t bytes_, at_ = 0;
};

struct Outcome {
  std::vector<std::string> events, findings;
  std::map<std::string, std::string> members;
  bool found = false;
  std::int64_t oversized = 0, damaged = 0, stray = 0;
};

Outcome cut(const std::string& text, std::size_t bytes = 1 << 20, JsonWindows::Limits limits = {}) {
  Dribble source(text, bytes);
  JsonWindows windows(source, limits);
  Outcome outcome;
  for (JsonWindows::Window window; windows.next(window);) {
    for (const auto& [offset, size] : window.events)
      outcome.events.push_back(window.text.substr(offset, size));
    EXPECT_EQ(window.text.front(), '[');
    EXPECT_EQ(window.text.back(), ']');
  }
  outcome.findings = windows.findings();
  outcome.members = windows.members();
  outcome.found = windows.foundEvents();
  outcome.oversized = windows.oversizedEvents();
  outcome.damaged = windows.damagedEvents();
  outcome.stray = windows.strayTexts();
  return outcome;
}

using Texts = std::vector<std::string>;

TEST(JsonWindows, FindsEventsOfBothForms) {
  const Texts events = {R"({"a":"}{][\"","b":[{}]})", R"({"x":"\\"})", "{}"};
  const std::string list = "[" + events[0] + " ,\n" + events[1] + "," + events[2] + "]";
  EXPECT_EQ(cut(list).events, events);
  EXPECT_EQ(cut("\xEF\xBB\xBF \n" + list + "\n").events, events);
  const Outcome object = cut(R"({ "rank" : {"rank": 3}, "s":"a\"b", "n":12.5 ,"traceEvents": )" + list +
                             R"(, "base": 1691234567890123456, "ok":true})");
  EXPECT_EQ(object.events, events);
  EXPECT_TRUE(object.findings.empty());
  EXPECT_EQ(object.members.at("rank"), R"({"rank": 3})");
  EXPECT_EQ(object.members.at("base"), "1691234567890123456");
  EXPECT_EQ(object.members.at("s"), R"("a\"b")");
  EXPECT_EQ(object.members.at("n"), "12.5");
}

TEST(JsonWindows, DoesNotDependOnWhereReadsEnd) {
  const std::string text =
      R"({"a":[1,{"b":"]"}],"traceEvents":[{"name":"x\\\"{","args":{"k":[1,2,{}]}},{"n":"é"},{}],"z":{"q":1}})";
  const Outcome whole = cut(text);
  ASSERT_EQ(whole.events.size(), 3U);
  for (std::size_t bytes = 1; bytes < text.size(); ++bytes) {
    const Outcome parts = cut(text, bytes, {.windowBytes = 8});
    EXPECT_EQ(parts.events, whole.events) << bytes;
    EXPECT_EQ(parts.members, whole.members) << bytes;
    EXPECT_TRUE(parts.findings.empty());
  }
}

/// A JSON object whose strings hold brackets, quotes and backslashes.
std::string randomObject(std::mt19937& random, int depth = 0) {
  constexpr const char* kPieces[] = {"{", "}", "[", "]", R"(\")", R"(\\)", "a", " ", "\xC3\xA4", ":"};
  const auto string = [&] {
    std::string text = "\"";
    for (std::uint32_t i = random() % 90; i > 0; --i)
      text += kPieces[random() % (random() % 3 == 0 ? 10 : 7)];
    return text + '"';
  };
  std::string object = "{";
  for (std::uint32_t i = random() % 4; i > 0; --i) {
    if (object.size() > 1) object += ", ";
    object += string() + ":";
    const std::uint32_t kind = depth < 3 ? random() % 3 : 0;
    object += kind == 0   ? string()
              : kind == 1 ? randomObject(random, depth + 1)
                          : "[" + randomObject(random, depth + 1) + "]";
  }
  return object + "}";
}

TEST(JsonWindows, CutsWhatStringsHoldAtAnyPlace) {
  std::mt19937 random(8);
  for (int round = 0; round < 300; ++round) {
    Texts events;
    std::string list = "[";
    for (int i = 0; i < 6; ++i) {
      events.push_back(randomObject(random));
      ASSERT_TRUE(nlohmann::json::accept(events.back())) << events.back();
      list += (i > 0 ? "," : "") + events.back();
    }
    EXPECT_EQ(cut(list + "]", 1 + random() % 200).events, events) << list;
  }
}

TEST(JsonWindows, DeliversWhatIsWholeOfACutFile) {
  const std::string text = R"({"traceEvents":[{"a":1},{"b":2},{"c":"x,y"}],"m":1})";
  const Texts all = {R"({"a":1})", R"({"b":2})", R"({"c":"x,y"})"};
  for (std::size_t size = 16; size < text.size(); ++size) {
    const Outcome outcome = cut(text.substr(0, size));
    std::size_t whole = 0;
    for (std::size_t end = 15; whole < all.size(); ++whole) {
      end = text.find(all[whole], end) + all[whole].size();
      if (end > size) break;
    }
    EXPECT_EQ(outcome.events, Texts(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(whole))) << size;
    EXPECT_EQ(outcome.findings.size(), 1U) << size;
  }
}

TEST(JsonWindows, SaysWhatComesBehindTheEvents) {
  const Outcome two = cut(R"([{"a":1}] [{"b":2}])");
  EXPECT_EQ(two.events, (Texts{R"({"a":1})"}));
  EXPECT_EQ(
      two.findings,
      (Texts{"The file goes on behind the end of its list of events; the rest is left out. If these are "
             "several traces, give each as a file of its own."}));
  EXPECT_TRUE(cut("[{\"a\":1}]\n \n").findings.empty());

  const std::string object = R"({"traceEvents":[{"a":1}],"m":1})";
  EXPECT_TRUE(cut(object + "\n").findings.empty());
  const Outcome objects = cut(object + "\n" + object);
  EXPECT_EQ(objects.events, (Texts{R"({"a":1})"}));
  EXPECT_EQ(
      objects.findings,
      (Texts{"The file goes on behind the end of its outermost object; the rest is left out. If these are "
             "several traces, give each as a file of its own."}));
}

TEST(JsonWindows, LeavesOutEventsThatAreTooLarge) {
  const std::string large = R"({"a":")" + std::string(3'000'000, 'x') + R"("})";
  const JsonWindows::Limits limits{.windowBytes = 100, .mostEventBytes = 1000};
  const Outcome outcome = cut("[{\"b\":1}," + large + ",{\"c\":2}]", 4096, limits);
  EXPECT_EQ(outcome.events, (Texts{"{\"b\":1}", "{\"c\":2}"}));
  EXPECT_EQ(outcome.oversized, 1);
}

TEST(JsonWindows, PassesDeepNesting) {
  const std::string deep = "{\"a\":" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}";
  EXPECT_EQ(cut("[" + deep + ",{}]").events, (Texts{deep, "{}"}));
}

/// A text of a gigabyte in an event, which no buffer holds.
class LongString : public ByteSource {
 public:
  base::Result<std::size_t> read(std::span<char> buffer) override {
    std::size_t count = 0;
    if (at_ < kStart.size()) {
      count = kStart.copy(buffer.data(), buffer.size(), at_);
      at_ += count;
    } else if (left_ > 0) {
      count = std::min(left_, buffer.size());
      std::memset(buffer.data(), 'x', count);
      left_ -= count;
    } else {
      count = kEnd.copy(buffer.data(), buffer.size(), end_);
      end_ += count;
    }
    largest_ = std::max(largest_, buffer.size());
    return count;
  }
  std::size_t largest() const { return largest_; }

 private:
  const std::string kStart = R"([{"a":1},{"name":")", kEnd = R"("},{"b":2}])";
  std::size_t at_ = 0, left_ = std::size_t{1} << 30, end_ = 0, largest_ = 0;
};

TEST(JsonWindows, PassesAStringOfAGigabyte) {
  LongString source;
  JsonWindows windows(source);
  Texts events;
  std::size_t mostBytes = 0;
  for (JsonWindows::Window window; windows.next(window);) {
    for (const auto& [offset, size] : window.events) events.push_back(window.text.substr(offset, size));
    mostBytes = std::max(mostBytes, window.text.capacity());
  }
  EXPECT_EQ(events, (Texts{R"({"a":1})", R"({"b":2})"}));
  EXPECT_EQ(windows.oversizedEvents(), 1);
  EXPECT_LT(mostBytes, std::size_t{32} << 20);
}

TEST(JsonWindows, KnowsWhatIsNoTrace) {
  for (const char* text : {"", "   ", "hello", "12", "\"text\"", R"({"nodes":[{"a":1}]})", "{", "{\"a\""}) {
    const Outcome outcome = cut(text);
    EXPECT_FALSE(outcome.found) << text;
    EXPECT_TRUE(outcome.events.empty()) << text;
  }
  EXPECT_TRUE(cut("[]").found);
}

/// Sixty events, as tools write them: one a line, over several lines, or all on one line.
Texts eventsFor(int form) {
  Texts events;
  for (int i = 0; i < 60; ++i) {
    const std::string n = std::to_string(i);
    events.push_back(form == 1 ? "{\n    \"ph\": \"X\",\n    \"name\": \"e" + n +
                                     "\",\n    \"args\": {\n      \"k\": " + n +
                                     ",\n      \"dims\": [[1, 2], []]\n    },\n    \"ts\": " + n + "\n  }"
                               : R"({"ph": "X", "name": "e)" + n + R"(", "ts": )" + n +
                                     R"(, "args": {"k": )" + n + R"(, "dims": [[1, 2], []], "s": "x"}})");
  }
  return events;
}

std::string joined(const Texts& events, int form) {
  std::string text = "{\"traceEvents\": [";
  for (std::size_t i = 0; i < events.size(); ++i)
    text += (i > 0 ? "," : "") + std::string(form == 0 ? "\n" : form == 1 ? "\n  " : "") + events[i];
  return text + "\n], \"rank\": 3}";
}

/// A quote or bracket that is lost or doubled damages one event. The others are read, and the damage is
/// counted.
TEST(JsonWindows, OneLostCharacterDamagesOneEvent) {
  for (const int form : {0, 1, 2}) {
    const Texts events = eventsFor(form);
    for (std::size_t place = 0; place < events[30].size(); ++place) {
      if (std::string_view("\"{}[]").find(events[30][place]) == std::string_view::npos) continue;
      for (const bool doubled : {false, true}) {
        Texts damaged = events;
        damaged[30].replace(place, 1, doubled ? 2 : 0, events[30][place]);
        const Outcome outcome = cut(joined(damaged, form), 977, {.windowBytes = 300});
        std::size_t whole = 0;
        for (const std::string& event : outcome.events)
          whole += std::ranges::count(events, event) > 0 && event != events[30] ? 1 : 0;
        const std::string about = "form " + std::to_string(form) + ", place " + std::to_string(place) +
                                  (doubled ? " doubled: " : " lost: ") + damaged[30];
        EXPECT_GE(whole, 58U) << about;
        EXPECT_EQ(outcome.members.count("rank"), 1U) << about;
        EXPECT_TRUE(whole == 59 || outcome.damaged > 0) << about;
      }
    }
  }
}

/// The end of an event is lost, at any place, but the next line is whole.
TEST(JsonWindows, AnEventWithoutItsEndDamagesNoOther) {
  const Texts events = eventsFor(0);
  for (std::size_t size = 1; size < events[30].size(); ++size) {
    Texts damaged = events;
    damaged[30].resize(size);
    const Outcome outcome = cut(joined(damaged, 0), 977, {.windowBytes = 300});
    Texts expected = events;
    expected.erase(expected.begin() + 30);
    EXPECT_EQ(outcome.events, expected) << damaged[30];
    EXPECT_EQ(outcome.damaged, 1) << damaged[30];
  }
}

/// The value of a member is no event, although it is an object.
TEST(JsonWindows, ALostOpeningBraceLeavesNoEvent) {
  for (const int form : {0, 1, 2}) {
    Texts events = eventsFor(form);
    events[30].erase(0, 1);
    const Outcome outcome = cut(joined(events, form), 977, {.windowBytes = 300});
    events.erase(events.begin() + 30);
    EXPECT_EQ(outcome.events, events) << form;
    EXPECT_EQ(outcome.damaged, 1) << form;
    EXPECT_EQ(outcome.stray, 0) << form;
  }
}

TEST(JsonWindows, TextBetweenEventsIsCounted) {
  const std::string event = R"({"ph": "X", "ts": 1})";
  for (const std::string text : {"garbage", "null", "\"text\"", "\"ph\": \"X\", \"ts\": 2}"}) {
    for (const std::string& list : {event + "," + text + "," + event, event + "," + event + "," + text}) {
      const Outcome outcome = cut("[" + list + "]", 7);
      EXPECT_EQ(outcome.events, (Texts{event, event})) << list;
      EXPECT_EQ(outcome.stray, 1) << list;
      EXPECT_EQ(outcome.damaged, 0) << list;
    }
  }
  EXPECT_EQ(cut("[" + event + " ,\n,[" + event + "]]").stray, 0);
}

TEST(JsonWindows, DamageAtTheEndKeepsWhatFollowsTheEvents) {
  Texts events = eventsFor(0);
  events.back().erase(1, 1);
  const Outcome outcome = cut(joined(events, 0));
  EXPECT_EQ(outcome.events.size(), 59U);
  EXPECT_EQ(outcome.damaged, 1);
  EXPECT_EQ(outcome.members.at("rank"), "3");
}

TEST(JsonWindows, AStringMayHoldALineBreak) {
  const Texts events = {"{\"name\": \"a\nb\", \"ts\": 1}", "{\"name\": \"c\", \"ts\": 2}"};
  const Outcome outcome = cut("[" + events[0] + "," + events[1] + "]");
  EXPECT_EQ(outcome.events, events);
  EXPECT_EQ(outcome.damaged, 0);
}

}  // namespace
}  // namespace pipescope::importing
