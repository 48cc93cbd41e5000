#include "app/cli/frame/typed_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace pipescope::cli {
namespace {

/// Options of `run` that take a value and set no key.
const std::set<std::string>& otherOptions() {
  static const std::set<std::string> all = {"-o", "--output", "--profile-dir", "--progress"};
  return all;
}

bool isPart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

/// Replaces `word` where it stands alone, but not in "--set word", which was typed. True: it was replaced.
bool replaceWord(std::string& text, const std::string& word, const std::string& by) {
  constexpr std::string_view set = "--set ";
  bool found = false;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
    const std::size_t end = at + word.size();
    const bool wasTyped = at >= set.size() && text.compare(at - set.size(), set.size(), set) == 0;
    const bool begins = at == 0 || (!wasTyped && !isPart(text[at - 1]) && text[at - 1] != '.');
    const bool ends =
        end == text.size() ||
        (!isPart(text[end]) && (text[end] != '.' || end + 1 == text.size() || !isPart(text[end + 1])));
    if (begins && ends) text.replace(at, word.size(), by);
    at += begins && ends ? by.size() : word.size();
    found = found || (begins && ends);
  }
  return found;
}

}  // namespace

TypedFlags::TypedFlags(const config::KeyTable& keys, const std::vector<std::string>& arguments,
                       const std::vector<std::string>& variables)
    : keys_(keys) {
  // Key of each flag; true: the flag means the opposite.
  std::map<std::string, std::pair<const config::Key*, bool>> known;
  for (const config::Key& key : keys.all()) {
    for (const std::string& flag : key.flags) {
      known["--" + flag] = {&key, false};
      if (key.type == config::KeyType::boolean) known["--no-" + flag] = {&key, true};
    }
  }
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const std::string name = arguments[i].substr(0, arguments[i].find('='));
    const bool hasValue = name.size() < arguments[i].size();
    if (name == "--training" || name == "--inference") add("execution.mode", {name, name.substr(2)});
    if (name == "--set" && (hasValue || i + 1 < arguments.size())) {
      const std::string setting = hasValue ? arguments[i].substr(name.size() + 1) : arguments[++i];
      const std::string path = setting.substr(0, setting.find('='));
      if (keys.find(path) != nullptr) add(path, {"--set " + path, {}});
      continue;
    }
    const auto found = known.find(name);
    const bool takesValue = found != known.end() ? found->second.first->type != config::KeyType::boolean
                                                 : otherOptions().contains(name);
    if (found != known.end()) {
      const auto& [key, opposite] = found->second;
      add(key->path, {name, takesValue ? "" : opposite ? "off" : "on"});
    }
    if (takesValue && !hasValue) ++i;
  }
  for (const config::Key& key : keys.all()) {
    if (key.path.find("[]") != std::string::npos || flags_.contains(key.path)) continue;
    const std::string name = config::environmentName(key.path);
    if (std::ranges::find(variables, name) != variables.end()) variables_[key.path] = name;
  }
}

void TypedFlags::noteFile(const config::Configuration& configuration) {
  fileIsKnown_ = true;
  for (const config::Key& key : keys_.all()) {
    if (key.path.find("[]") == std::string::npos && configuration.origin(key.path) == config::Origin::file)
      ofFile_.insert(key.path);
  }
}

void TypedFlags::add(const std::string& path, Flag flag) {
  const auto [place, isNew] = flags_.try_emplace(path, flag);
  if (isNew || !contradiction_.ok()) return;
  const Flag& first = place->second;
  if (first.name == flag.name && flag.name.starts_with("--set")) {
    contradiction_ = base::badInput(flag.name + " is given twice: leave one of them out.");
    return;
  }
  if (first.name == flag.name) return;  // lists may be given several times; others are refused with the value
  contradiction_ = base::badInput(
      fmt::format("{} and {} set the same key: leave one of them out.", first.name, flag.name));
}

base::Status TypedFlags::checkEffect(const config::Configuration& c) const {
  const auto data = flags_.find("data.directory");
  if (data != flags_.end() && flags_.contains("data.dataset") && c.text("data.dataset") == "synthetic") {
    return base::badInput(
        fmt::format("{} names a folder, but data.dataset is synthetic, which reads no files: "
                    "leave one of them out.",
                    data->second.name));
  }
  static const std::set<std::string> ofBackwardPasses = {
      "execution.recompute",           "execution.checkpoints",       "execution.zero",
      "execution.shard_optimizer",     "execution.offload_optimizer", "execution.shard_accumulators",
      "execution.offload_accumulators"};
  const std::string& mode = c.text("execution.mode");
  const bool infers = mode == "inference";
  if (mode == "all") return {};
  constexpr std::int64_t kSharesWeights = 3;  // the stage of ZeRO that inference knows, too
  for (const auto& [path, flag] : flags_) {
    const bool ofTraining = (path.starts_with("training.") && path != "training.loss") ||
                            (ofBackwardPasses.contains(path) &&
                             (path != "execution.zero" || c.integer("execution.zero") != kSharesWeights));
    const bool ofInference = path.starts_with("inference.") || path == "data.test_samples";
    const bool validates = c.integer("training.validation_interval") > 0;
    const bool useless = infers ? ofTraining || path == "data.samples" : ofInference && !validates;
    if (!useless) continue;
    const std::string other = (infers ? "inference." : "training.") + std::string(config::lastPart(path));
    const config::Key* twin = keys_.find(infers && path == "data.samples" ? "data.test_samples" : other);
    const std::string instead =
        twin != nullptr && !twin->flags.empty() ? fmt::format("use --{}, or ", twin->flags.front()) : "";
    return base::badInput(fmt::format("{} is about {}, but execution.mode is {}: {}leave one of them out.",
                                      flag.name, infers ? "training" : "inference", mode, instead));
  }
  return {};
}

bool TypedFlags::replaceKey(std::string& message, const std::string& path, const std::string& name) const {
  bool found = replaceWord(message, path, name);
  const std::string last(config::lastPart(path));
  const auto hasLast = [&](const auto& other) { return config::lastPart(other.first) == last; };
  const bool isOnly =
      std::ranges::count_if(flags_, hasLast) + std::ranges::count_if(variables_, hasLast) == 1;
  if (isOnly && last.find('_') != std::string::npos) found = replaceWord(message, last, name) || found;
  return found;
}

std::string TypedFlags::named(std::string message) const {
  bool hasFlag = false;
  for (const auto& [path, flag] : flags_) {
    if (flag.name.starts_with("--set")) continue;
    if (!flag.value.empty()) {
      replaceWord(message, path + " is " + flag.value, flag.name + " is given");
      if (flag.value == "off") continue;  // the flag means the opposite of its key
    }
    hasFlag = replaceKey(message, path, flag.name) || hasFlag;
  }
  for (const auto& [path, name] : variables_) replaceKey(message, path, name);
  if (!hasFlag || !fileIsKnown_) return message;
  for (const config::Key& key : keys_.all()) {
    const bool isValued = !key.flags.empty() && key.type != config::KeyType::boolean;
    if (isValued && !flags_.contains(key.path) && !ofFile_.contains(key.path))
      replaceWord(message, key.path, "--" + key.flags.front());
  }
  return message;
}

}  // namespace pipescope::cli
