// Many keys of one form, so that a fact is told from its like and not from other text only (RULER's
// multi-key needles).
#include "app/eval/needle_tasks/haystack.h"

namespace satchel::eval {

NeedleContext make_multi_key(Rng& rng, std::size_t size) {
  constexpr std::size_t kKeys = 16, kAsked = 8;
  const std::vector<Person> people = draw_people(rng, kKeys);
  std::vector<std::string> facts;
  NeedleContext out;
  for (const Person& person : people) {
    facts.push_back("A guest called " + person.first + " " + person.last + " came to the door.");
    out.needles.push_back(ask_full_name(person));
  }
  out.parts = {hide(rng, facts, filler_sentences(rng, size))};
  shuffle(rng, out.needles);
  out.needles.resize(kAsked);
  return out;
}

}  // namespace satchel::eval
