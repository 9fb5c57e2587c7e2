// Names that are told in several messages; each is read and compressed before the next one comes,
// so that what was packed first is packed further, or not, by what follows.
#include "app/eval/needle_tasks/haystack.h"

namespace satchel::eval {

NeedleContext make_several_turns(Rng& rng, std::size_t size) {
  constexpr std::size_t kTurns = 8;
  const std::vector<Person> people = draw_people(rng, kTurns);
  const std::vector<std::string> sentences = filler_sentences(rng, size);
  NeedleContext out;
  for (std::size_t i = 0; i < kTurns; ++i) {
    const auto first = sentences.begin() + std::ptrdiff_t(i * size / kTurns);
    const auto last = sentences.begin() + std::ptrdiff_t((i + 1) * size / kTurns);
    const std::string fact = came_to_the_door(people[i]);
    out.parts.push_back((i == 0 ? "" : "\n\n") + hide(rng, {&fact, 1}, {first, last}));
    out.needles.push_back(ask_full_name(people[i]));
  }
  shuffle(rng, out.needles);
  return out;
}

}  // namespace satchel::eval
