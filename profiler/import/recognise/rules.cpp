#include "profiler/import/recognise/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>

#include <re2/re2.h>
#include <toml++/toml.h>

#include "profiler/base/check.h"
#include "profiler/base/files/toml_depth.h"

namespace pipescope::importing {

std::span<const std::pair<std::string_view, std::string_view>> embeddedRules();

namespace {

/// Longer texts are cut, because each is matched with every rule.
constexpr std::size_t kLongestText = 16 << 10;

constexpr std::string_view kFacts[] = {"device",      "lane",         "stage",       "chunk",       "replica",
                                       "tensor_rank", "context_rank", "expert_rank", "micro_batch", "step",
                                       "pass",        "kind",         "message",     "group",       "engine",
                                       "block",       "copy",         "engine_title"};
/// Combinations of annotations and arguments whose meanings are kept.
constexpr std::size_t kMostKnown = 100'000;
constexpr std::size_t kRecent = 1024;

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

/// Exported traces name a role by its key.
std::optional<model::LaneRole> laneRoleNamed(std::string_view anyCase) {
  for (int i = 0; i < 8; ++i) {
    const auto role = static_cast<model::LaneRole>(i);
    if (model::laneKey(role) == lowerCase(anyCase)) return role;
  }
  return enumNamed<model::LaneRole>(anyCase, 8);
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

/// A number that is no index states nothing, such as a chunk of −1.
void setNumber(Meaning& meaning, std::string_view fact, std::int64_t number) {
  if (fact == "step") meaning.step = number;
  const auto index = indexIn(number);
  if (!index) return;
  if (fact == "stage") meaning.stage = index;
  if (fact == "chunk") meaning.chunk = index;
  if (fact != "micro_batch") return;
  meaning.microBatch = index;
  meaning.countsMicroBatch = false;
}

std::optional<bool> sendNamed(std::string_view anyCase) {
  const std::string text = lowerCase(anyCase);
  if (text == "send") return true;
  if (text == "receive" || text == "recv") return false;
  return std::nullopt;
}

/// True for a copy into the device, false for one out of it.
std::optional<bool> copyNamed(std::string_view anyCase) {
  const std::string text = lowerCase(anyCase);
  if (text == "in") return true;
  if (text == "out") return false;
  return std::nullopt;
}

void setFact(Meaning& meaning, std::string_view fact, const std::string& text) {
  if (fact == "device") {
    meaning.device = text;
  } else if (fact == "lane") {
    meaning.lane = text;
  } else if (fact == "block") {
    meaning.block = text;
  } else if (fact == "replica") {
    meaning.replica = text;
  } else if (fact == "tensor_rank") {
    meaning.rankOfPlace.tensor = text;
  } else if (fact == "context_rank") {
    meaning.rankOfPlace.context = text;
  } else if (fact == "expert_rank") {
    meaning.rankOfPlace.expert = text;
  } else if (fact == "engine") {
    meaning.engine = laneRoleNamed(text);
  } else if (fact == "engine_title") {
    meaning.engineTitle = text;
  } else if (fact == "group") {
    meaning.group = text;
  } else if (fact == "message") {
    meaning.sends = sendNamed(text);
  } else if (fact == "copy") {
    meaning.copiesIn = copyNamed(text);
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
  Rules& rules;
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
    if (name == "annotation") return Rules::Subject::annotation;
    return std::nullopt;
  }

  base::Result<Argument> argument(std::string_view name) const {
    if (const auto known = argumentNamed(name)) return *known;
    std::vector<std::string>& own = rules.ownArguments_;
    auto place = std::find(own.begin(), own.end(), name);
    if (place == own.end() && own.size() == kMostOwnArguments)
      return error(fmt::format("uses the argument \"{}\", but rules can use only {} arguments beside {}",
                               name, kMostOwnArguments, argumentNames()));
    if (place == own.end()) place = own.emplace(own.end(), name);
    return static_cast<Argument>(kKnownArguments + static_cast<std::size_t>(place - own.begin()));
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
    if (first == "args") return argumentReference(text, second, patterns);
    const auto subject = subjectNamed(first);
    if (!subject)
      return error(fmt::format(
          "uses {{{}}}; it can use name, category, thread, process, annotation, args and order", text));
    part.source = Rules::Part::Source::group;
    part.subject = *subject;
    if (second.empty()) {
      rules.usesAnnotations_ = rules.usesAnnotations_ || *subject == Rules::Subject::annotation;
      return part;
    }
    const auto pattern = std::find_if(patterns.begin(), patterns.end(),
                                      [&](const Rules::Pattern& p) { return p.subject == *subject; });
    const auto group = numberIn(second);
    if (pattern == patterns.end() || !group || *group < 1 ||
        *group > pattern->regex->NumberOfCapturingGroups())
      return error(fmt::format("uses {{{}}}, but its pattern has no such group", text));
    part.group = static_cast<std::size_t>(*group);
    part.pattern = static_cast<std::size_t>(pattern - patterns.begin());
    return part;
  }

  /// {args.NAME} is the value of an argument, {args.NAME.1} the first group of the pattern of this argument.
  base::Result<Rules::Part> argumentReference(std::string_view text, std::string_view name,
                                              const std::vector<Rules::Pattern>& patterns) const {
    Rules::Part part;
    const std::size_t dot = name.rfind('.');
    const auto group = dot == std::string_view::npos ? std::nullopt : numberIn(name.substr(dot + 1));
    PIPESCOPE_ASSIGN(part.argument, argument(group ? name.substr(0, dot) : name));
    part.source = group ? Rules::Part::Source::group : Rules::Part::Source::argument;
    part.subject = Rules::Subject::argument;
    if (!group) return part;
    const auto pattern = std::find_if(patterns.begin(), patterns.end(), [&](const Rules::Pattern& p) {
      return p.subject == Rules::Subject::argument && p.argument == part.argument;
    });
    if (pattern == patterns.end() || *group < 1 || *group > pattern->regex->NumberOfCapturingGroups())
      return error(fmt::format("uses {{{}}}, but its pattern has no such group", text));
    part.group = static_cast<std::size_t>(*group);
    part.pattern = static_cast<std::size_t>(pattern - patterns.begin());
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

  base::Status fact(const std::string& key, const std::string& text,
                    const std::vector<Rules::Pattern>& patterns, Rules::Facts& facts) const {
    PIPESCOPE_ASSIGN(const Rules::Template value, parts(text, patterns));
    const bool constant = value.size() == 1 && value[0].source == Rules::Part::Source::none;
    if (key == "marks") {
      if (text != "step" && text != "backward" && text != "transfer" && text != "summary")
        return error("marks \"" + text +
                     "\"; it can mark \"step\", \"backward\", \"transfer\" or \"summary\"");
    } else if (constant && key == "pass" && !enumNamed<model::Pass>(text, 11)) {
      return error("states the pass \"" + text + "\", which does not exist");
    } else if (constant && key == "engine" && !laneRoleNamed(text)) {
      return error("states the engine \"" + text + "\", which does not exist");
    } else if (constant && key == "message" && !sendNamed(text)) {
      return error("states the message \"" + text + "\"; it can be \"send\" or \"receive\"");
    } else if (constant && key == "copy" && !copyNamed(text)) {
      return error("states the copy \"" + text + "\"; it can be \"in\" or \"out\"");
    } else if (constant && key == "kind" && !enumNamed<model::StepKind>(text, 7)) {
      return error("states the kind \"" + text + "\", which does not exist");
    }
    for (const Rules::Part& part : value) {
      if (part.source == Rules::Part::Source::argument && value.size() > 1)
        return error("can use an argument only as a whole value; a pattern for it has groups");
      if (part.source == Rules::Part::Source::order && (key != "micro_batch" || value.size() > 1))
        return error("can use {order} only as a whole value, for micro_batch");
    }
    facts[key] = value;
    return {};
  }

  /// Reads the facts of a rule or, `further`, of what else an event is.
  base::Status facts(const toml::table& table, bool further, const std::vector<Rules::Pattern>& patterns,
                     Rules::Facts& facts) const {
    for (const auto& [key, value] : table) {
      const std::string name(key.str());
      if (!further && (name == "about" || name == "args" || name == "also" || subjectNamed(name))) continue;
      const auto text = value.value<std::string>();
      const auto number = value.value<std::int64_t>();
      if ((name != "marks" || further) &&
          std::find(std::begin(kFacts), std::end(kFacts), name) == std::end(kFacts))
        return error(fmt::format("has the unknown key {}; it can state {}", name, fmt::join(kFacts, ", ")));
      if (!text && !number) return error(fmt::format("needs a text or a whole number for {}", name));
      PIPESCOPE_TRY(fact(name, text ? *text : std::to_string(*number), patterns, facts));
    }
    return {};
  }

  base::Status also(const toml::node& node, Rules::Rule& rule) const {
    const toml::array* list = node.as_array();
    if (list == nullptr) return error("needs a list of tables for also, such as [{pass = \"backward\"}]");
    for (const toml::node& item : *list) {
      if (!item.is_table()) return error("needs a list of tables for also, such as [{pass = \"backward\"}]");
      PIPESCOPE_TRY(facts(*item.as_table(), true, rule.patterns, rule.also.emplace_back()));
      for (const auto& [key, value] : rule.also.back())
        if (value.size() == 1 && value[0].source == Rules::Part::Source::argument)
          return error("uses an argument as a whole value within also; a pattern for it has groups");
    }
    return {};
  }

  base::Status pattern(const std::string& key, const std::string& text, Rules::Pattern pattern,
                       Rules::Rule& rule) const {
    re2::RE2::Options options;
    options.set_log_errors(false);
    pattern.regex = std::make_shared<const re2::RE2>(text, options);
    if (!pattern.regex->ok())
      return error(
          fmt::format("has a pattern for {} that is no regular expression of RE2, which knows neither "
                      "lookahead nor references to groups: {}",
                      key, pattern.regex->error()));
    std::vector<Argument>& matched = rules.matchedArguments_;
    if (pattern.subject == Rules::Subject::argument &&
        std::find(matched.begin(), matched.end(), pattern.argument) == matched.end())
      matched.push_back(pattern.argument);
    rules.usesAnnotations_ = rules.usesAnnotations_ || pattern.subject == Rules::Subject::annotation;
    rule.patterns.push_back(std::move(pattern));
    return {};
  }

  base::Result<Rules::Rule> rule(const toml::table& table) {
    Rules::Rule rule;
    about = table["about"].value_or(std::string());
    for (const char* key : {"name", "category", "thread", "process", "annotation"}) {
      const auto text = table[key].value<std::string>();
      if (text) PIPESCOPE_TRY(pattern(key, *text, {*subjectNamed(key), {}, {}}, rule));
    }
    if (const toml::node* arguments = table.get("args")) {
      if (!arguments->is_table()) return error("has args without a name; write args.NAME = 'PATTERN'");
      for (const auto& [key, value] : *arguments->as_table()) {
        const std::string name(key.str());
        const auto text = value.value<std::string>();
        if (!text) return error(fmt::format("needs a pattern in quotes for args.{}", name));
        PIPESCOPE_ASSIGN(const Argument own, argument(name));
        PIPESCOPE_TRY(pattern("args." + name, *text, {Rules::Subject::argument, own, {}}, rule));
      }
    }
    if (rule.patterns.empty())
      return error("has no pattern: give name, category, thread, process, annotation or args.NAME");
    PIPESCOPE_TRY(facts(table, false, rule.patterns, rule.facts));
    if (const toml::node* further = table.get("also")) PIPESCOPE_TRY(also(*further, rule));
    return rule;
  }
};

base::Result<Rules> Rules::parse(std::string_view text, const std::string& file) {
  PIPESCOPE_TRY(base::checkTomlDepth(text, file));
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
    RuleParser parser{rules, file, {}};
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
  PIPESCOPE_CHECK(ownArguments_.empty() || others.ownArguments_.empty(),
                  "two lists of rules use arguments of their own");
  if (ownArguments_.empty()) ownArguments_ = others.ownArguments_;
  for (const Argument argument : others.matchedArguments_)
    if (std::find(matchedArguments_.begin(), matchedArguments_.end(), argument) == matchedArguments_.end())
      matchedArguments_.push_back(argument);
  usesAnnotations_ = usesAnnotations_ || others.usesAnnotations_;
  rules_.insert(rules_.end(), others.rules_.begin(), others.rules_.end());
}

std::size_t RuleMatcher::Hash::operator()(const Key& key) const {
  std::size_t hash = 0;
  const auto mix = [&hash](std::int64_t value) {
    hash = (hash ^ static_cast<std::size_t>(value)) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 32U;
  };
  mix(key.thread.value);
  mix(key.name.value);
  mix(key.category.value);
  for (const std::int64_t value : key.context) mix(value);
  return hash;
}

/// Texts that a rule's patterns found in an event.
struct RuleMatcher::Match {
  std::string texts[5];  // one for each Subject; among annotations it is the one that a pattern matches, else
                         // the innermost one
  std::vector<std::vector<std::string>> groups;  // one for each pattern
};

std::string RuleMatcher::textOf(const ArgumentValue& value) const {
  return value.text ? tables_.names.text(NameId(value.value)) : std::to_string(value.value);
}

void RuleMatcher::add(const Rules::Rule& rule, const Match& found, std::map<std::string_view, bool>& stated,
                      Known& known) const {
  for (const auto& [fact, parts] : rule.facts) {
    if (fact == "marks")
      (parts[0].text == "step"       ? known.meaning.marksStep
       : parts[0].text == "backward" ? known.meaning.marksBackward
       : parts[0].text == "transfer" ? known.meaning.marksTransfer
                                     : known.meaning.marksSummary) = true;
    if (fact == "marks" || stated[fact]) continue;
    // An event may lack the argument; a later rule states the fact then.
    if (parts.size() == 1 && parts[0].source == Rules::Part::Source::argument) {
      known.fromArguments.emplace_back(fact, parts[0].argument);
      continue;
    }
    stated[fact] = true;
    if (parts.size() == 1 && parts[0].source == Rules::Part::Source::order) {
      known.meaning.countsMicroBatch = true;
      continue;
    }
    setFact(known.meaning, fact, textOf(parts, found));
  }
  if (rule.also.empty() || !known.also.empty()) return;
  for (const Rules::Facts& facts : rule.also) {
    auto& texts = known.also.emplace_back();
    for (const auto& [fact, parts] : facts) texts.emplace_back(fact, textOf(parts, found));
  }
}

std::string RuleMatcher::textOf(const Rules::Template& parts, const Match& found) {
  std::string text;
  for (const Rules::Part& part : parts) {
    text += part.source == Rules::Part::Source::none    ? part.text
            : part.source == Rules::Part::Source::order ? "{order}"
            : part.group > 0                            ? found.groups[part.pattern][part.group]
                                                        : found.texts[static_cast<std::size_t>(part.subject)];
  }
  return text;
}

/// Further meanings have all facts of the first one that they do not state themselves.
void RuleMatcher::addFurther(const Known& known, Meaning& meaning) {
  meaning.also.clear();
  std::vector<Meaning> further;
  for (const auto& facts : known.also) {
    Meaning& own = further.emplace_back(meaning);
    for (const auto& [fact, text] : facts) {
      if (fact == "micro_batch") own.countsMicroBatch = text == "{order}";
      setFact(own, fact, text);
    }
  }
  meaning.also = std::move(further);
}

RuleMatcher::Known RuleMatcher::match(const TraceEvent& event, std::span<const NameId> annotations) const {
  const TraceThread& thread = tables_.threads[event.thread];
  const TraceProcess& process = tables_.processes[thread.process];
  const std::string innermost = annotations.empty() ? "" : tables_.names.text(annotations.back());
  const std::string texts[] = {tables_.names.text(event.name), tables_.names.text(event.category),
                               thread.name.empty() ? thread.key : thread.name,
                               process.name.empty() ? process.key : process.name, innermost};
  Match found;
  const auto matches = [&](const Rules::Pattern& pattern, std::string text) {
    text.resize(std::min(text.size(), kLongestText));
    std::vector<re2::StringPiece> groups(static_cast<std::size_t>(pattern.regex->NumberOfCapturingGroups()) +
                                         1);
    if (!pattern.regex->Match(text, 0, text.size(), re2::RE2::ANCHOR_BOTH, groups.data(),
                              static_cast<int>(groups.size())))
      return false;
    std::vector<std::string>& kept = found.groups.emplace_back();
    for (const re2::StringPiece& group : groups) kept.emplace_back(group.data(), group.size());
    if (pattern.subject == Rules::Subject::annotation)
      found.texts[static_cast<std::size_t>(pattern.subject)] = std::move(text);
    return true;
  };
  const auto applies = [&](const Rules::Pattern& pattern) {
    if (pattern.subject == Rules::Subject::annotation)
      return std::any_of(annotations.rbegin(), annotations.rend(),
                         [&](NameId name) { return matches(pattern, tables_.names.text(name)); });
    if (pattern.subject != Rules::Subject::argument)
      return matches(pattern, found.texts[static_cast<std::size_t>(pattern.subject)]);
    const ArgumentValue* value = event.find(pattern.argument);
    return value != nullptr && matches(pattern, textOf(*value));
  };
  Known known;
  std::map<std::string_view, bool> stated;
  for (const Rules::Rule& rule : rules_.rules_) {
    found.groups.clear();
    for (std::size_t i = 0; i < std::size(texts); ++i) found.texts[i] = texts[i].substr(0, kLongestText);
    if (std::all_of(rule.patterns.begin(), rule.patterns.end(), applies)) add(rule, found, stated, known);
  }
  addFurther(known, known.meaning);
  return known;
}

const RuleMatcher::Known& RuleMatcher::knownOf(const TraceEvent& event, std::span<const NameId> annotations) {
  key_.thread = event.thread;
  key_.name = event.name;
  key_.category = event.category;
  key_.context.clear();
  if (rules_.usesAnnotations_)
    for (const NameId name : annotations) key_.context.push_back(name.value);
  for (const Argument argument : rules_.matchedArguments_) {
    const ArgumentValue* value = event.find(argument);
    key_.context.push_back(value == nullptr ? -1 : value->text ? 1 : 0);
    key_.context.push_back(value == nullptr ? 0 : value->value);
  }
  auto found = known_.find(key_);
  if (found == known_.end()) {
    if (known_.size() >= kMostKnown && !key_.context.empty()) known_.clear();
    found = known_.emplace(key_, match(event, annotations)).first;
  }
  return found->second;
}

const Meaning& RuleMatcher::meaningOf(const TraceEvent& event, std::span<const NameId> annotations) {
  const Known* recent = nullptr;
  if (rules_.usesAnnotations_ || !rules_.matchedArguments_.empty()) {
    recent = &knownOf(event, annotations);
  } else {
    const auto place = static_cast<std::size_t>(event.name.value * 7 + event.thread.value) % kRecent;
    recent_.resize(kRecent);
    Recent& own = recent_[place];
    if (own.known == nullptr || own.name != event.name || own.thread != event.thread ||
        own.category != event.category)
      own = {event.thread, event.name, event.category, &knownOf(event, annotations)};
    recent = own.known;
  }
  const Known& known = *recent;
  if (known.fromArguments.empty()) return known.meaning;
  meaning_ = known.meaning;
  // Earlier rules come last, because what they state is kept.
  for (auto place = known.fromArguments.rbegin(); place != known.fromArguments.rend(); ++place) {
    const auto& [fact, argument] = *place;
    const ArgumentValue* value = event.find(argument);
    if (value == nullptr) continue;
    if (value->text) {
      setFact(meaning_, fact, tables_.names.text(NameId(value->value)));
    } else if (fact == "stage" || fact == "chunk" || fact == "micro_batch" || fact == "step") {
      setNumber(meaning_, fact, value->value);
    } else {
      setFact(meaning_, fact, std::to_string(value->value));
    }
  }
  if (!known.also.empty()) addFurther(known, meaning_);
  return meaning_;
}

}  // namespace pipescope::importing
