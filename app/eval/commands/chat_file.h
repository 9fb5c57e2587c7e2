// Chats of others with questions about them: one JSON document, as its authors give it away.
//   LoCoMo       (arXiv:2402.17753, locomo10.json) a list of {"sample_id", "conversation":
//                {"speaker_a", "session_1_date_time", "session_1": [{"speaker", "dia_id", "text"}],
//                …}, "qa": [{"question", "answer", "evidence": ["D1:3"], "category"}]}. Two people
//                talk: speaker_a becomes the user, the other the assistant, both with their names.
//                Category 5 asks for what was never said
//   LongMemEval  (arXiv:2410.10813, longmemeval_s.json) a list of {"question_id", "question_type",
//                "question", "answer", "question_date", "haystack_dates", "haystack_sessions":
//                [[{"role", "content", "has_answer"}]]}; ids that end in "_abs" ask for what was
//                never said. Sets are the types
//   age      of a question: that of the oldest message that its evidence names
//   errors   DOC_FORMAT with the place and what is missing there, or where it is neither; those of
//            read_text_file
#pragma once

#include <string>
#include <vector>

#include "app/eval/chat_world/chat.h"
#include "kernels/base/result.h"

namespace satchel::app {

// At most n of the file; 0: all.
Result<std::vector<eval::Chat>> read_chat_file(const std::string& path, std::size_t n);

}  // namespace satchel::app
