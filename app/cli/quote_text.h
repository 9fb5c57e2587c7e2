// Where an answer repeats a document word for word, for the terminal.
#pragma once

#include <string>
#include <vector>

#include "app/cli/console.h"
#include "runtime/chat/chat_events.h"

namespace satchel::app {

inline constexpr std::size_t kQuotesShown = 3;

// `from report.pdf, page 12: "The harbour was closed for…"`, a line for each of the first
// kQuotesShown passages, then "and 2 more"; nothing where there is none. A passage that the answer
// has several times is named once.
std::vector<std::string> describe(const runtime::QuotesFound& found);
Json to_json(const runtime::QuotesFound& found);

}  // namespace satchel::app
