// Who keeps what where, asked in other words than it is told (the semantic retrieval of SCBench,
// arXiv:2412.10319).
#include "app/eval/needle_tasks/haystack.h"
#include "app/eval/needle_tasks/words.h"

namespace satchel::eval {

std::vector<std::string> kept_things(Rng& rng, std::span<const Person> people,
                                     std::vector<Needle>& asked) {
  const auto things = draw(rng, kThings, people.size());
  const auto places = draw(rng, kPlaces, people.size());
  std::vector<std::string> facts;
  for (std::size_t i = 0; i < people.size(); ++i) {
    const std::string thing(things[i]), place(places[i]);
    facts.push_back(people[i].first + " keeps the " + thing + " in the " + place + ".");
    asked.push_back(
        {.ask = "\n\n" + people[i].first + "'s " + thing + " is in the", .values = {place}});
  }
  return facts;
}

NeedleContext make_paraphrased(Rng& rng, std::size_t size) {
  constexpr std::size_t kFacts = 6;
  NeedleContext out;
  const std::vector<std::string> facts = kept_things(rng, draw_people(rng, kFacts), out.needles);
  out.parts = {hide(rng, facts, filler_sentences(rng, size))};
  shuffle(rng, out.needles);
  return out;
}

}  // namespace satchel::eval
