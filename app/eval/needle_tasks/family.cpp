#include "app/eval/needle_tasks/family.h"

#include <algorithm>
#include <string>

#include "app/eval/needle_tasks/haystack.h"

namespace satchel::eval {
namespace {

constexpr NeedleFamily kFamilies[] = {
    {"names", "8 people's full names among other sentences", make_names},
    {"places", "who keeps what where", make_places},
    {"numbers", "boats with numbers", make_numbers},
    {"multi-key", "16 names of one form, 8 of them asked for", make_multi_key},
    {"multi-value", "each person owns four things: all four", make_multi_value},
    {"multi-query", "four people's last names in one answer", make_multi_query},
    {"tracking", "variables set to one another: all that hold a value", make_tracking},
    {"common-words", "the ten words that come most often in a list", make_common_words},
    {"several-turns", "names told in eight messages, each compressed when its turn ends",
     make_several_turns},
    {"paraphrased", "who keeps what where, asked in other words", make_paraphrased},
    {"majority", "what most people do, where no single sentence tells", make_majority},
    {"mixed", "names, things in other words and what most do, in one text", make_mixed},
};

}  // namespace

std::span<const NeedleFamily> needle_families() {
  return kFamilies;
}

const NeedleFamily* find_needle_family(std::string_view name) {
  const auto found = std::ranges::find(kFamilies, name, &NeedleFamily::name);
  return found == std::end(kFamilies) ? nullptr : found;
}

Result<std::size_t> n_tokens_of(const NeedleContext& context, const CountTokens& count_tokens) {
  std::size_t n = 0, n_asked_max = 0;
  for (const std::string& part : context.parts) {
    SATCHEL_TRY_ASSIGN(const std::size_t n_part, count_tokens(part));
    n += n_part;
  }
  for (const Needle& needle : context.needles) {
    SATCHEL_TRY_ASSIGN(const std::size_t n_ask, count_tokens(needle.ask));
    n_asked_max = std::max(n_asked_max, n_ask + needle_answer_tokens(needle));
  }
  return n + n_asked_max;
}

Result<NeedleContext> make_needle_context(const NeedleFamily& family, const NeedleSpec& spec,
                                          const CountTokens& count_tokens) {
  const auto fits = [&](std::size_t size) -> Result<bool> {
    Rng rng(spec.seed);
    SATCHEL_TRY_ASSIGN(const std::size_t n, n_tokens_of(family.make(rng, size), count_tokens));
    return n <= spec.n_tokens;
  };
  std::size_t low = 0, high = 1;  // low fits, high does not
  while (true) {
    SATCHEL_TRY_ASSIGN(const bool small, fits(high));
    if (!small) break;
    low = high;
    high *= 2;
  }
  if (low == 0)
    return Error{ErrorKind::invalid, "PARAM",
                 "The facts of \"" + std::string(family.name) + "\" do not fit into " +
                     std::to_string(spec.n_tokens) + " tokens. Use more."};
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    SATCHEL_TRY_ASSIGN(const bool small, fits(middle));
    (small ? low : high) = middle;
  }
  Rng rng(spec.seed);
  return family.make(rng, low);
}

}  // namespace satchel::eval
