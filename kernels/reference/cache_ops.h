// The cache operations of the reference backend, in the plainest loops: what each must compute.
// Contracts: Backend (kernels/contract/backend.h), whose operations these are; pages: page_codec.h.
#pragma once

#include "kernels/contract/backend.h"

namespace satchel::kernels::reference {

void store(const StoreArgs& args);
Result<void> attend(const AttendArgs& args);
void score(const ScoreArgs& args);
void logsumexp(const LogSumExpArgs& args);
void key_importance(const KeyImportanceArgs& args);
void select(const SelectArgs& args);
void gather(const GatherArgs& args);

}  // namespace satchel::kernels::reference
