// Several conversations' notes in one chat, longer than the model's context, and then questions,
// each on a copy of the chat; beside them the same questions asked of the notes they belong to
// alone.
//   asked   only what has a name in it (a word with a capital letter that is not the first) and
//           whose names, side by side, stand in the notes of one conversation only
#pragma once

#include <span>
#include <stop_token>

#include "app/eval/commands/recall_file.h"
#include "app/eval/commands/task.h"

namespace satchel::app {

// The sums of a grade: right, right of its own notes alone.
Result<Measured> hold_together(runtime::Engine& engine, const kvcache::Recipe& recipe,
                               std::span<const RecallConversation> conversations,
                               std::stop_token stop);

}  // namespace satchel::app
