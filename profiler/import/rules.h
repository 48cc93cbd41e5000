#pragma once
// What the events of a trace mean: rules that a file states.
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/import/trace_tables.h"
#include "profiler/model/enums.h"

namespace pipescope::importing {

/// What an event means. Facts that no rule states are left out.
struct Meaning {
  std::string device, replica;
  /// Members of a collective state the same group.
  std::string group;
  std::optional<std::int32_t> stage, microBatch;
  std::optional<std::int64_t> step;
  std::optional<model::Pass> pass;
  std::optional<model::StepKind> kind;
  std::optional<model::LaneRole> engine;  ///< what the event's thread stands for
  std::optional<bool> sends;              ///< a message between stages: true for a send, false for a receive
  bool marksStep = false;                 ///< spans a training step of its process
  bool marksBackward = false;             ///< an operator that only a backward pass executes
  bool countsMicroBatch = false;          ///< the micro-batch is the pass's number within its training step
};

/// An ordered list of rules. The form of the file stands in resources/import/rules.toml.
class Rules {
 public:
  /// Errors name the file and the rule: no TOML, a pattern that is no regular expression, an unknown key or
  /// pass, a reference to a group or argument that does not exist.
  static base::Result<Rules> parse(std::string_view text, const std::string& file);
  /// The rules that are built in.
  static const Rules& builtIn();
  /// The text of the built-in rules.
  static std::string_view builtInText();

  /// Puts other rules behind these.
  void append(const Rules& others);

 private:
  friend class RuleMatcher;
  enum class Subject : std::uint8_t { name, category, thread, process };
  struct Pattern {
    Subject subject;
    std::regex regex;
  };
  /// Text, then a reference, then text …
  struct Part {
    std::string text;
    enum class Source : std::uint8_t { none, group, argument, order } source = Source::none;
    Subject subject{};
    std::size_t group = 0;
    Argument argument{};
  };
  using Template = std::vector<Part>;
  struct Rule {
    std::vector<Pattern> patterns;
    std::map<std::string, Template> facts;
  };
  friend struct RuleParser;
  std::vector<Rule> rules_;
};

/// Applies rules to the events of one trace. Patterns are matched once for each different combination of
/// thread, name and category.
class RuleMatcher {
 public:
  RuleMatcher(const Rules& rules, const TraceTables& tables) : rules_(rules), tables_(tables) {}

  /// The result is valid until the next call.
  const Meaning& meaningOf(const TraceEvent& event);

 private:
  /// A meaning whose facts may still need arguments of the event.
  struct Known {
    Meaning meaning;
    std::vector<std::pair<std::string, Argument>> fromArguments;
  };
  Known match(const TraceEvent& event) const;

  const Rules& rules_;
  const TraceTables& tables_;
  std::map<std::tuple<ThreadId, NameId, NameId>, Known> known_;
  Meaning meaning_;
};

}  // namespace pipescope::importing
