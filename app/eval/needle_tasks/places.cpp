// Who keeps what where: the answer is a word of every day, found by two words before it.
#include "app/eval/needle_tasks/haystack.h"
#include "app/eval/needle_tasks/words.h"

namespace satchel::eval {

NeedleContext make_places(Rng& rng, std::size_t size) {
  constexpr std::size_t kFacts = 8;
  const std::vector<Person> people = draw_people(rng, kFacts);
  const auto things = draw(rng, kThings, kFacts), places = draw(rng, kPlaces, kFacts);
  std::vector<std::string> facts;
  NeedleContext out;
  for (std::size_t i = 0; i < kFacts; ++i) {
    const std::string fact = people[i].first + " keeps the " + std::string(things[i]) + " in the";
    facts.push_back(fact + " " + std::string(places[i]) + ".");
    out.needles.push_back({.ask = "\n\n" + fact, .values = {std::string(places[i])}});
  }
  out.parts = {hide(rng, facts, filler_sentences(rng, size))};
  shuffle(rng, out.needles);
  return out;
}

}  // namespace satchel::eval
