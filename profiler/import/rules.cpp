#include "profiler/import/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>

#include <toml++/toml.h>

namespace pipescope::importing {

std::span<const std::pair<std::string_view, std::string_view>> embeddedRules();

namespace {

/// libstdc++'s matcher needs stack in proportion to the text, so longer texts are cut.
constexpr std::size_t kLongestText = 2000;

constexpr std::string_view kFacts[] = {"device", "stage", "replica", "micro_batch", "step",
                                       "pass",   "kind",  "message", "group",       "engine"};

std::string lowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

/// Traces write "Forward" and "SEND", too.
template <class Enum>
std::optional<Enum> enumNamed(std::string_view anyCase, int count) {
  const std::string name = lowerCase(anyCase);
  for (int i = 0; i < count; ++i) {
    std::string text = lowerCase(model::toString(static_cast<Enum>(i)));
    if (text == name) return static_cast<Enum>(i);
    std::replace(text.begin(), text.end(), ' ', '_');
    if (text == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

std::optional<std::int64_t> numberIn(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::int32_t> indexIn(std::int64_t number) {
  // Larger numbers are no stages or micro-batches, but tables have a row for each up to the largest.
  constexpr std::int64_t kLargestIndex = 1'000'000;
  if (number < 0 || number > kLargestIndex) return std::nullopt;
  return static_cast<std::int32_t>(number);
}

void setNumber(Meaning& meaning, std::string_view fact, std::int64_t number) {
  if (fact == "stage") meaning.stage = indexIn(number);
  if (fact == "micro_batch") meaning.microBatch = indexIn(number);
  if (fact == "step") meaning.step = number;
}

std::optional<bool> sendNamed(std::string_view anyCase) {
  const std::string text = lowerCase(anyCase);
  if (text == "send") return true;
  if (text == "receive" || text == "recv") return false;
  return std::nullopt;
}

void setFact(Meaning& meaning, std::string_view fact, const std::string& text) {
  if (fact == "device") {
    meaning.device = text;
  } else if (fact == "replica") {
    meaning.replica = text;
  } else if (fact == "engine") {
    meaning.engine = enumNamed<model::LaneRole>(text, 8);
  } else if (fact == "group") {
    meaning.group = text;
  } else if (fact == "message") {
    meaning.sends = sendNamed(text);
  } else if (fact == "pass") {
    meaning.pass = enumNamed<model::Pass>(text, 11);
  } else if (fact == "kind") {
    meaning.kind = enumNamed<model::StepKind>(text, 7);
  } else if (const auto number = numberIn(text)) {
    setNumber(meaning, fact, *number);
  }
}

}  // namespace

struct RuleParser {
  const std::string& file;
  std::string about;

  base::Error error(const std::string& what) const {
    return base::badInput(fmt::format("{}: the rule \"{}\" {}.", file, about, what));
  }

  static std::optional<Rules::Subject> subjectNamed(std::string_view name) {
    if (name == "name") return Rules::Subject::name;
    if (name == "category") return Rules::Subject::category;
    if (name == "thread") return Rules::Subject::thread;
    if (name == "process") return Rules::Subject::process;
    return std::nullopt;
  }

  /// Reads what stands between braces, as name.1 or args.step.
  base::Result<Rules::Part> reference(std::string_view text,
                                      const std::vector<Rules::Pattern>& patterns) const {
    Rules::Part part;
    if (text == "order") {
      part.source = Rules::Part::Source::order;
      return part;
    }
    const std::size_t dot = text.find('.');
    const std::string_view first = text.substr(0, dot);
    const std::string_view second = dot == std::string_view::npos ? "" : text.substr(dot + 1);
    if (first == "args") {
      const auto argument = argumentNamed(second);
      if (!argument)
        return error(fmt::format("uses the argument \"{}\", which is not read; known are {}", second,
                                 argumentNames()));
      part.source = Rules::Part::Source::argument;
      part.argument = *argument;
      return part;
    }
    const auto subject = subjectNamed(first);
    if (!subject)
      return error(
          fmt::format("uses {{{}}}; it can use name, category, thread, process, args and order", text));
    part.source = Rules::Part::Source::group;
    part.subject = *subject;
    if (second.empty()) return part;
    const auto pattern = std::find_if(patterns.begin(), patterns.end(),
                                      [&](const Rules::Pattern& p) { return p.subject == *subject; });
    const auto group = numberIn(second);
    if (pattern == patterns.end() || !group || *group < 1 ||
        *group > static_cast<std::int64_t>(pattern->regex.mark_count()))
      return error(fmt::format("uses {{{}}}, but its pattern has no such group", text));
    part.group = static_cast<std::size_t>(*group);
    return part;
  }

  base::Result<Rules::Template> parts(std::string_view text,
                                      const std::vector<Rules::Pattern>& patterns) const {
    Rules::Template result;
    while (!text.empty()) {
      const std::size_t open = text.find('{');
      if (open > 0) {
        result.emplace_back();
        result.back().text = text.substr(0, open);
      }
      if (open == std::string_view::npos) break;
      const std::size_t close = text.find('}', open);
      if (close == std::string_view::npos) return error("has a { without a }");
      PIPESCOPE_ASSIGN(Rules::Part part, reference(text.substr(open + 1, close - open - 1), patterns));
      result.push_back(std::move(part));
      text.remove_prefix(close + 1);
    }
    return result;
  }

  base::Status fact(const std::string& key, const std::string& text, Rules::Rule& rule) const {
    PIPESCOPE_ASSIGN(const Rules::Template value, parts(text, rule.patterns));
    const bool constant = value.size() == 1 && value[0].source == Rules::Part::Source::none;
    if (key == "marks") {
      if (text != "step" && text != "backward")
        return error("marks \"" + text + "\"; it can mark \"step\" or \"backward\"");
    } else if (constant && key == "pass" && !enumNamed<model::Pass>(text, 11)) {
      return error("states the pass \"" + text + "\", which does not exist");
    } else if (constant && key == "engine" && !enumNamed<model::LaneRole>(text, 8)) {
      return error("states the engine \"" + text + "\", which does not exist");
    } else if (constant && key == "message" && !sendNamed(text)) {
      return error("states the message \"" + text + "\"; it can be \"send\" or \"receive\"");
    } else if (constant && key == "kind" && !enumNamed<model::StepKind>(text, 7)) {
      return error("states the kind \"" + text + "\", which does not exist");
    }
    for (const Rules::Part& part : value) {
      const bool usable = key == "stage" || key == "micro_batch" || key == "step" || key == "message";
      if (part.source == Rules::Part::Source::argument && (!usable || value.size() > 1))
        return error("can use an argument only as a whole value, for stage, micro_batch, step and message");
      if (part.source == Rules::Part::Source::order && (key != "micro_batch" || value.size() > 1))
        return error("can use {order} only as a whole value, for micro_batch");
    }
    rule.facts[key] = value;
    return {};
  }

  base::Result<Rules::Rule> rule(const toml::table& table) {
    Rules::Rule rule;
    about = table["about"].value_or(std::string());
    for (const char* key : {"name", "category", "thread", "process"}) {
      const auto pattern = table[key].value<std::string>();
      if (!pattern) continue;
      try {
        rule.patterns.push_back({*subjectNamed(key), std::regex(*pattern)});
      } catch (const std::regex_error& failed) {
        return error(
            fmt::format("has a pattern for {} that is no regular expression: {}", key, failed.what()));
      }
    }
    if (rule.patterns.empty()) return error("has no pattern: give name, category, thread or process");
    for (const auto& [key, value] : table) {
      const std::string name(key.str());
      const bool known =
          name == "marks" || std::find(std::begin(kFacts), std::end(kFacts), name) != std::end(kFacts);
      if (name == "about" || subjectNamed(name)) continue;
      const auto text = value.value<std::string>();
      const auto number = value.value<std::int64_t>();
      if (!known)
        return error(fmt::format("has the unknown key {}; it can state {}", name, fmt::join(kFacts, ", ")));
      if (!text && !number) return error(fmt::format("needs a text or a whole number for {}", name));
      PIPESCOPE_TRY(fact(name, text ? *text : std::to_string(*number), rule));
    }
    return rule;
  }
};

base::Result<Rules> Rules::parse(std::string_view text, const std::string& file) {
  toml::table parsed;
  try {
    parsed = toml::parse(text);
  } catch (const toml::parse_error& failed) {
    return base::badInput(
        fmt::format("{}, line {}: {}.", file, failed.source().begin.line, failed.description()));
  }
  Rules rules;
  for (const auto& [key, value] : parsed)
    if (key.str() != "rule" || !value.is_array_of_tables())
      return base::badInput(
          fmt::format("{}: rules stand in [[rule]], but there is \"{}\".", file, key.str()));
  const toml::array* list = parsed["rule"].as_array();
  if (list == nullptr) return base::badInput(fmt::format("{} holds no [[rule]].", file));
  for (const toml::node& node : *list) {
    RuleParser parser{file, {}};
    PIPESCOPE_ASSIGN(Rule rule, parser.rule(*node.as_table()));
    rules.rules_.push_back(std::move(rule));
  }
  return rules;
}

std::string_view Rules::builtInText() {
  return embeddedRules().front().second;
}

const Rules& Rules::builtIn() {
  static const Rules rules = parse(builtInText(), "the built-in rules").value();
  return rules;
}

void Rules::append(const Rules& others) {
  rules_.insert(rules_.end(), others.rules_.begin(), others.rules_.end());
}

RuleMatcher::Known RuleMatcher::match(const TraceEvent& event) const {
  const TraceThread& thread = tables_.threads[event.thread];
  const TraceProcess& process = tables_.processes[thread.process];
  const std::string texts[] = {tables_.names.text(event.name), tables_.names.text(event.category),
                               thread.name.empty() ? thread.key : thread.name,
                               process.name.empty() ? process.key : process.name};
  std::string cut[4];
  for (std::size_t i = 0; i < 4; ++i) cut[i] = texts[i].substr(0, kLongestText);
  Known known;
  std::map<std::string_view, bool> stated;
  for (const Rules::Rule& rule : rules_.rules_) {
    std::smatch groups[4];
    const bool applies =
        std::all_of(rule.patterns.begin(), rule.patterns.end(), [&](const Rules::Pattern& pattern) {
          const auto subject = static_cast<std::size_t>(pattern.subject);
          return std::regex_match(cut[subject], groups[subject], pattern.regex);
        });
    if (!applies) continue;
    for (const auto& [fact, parts] : rule.facts) {
      if (fact == "marks")
        (parts[0].text == "step" ? known.meaning.marksStep : known.meaning.marksBackward) = true;
      if (fact == "marks" || stated[fact]) continue;
      stated[fact] = true;
      if (parts.size() == 1 && parts[0].source == Rules::Part::Source::argument) {
        known.fromArguments.emplace_back(fact, parts[0].argument);
        continue;
      }
      if (parts.size() == 1 && parts[0].source == Rules::Part::Source::order) {
        known.meaning.countsMicroBatch = true;
        continue;
      }
      std::string text;
      for (const Rules::Part& part : parts) {
        const auto subject = static_cast<std::size_t>(part.subject);
        text += part.source == Rules::Part::Source::none ? part.text
                : part.group > 0                         ? groups[subject][part.group].str()
                                                         : cut[subject];
      }
      setFact(known.meaning, fact, text);
    }
  }
  return known;
}

const Meaning& RuleMatcher::meaningOf(const TraceEvent& event) {
  const std::tuple key(event.thread, event.name, event.category);
  auto found = known_.find(key);
  if (found == known_.end()) found = known_.emplace(key, match(event)).first;
  const Known& known = found->second;
  if (known.fromArguments.empty()) return known.meaning;
  meaning_ = known.meaning;
  for (const auto& [fact, argument] : known.fromArguments) {
    const ArgumentValue* value = event.find(argument);
    if (value == nullptr) continue;
    if (!value->text) setNumber(meaning_, fact, value->value);
    if (value->text && fact == "message")
      meaning_.sends = sendNamed(tables_.names.text(NameId(value->value)));
  }
  return meaning_;
}

}  // namespace pipescope::importing
