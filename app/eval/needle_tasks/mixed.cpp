// Questions of several kinds about one text: names in the words of the text, things in other words,
// and what most people do (the multi-tasking of SCBench, arXiv:2412.10319).
#include "app/eval/needle_tasks/haystack.h"

namespace satchel::eval {

NeedleContext make_mixed(Rng& rng, std::size_t size) {
  constexpr std::size_t kOfEach = 3, kAtLeast = 50;
  const std::vector<Person> people = draw_people(rng, 2 * kOfEach);
  std::vector<std::string> facts;
  std::vector<Needle> names, things, habits;
  for (std::size_t i = 0; i < kOfEach; ++i) {
    facts.push_back(came_to_the_door(people[i]));
    names.push_back(ask_full_name(people[i]));
  }
  for (std::string& fact : kept_things(rng, std::span(people).subspan(kOfEach), things))
    facts.push_back(std::move(fact));
  shuffle(rng, facts);
  NeedleContext out;
  out.parts = {hide(rng, facts, habit_sentences(rng, kAtLeast + size, habits))};
  // In turn, so that the first few are of all kinds.
  const std::size_t first = draw_below(rng, 3);
  const std::vector<Needle>* kinds[] = {&names, &things, &habits};
  for (std::size_t i = 0; i < 3 * kOfEach; ++i)
    out.needles.push_back((*kinds[(first + i) % 3])[i / 3]);
  return out;
}

}  // namespace satchel::eval
