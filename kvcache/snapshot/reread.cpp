#include "kvcache/snapshot/reread.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "kernels/base/size_text.h"

namespace satchel::kvcache {
namespace {

struct Said {
  RereadReason reason;
  const char *word, *text;
};
constexpr Said kReasons[] = {
    {RereadReason::none, "none", ""},
    {RereadReason::nothing_saved, "nothing_saved", "There is no saved cache."},
    {RereadReason::not_saved, "not_saved", "The saved cache is older than this text."},
    {RereadReason::other_model, "other_model", "The cache was made with another model."},
    {RereadReason::other_recipe, "other_recipe", "The cache was made with another recipe."},
    {RereadReason::other_tokens, "other_tokens", "The chat has changed since its cache was saved."},
    {RereadReason::other_format, "other_format",
     "The cache was saved by another version of Satchel, or with another page layout."},
    {RereadReason::over_limit, "over_limit", "The saved cache does not fit into the memory limit."},
    {RereadReason::damaged, "damaged", "The saved cache is damaged."},
    {RereadReason::memory_lost, "memory_lost",
     "The chat's memory was released to make a change, and not all of it was saved."},
    {RereadReason::checkpoint, "checkpoint",
     "The model's state goes back only to the checkpoint before the cut."},
    {RereadReason::window, "window",
     "The model's attention window had moved past the text before the cut."},
    {RereadReason::cut_failed, "cut_failed", "The cache could not be cut, so it was cleared."},
    {RereadReason::lowered, "lowered", "This restores text that was lowered or dropped."},
    {RereadReason::episode_lost, "episode_lost", "An older part could not be loaded again."},
    {RereadReason::gathered, "gathered", "Older turns are compressed together as one text."},
    {RereadReason::edited, "edited", "A message before this text was corrected."},
    {RereadReason::placed, "placed", "This text had been moved here without being read."},
    {RereadReason::other_beginning, "other_beginning",
     "The document was read in a chat that begins otherwise, for example with another system "
     "prompt."},
};
constexpr bool are_in_order() {
  for (std::size_t i = 0; i < std::size(kReasons); ++i)
    if (static_cast<std::size_t>(kReasons[i].reason) != i) return false;
  return std::size(kReasons) == kRereadReasons;
}
static_assert(are_in_order());

const Said& said(RereadReason reason) {
  return kReasons[static_cast<std::size_t>(reason)];
}

}  // namespace

const char* reread_word(RereadReason reason) {
  return said(reason).word;
}

const char* reread_text(RereadReason reason) {
  return said(reason).text;
}

std::string reread_text(RereadReason reason, std::string_view detail) {
  std::string text = reread_text(reason);
  if (text.empty() || detail.empty()) return text;
  if (detail.ends_with('.')) detail.remove_suffix(1);
  text.pop_back();
  return text.append(" (").append(detail).append(").");
}

void add(std::vector<Reread>& to, const Reread& one) {
  if (one.n_tokens == 0) return;
  const auto same = std::ranges::find(to, one.reason, &Reread::reason);
  if (same == to.end())
    to.push_back(one);
  else
    same->n_tokens += one.n_tokens;
}

std::size_t n_reread(const std::vector<Reread>& all) {
  std::size_t n = 0;
  for (const Reread& one : all) n += one.n_tokens;
  return n;
}

RereadReason main_reason(const std::vector<Reread>& all) {
  const auto most = std::ranges::max_element(all, {}, &Reread::n_tokens);
  return most == all.end() ? RereadReason::none : most->reason;
}

std::string describe(const std::vector<Reread>& all) {
  std::string text;
  for (const Reread& one : all)
    text += (text.empty() ? "" : " ") + std::string("Reread ") + count_text(one.n_tokens) +
            (one.n_tokens == 1 ? " token. " : " tokens. ") + reread_text(one.reason);
  return text;
}

}  // namespace satchel::kvcache
