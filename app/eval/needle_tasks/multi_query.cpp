// Several keys asked for in one question (RULER's multi-query needles).
#include "app/eval/needle_tasks/haystack.h"

namespace satchel::eval {

NeedleContext make_multi_query(Rng& rng, std::size_t size) {
  constexpr std::size_t kQuestions = 3, kKeys = 4;
  std::vector<Person> people = draw_people(rng, kQuestions * kKeys);
  std::vector<std::string> facts;
  for (const Person& person : people) facts.push_back(came_to_the_door(person));
  NeedleContext out;
  out.parts = {hide(rng, facts, filler_sentences(rng, size))};
  shuffle(rng, people);
  for (std::size_t i = 0; i < people.size(); i += kKeys) {
    const Person* four = &people[i];
    Needle& needle = out.needles.emplace_back();
    needle.ask = "\n\nThe full names of " + four[0].first + ", " + four[1].first + ", " +
                 four[2].first + " and " + four[3].first + " are " + four[0].first;
    for (std::size_t k = 0; k < kKeys; ++k) needle.values.push_back(four[k].last);
  }
  return out;
}

}  // namespace satchel::eval
