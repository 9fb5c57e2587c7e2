#include "app/eval/needle_tasks/people.h"

#include "app/eval/needle_tasks/words.h"

namespace satchel::eval {

std::vector<Person> draw_people(Rng& rng, std::size_t n) {
  std::vector<Person> all;
  for (const std::string_view first : kMen) all.push_back({std::string(first), {}, "man"});
  for (const std::string_view first : kWomen) all.push_back({std::string(first), {}, "woman"});
  shuffle(rng, all);
  all.resize(n);
  const std::vector<std::string_view> lasts = draw(rng, kLastNames, n);
  for (std::size_t i = 0; i < n; ++i) all[i].last = lasts[i];
  return all;
}

std::string came_to_the_door(const Person& person) {
  return "A " + std::string(person.is) + " called " + person.first + " " + person.last +
         " came to the door.";
}

Needle ask_full_name(const Person& person) {
  return {.ask = "\n\nThe full name of " + person.first + " is " + person.first,
          .values = {person.last}};
}

}  // namespace satchel::eval
