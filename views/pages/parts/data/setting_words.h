#pragma once
// Settings and their changes in words for people, where reports have keys of the configuration.
#include <QString>
#include <utility>

#include "profiler/analysis/catalog.h"
#include "profiler/replay/change.h"

namespace pipescope::pages {

/// The last part of a key in words: "micro-batch size" for training.micro_batch_size.
QString settingInWords(const QString& key);

/// The kind of a change, and what stands for N or NAME in its key. Null: a replay does not know the key.
std::pair<const replay::ChangeKind*, std::string> changeKindOf(const std::string& key);

/// A value of a change for people: "× 0.8" for "*0.8".
QString changeValueInWords(const std::string& key, const std::string& value);

/// A change in words for people: "forward pass of stage 1: × 0.8". A key that only a run knows becomes the
/// words of its last part: "micro-batch size: 80".
QString changeInWords(const replay::Change& change);

/// Changes that reports write as "KEY=VALUE KEY=VALUE", in words and joined by "and".
QString changesInWords(const QString& changes);

/// A sentence of a report with its changes and settings in words: “schedule: 1f1b” for
/// execution.schedule=1f1b, and gradient accumulation for gradient_accumulation. Only settings that the run
/// records are rewritten, because layers may have such names, too.
QString withSettingsInWords(const QString& sentence, const analysis::Catalog& catalog);

}  // namespace pipescope::pages
