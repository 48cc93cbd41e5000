#pragma once
// The interval of modelled memory.
#include <optional>

#include "profiler/figures/error_interval.h"
#include "profiler/figures/figure.h"

namespace pipescope::figures {

/// The interval of the memory that the fullest device or tile needs. None: nothing is modelled, or the system
/// has no memory model. Errors come from a calibration of the device, else from bands of the memory of kinds
/// of layers (of a chip with tiles, each operator of the model counts alike), else from the tensors: their
/// bytes are exact where they are always live, and count as off by up to a factor of 1.5 where lifetimes and
/// room for computing decide.
std::optional<FigureInterval> memoryInterval(const Analyses& from);

/// The interval of memory of which a share (0 to 1) is always live and exact. The rest counts as off by up to
/// a factor of 1.5.
IntervalFactors tensorMemoryFactors(double exact);

/// The probability that each device holds what lies in it, gaps included. None: as above.
std::optional<double> fitsShare(const Analyses& from);

}  // namespace pipescope::figures
