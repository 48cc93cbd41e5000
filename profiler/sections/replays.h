#pragma once
// Answers of replays of a call: the best single move, which the stages section shows, and the section of a
// what-if.
#include <optional>

#include "profiler/figures/error_interval.h"
#include "profiler/replay/best_move.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::sections {

/// Gives the process the schedules of the engine. Programs call it once at their start; without it, only
/// imported traces are replayed.
void setSchedules(replay::Schedules schedules);
/// Returns the schedules that setSchedules() gave; null if there are none.
const replay::Schedules* knownSchedules();

/// Gives as a sentence the reason why changes of the last call cannot be tried; empty if they can. A call
/// that cannot be replayed as it was recorded says nothing about a change.
std::string noTrialsReason(const Context& context);
/// A sentence about the move, such as "Best single move: training.gradient_accumulation=20 makes it 12.3 %
/// faster …"; empty if there is none.
std::string bestMoveText(const replay::BestMoveAnswer& answer);
/// The facts of the stages section about it.
std::vector<Fact> bestMoveFacts(const replay::BestMoveAnswer& answer);

/// The interval of the step of a call. None: nothing is modelled, or the profile cannot tell.
std::optional<figures::FigureInterval> stepIntervalOf(const Context& context);
/// The same as a profile keeps it that replays this one: see figures::keptInterval().
std::string keptIntervalOf(const Context& context);
/// The answer of `pipescope what-if`: the step before and after with the parts of the difference, and the
/// stages. `interval`: of the recorded step.
Section whatIfSection(const analysis::Catalog& catalog,
                      const std::optional<figures::FigureInterval>& interval, const replay::WhatIf& answer);

}  // namespace pipescope::sections
