// People of the needle tasks. For this folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/eval/needle_tasks/haystack.h"
#include "app/eval/needle_tasks/needle.h"

namespace satchel::eval {

struct Person {
  std::string first, last;
  std::string_view is = "man";
};
// No first and no last name twice.
std::vector<Person> draw_people(Rng& rng, std::size_t n);

// "A man called Carl Corwin came to the door."
std::string came_to_the_door(const Person& person);
Needle ask_full_name(const Person& person);

}  // namespace satchel::eval
