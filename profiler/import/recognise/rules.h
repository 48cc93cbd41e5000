#pragma once
// Meanings of the events of a trace, by rules that a file states.
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/import/read/trace_tables.h"
#include "profiler/import/recognise/recorded_pass.h"
#include "profiler/model/enums.h"

namespace re2 {
class RE2;
}

namespace pipescope::importing {

/// Meaning of an event. Facts that no rule states are left out.
struct Meaning {
  std::string device, lane, replica, block;
  PlaceRank rankOfPlace = {};
  /// Members of a collective state the same group.
  std::string group;
  std::optional<std::int32_t> stage, microBatch;
  /// Index of the model's chunk on its rank. The stage is the place of the rank in the pipeline then.
  std::optional<std::int32_t> chunk;
  std::optional<std::int64_t> step;
  std::optional<model::Pass> pass;
  std::optional<model::StepKind> kind;
  std::optional<model::LaneRole> engine;  ///< role of the event's thread
  std::string engineTitle;                ///< title of the lanes of this role
  std::optional<bool> sends;              ///< a message between stages: true for a send, false for a receive
  std::optional<bool> copiesIn;           ///< a copy from the host: true; to the host: false
  bool marksStep = false;                 ///< spans a training step of its process
  bool marksSummary = false;              ///< repeats what other events state, and is left out
  bool marksBackward = false;             ///< an operator that only a backward pass executes
  bool marksTransfer = false;             ///< a side of a message that lasts as long as the transfer
  bool countsMicroBatch = false;          ///< the micro-batch is the pass's number within its training step
  /// Further meanings of the event, such as the backward pass that a runtime starts together with a forward
  /// pass.
  std::vector<Meaning> also = {};
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

  /// Puts other rules behind these. Only one of both may use arguments of its own.
  void append(const Rules& others);

  /// Arguments that these rules use and the importer does not know by itself; at most kMostOwnArguments.
  const std::vector<std::string>& ownArguments() const { return ownArguments_; }
  /// True if a rule asks for the slices that enclose an event.
  bool usesAnnotations() const { return usesAnnotations_; }

 private:
  friend class RuleMatcher;
  enum class Subject : std::uint8_t { name, category, thread, process, annotation, argument };
  struct Pattern {
    Subject subject{};
    Argument argument{};  ///< argument that the subject `argument` means
    /// Matches in a time that grows with the text alone.
    std::shared_ptr<const re2::RE2> regex;
  };
  /// Text, then a reference, then text …
  struct Part {
    std::string text;
    enum class Source : std::uint8_t { none, group, argument, order } source = Source::none;
    Subject subject{};
    std::size_t pattern = 0, group = 0;  ///< group 0: the whole text of the subject
    Argument argument{};
  };
  using Template = std::vector<Part>;
  using Facts = std::map<std::string, Template>;
  struct Rule {
    std::vector<Pattern> patterns;
    Facts facts;
    std::vector<Facts> also;
  };
  friend struct RuleParser;
  std::vector<Rule> rules_;
  std::vector<std::string> ownArguments_;
  std::vector<Argument> matchedArguments_;  ///< arguments that patterns ask for
  bool usesAnnotations_ = false;
};

/// Applies rules to the events of one trace. Patterns are matched once for each different combination of
/// thread, name and category, and of annotations and arguments if patterns ask for them.
class RuleMatcher {
 public:
  RuleMatcher(const Rules& rules, const TraceTables& tables) : rules_(rules), tables_(tables) {}

  /// `annotations` are the names of the slices of the thread that enclose the event, outermost first. The
  /// result is valid until the next call.
  const Meaning& meaningOf(const TraceEvent& event, std::span<const NameId> annotations = {});

 private:
  /// A meaning whose facts may still need arguments of the event.
  struct Known {
    Meaning meaning;
    std::vector<std::pair<std::string, Argument>> fromArguments;
    /// Facts of each further thing that the event is, as text; "{order}" stands for a counted micro-batch.
    std::vector<std::vector<std::pair<std::string, std::string>>> also;
  };
  struct Key {
    ThreadId thread;
    NameId name, category;
    std::vector<std::int64_t> context;  ///< annotations and arguments that patterns ask for
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Match;
  const Known& knownOf(const TraceEvent& event, std::span<const NameId> annotations);
  Known match(const TraceEvent& event, std::span<const NameId> annotations) const;
  void add(const Rules::Rule& rule, const Match& found, std::map<std::string_view, bool>& stated,
           Known& known) const;
  std::string textOf(const ArgumentValue& value) const;
  static std::string textOf(const Rules::Template& parts, const Match& found);
  static void addFurther(const Known& known, Meaning& meaning);

  const Rules& rules_;
  const TraceTables& tables_;
  std::unordered_map<Key, Known, Hash> known_;
  /// Answer that was given lately. It is quicker to find, but only where no pattern asks for a context.
  struct Recent {
    ThreadId thread;
    NameId name, category;
    const Known* known = nullptr;
  };
  std::vector<Recent> recent_;
  Key key_;
  Meaning meaning_;
};

}  // namespace pipescope::importing
