// People's full names. The last name is said once, right after the first: what a small model finds
// again best. So the wording of `docs/samples/needles.jsonl`.
#include "app/eval/needle_tasks/haystack.h"

namespace satchel::eval {

NeedleContext make_names(Rng& rng, std::size_t size) {
  const std::vector<Person> people = draw_people(rng, 8);
  std::vector<std::string> facts;
  for (const Person& person : people) facts.push_back(came_to_the_door(person));
  NeedleContext out;
  out.parts = {hide(rng, facts, filler_sentences(rng, size))};
  for (const Person& person : people) out.needles.push_back(ask_full_name(person));
  shuffle(rng, out.needles);
  return out;
}

}  // namespace satchel::eval
