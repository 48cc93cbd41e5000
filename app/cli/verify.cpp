// pipescope verify checks that a profile is complete and lists each gap.
#include "profiler/store/verify.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/cli/frame/command.h"
#include "profiler/base/number_text.h"
#include "profiler/base/printable.h"

namespace pipescope::cli {
namespace {

struct VerifyOptions {
  std::string profile, format = "text";
};

const char* verdict(const store::Verification& v) {
  if (v.isDamaged()) return "damaged";
  return v.isComplete() ? "whole" : "incomplete";
}

std::string json(const store::Verification& v) {
  nlohmann::ordered_json object;
  object["verdict"] = verdict(v);
  object["whole"] = !v.isDamaged() && v.isComplete();
  object["state"] = model::toString(v.state.state);
  object["reason"] = v.state.reason;
  object["tables"] = v.tables;
  object["blocks"] = v.blocks;
  object["rows"] = v.rows;
  object["holes"] = v.holes;
  object["content_hash"] =
      v.contentHash.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(v.contentHash);
  return object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string text(const store::Verification& v) {
  std::string state = model::toString(v.state.state);
  if (!v.state.reason.empty()) state += ": " + base::printableName(v.state.reason);
  std::string lines = fmt::format("{}: {} rows in {} tables, state {}\n", verdict(v),
                                  base::groupedText(v.rows), v.tables, state);
  for (const std::string& hole : v.holes)
    lines += "hole: " + base::printableName(withTypedPaths(hole)) + "\n";
  if (!v.contentHash.empty()) lines += "content " + v.contentHash + "\n";
  return lines;
}

std::function<int()> setUpVerify(CLI::App& command) {
  auto options = std::make_shared<VerifyOptions>();
  command.add_option("profile", options->profile, "Profile to check")->required();
  command.add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  return [options]() -> int {
    base::SilentProgress progress;
    const auto verified = store::verify(options->profile, progress);
    if (!verified.ok()) return fail(verified.error());
    const int printed = print(options->format == "json" ? json(*verified) : text(*verified));
    if (printed != kDone) return printed;
    return verified->isDamaged() ? kAnswerIsNo : kDone;
  };
}

}  // namespace

PIPESCOPE_REGISTER_COMMAND(verify) {
  registry.add({"verify", "Check that a profile is undamaged; with status 1 it names each hole", setUpVerify,
                "pipescope verify mnist.pop"});
}

}  // namespace pipescope::cli
