// Why text that the model has read goes through it again: the one list of reasons, for reports,
// JSON, logs and people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace satchel::kvcache {

enum class RereadReason : std::uint8_t {
  none,
  // Of a saved cache:
  nothing_saved,
  not_saved,  // text that came after it was saved
  other_model,
  other_recipe,  // also of a cache in memory
  other_tokens,  // from where saved and present text differ
  other_format,  // another version, another page layout
  over_limit,    // more than the arena holds
  damaged,       // from the first record in doubt
  // Of a cache in memory:
  memory_lost,  // released for a change, and no longer available
  checkpoint,   // cut between two checkpoints of the states
  window,       // cut back to text that a window has passed over
  cut_failed,
  lowered,       // asked for, to have text back that was lowered or evicted
  episode_lost,  // at rest, and did not come back
  gathered,      // several turns, to be compressed as one text
  edited,        // what follows a message that was corrected
  placed,        // it was moved there and not read; asked for
  // Of a document that another chat has read:
  other_beginning,  // behind another system prompt, or with another template
};
inline constexpr std::size_t kRereadReasons =
    static_cast<std::size_t>(RereadReason::other_beginning) + 1;

// In snake case: for JSON, logs and the C API. Never changes.
const char* reread_word(RereadReason reason);
// A sentence for people; "" for none.
const char* reread_text(RereadReason reason);
// The same with what exactly it was, if that is known.
std::string reread_text(RereadReason reason, std::string_view detail);

struct Reread {
  RereadReason reason = RereadReason::none;
  std::size_t n_tokens = 0;

  friend bool operator==(const Reread&, const Reread&) = default;
};
void add(std::vector<Reread>& to, const Reread& one);
std::size_t n_reread(const std::vector<Reread>& all);
// That of most tokens.
RereadReason main_reason(const std::vector<Reread>& all);
// For people: "Reread 41 tokens. …", a sentence for each reason.
std::string describe(const std::vector<Reread>& all);

}  // namespace satchel::kvcache
