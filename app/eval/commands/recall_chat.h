// One conversation of a recall file, held with a model.
//   unknown  as a chat: the notes are read and compressed before a question is there
//   known    per question: notes, what was said before it, and the question are read as one
//            document, but for its last token, and compressed; then it is answered
#pragma once

#include <stop_token>

#include "app/eval/commands/recall_file.h"
#include "app/eval/commands/task_options.h"

namespace satchel::app {

inline constexpr std::size_t kRecallAnswerTokensMax =
    96;  // a long list and the sentence around it; chosen, not measured

// Greedy. Where the context is too short for the notes or a question, the answer is wrong; one that
// it ends within is judged as far as it came. Both are counted in n_cut.
Result<Measured> hold_conversation(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                   const RecallConversation& conversation,
                                   const RecallOptions& options, std::stop_token stop);

}  // namespace satchel::app
