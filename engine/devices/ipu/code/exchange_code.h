#pragma once
// The code of exchanges on an IPU. Exchanges that repeat, as in equal layers of a model, share their code as
// far as they move temporaries, which lie at the same addresses each time. Messages from tensors with an
// address of their own, such as weights, need their own code. (M: in popliner's profile of BERT-Large,
// tests/test_popart_bert_inf.py of graphcore/popliner, whose layers have equal programs and share no
// function, the layers behind the second have 1.02 MB of exchange code each, and the first one 3.11 MB
// without its embeddings.)
#include <set>
#include <string>

#include "engine/devices/ipu/lowered_work.h"

namespace pipescope::devices::ipu {

/// The share of a repeated exchange's code that cannot be shared.
double ownShareOf(const ProgramStep& step, bool readsKeptTensors);

/// True if the operator reads a tensor that lies at the same address during the whole program.
bool readsKeptTensors(const compile::StageIr& stage, const compile::IrOperator& op);

/// Knows the exchanges of a program so far.
class ExchangeCode {
 public:
  /// Takes note of the exchange and returns the share of its code that is not there yet.
  double take(const ProgramStep& step, bool readsKeptTensors);

 private:
  std::set<std::string> known_;
};

}  // namespace pipescope::devices::ipu
