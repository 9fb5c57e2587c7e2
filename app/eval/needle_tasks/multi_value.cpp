// Several values of one key, said at several places of the text: all are asked for at once (RULER's
// multi-value needles).
#include "app/eval/needle_tasks/haystack.h"
#include "app/eval/needle_tasks/words.h"

namespace satchel::eval {

NeedleContext make_multi_value(Rng& rng, std::size_t size) {
  constexpr std::size_t kPeople = 4, kValues = 4;
  const std::vector<Person> people = draw_people(rng, kPeople);
  const auto things = draw(rng, kThings, kPeople * kValues);
  std::vector<std::string> facts;
  NeedleContext out;
  for (const Person& person : people)
    out.needles.push_back({.ask = "\n\nThe four things that " + person.first +
                                  " bought are the following: " + person.first + " bought a",
                           .values = {}});
  // Everybody's first thing, then everybody's second …
  for (std::size_t i = 0; i < things.size(); ++i) {
    const std::size_t person = i % kPeople;
    facts.push_back(people[person].first + " bought a " + std::string(things[i]) + ".");
    out.needles[person].values.emplace_back(things[i]);
  }
  out.parts = {hide(rng, facts, filler_sentences(rng, size))};
  return out;
}

}  // namespace satchel::eval
