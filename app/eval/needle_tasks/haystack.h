// The families, one a file, and what they are made of: drawing by lot, people, and sentences that
// hide the facts. family.cpp is their table. For this folder; ../chat_world draws and names people
// likewise.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/eval/needle_tasks/family.h"

namespace satchel::eval {

std::size_t draw_below(Rng& rng, std::size_t n);  // n at least 1

template <class T>
void shuffle(Rng& rng, std::vector<T>& all) {
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[draw_below(rng, i)]);
}
// n different ones, in the order drawn.
//   needs  all.size() at least n
std::vector<std::string_view> draw(Rng& rng, std::span<const std::string_view> all, std::size_t n);
// "407": n digits, the first of them no 0.
std::string draw_number(Rng& rng, int n_digits);

struct Person {
  std::string first, last;
  std::string_view is = "man";
};
// No first and no last name twice.
std::vector<Person> draw_people(Rng& rng, std::size_t n);

// "A man called Carl Corwin came to the door."
std::string came_to_the_door(const Person& person);
Needle ask_full_name(const Person& person);

// n sentences that say nothing of any fact: first those that we wrote, in an order drawn by lot,
// then sentences put together of parts, as many as there may be.
std::vector<std::string> filler_sentences(Rng& rng, std::size_t n);

// The facts among other sentences: in their order, each at a place drawn from its own share of the
// text, never at its very end unless there is nothing else. One text, with blanks between.
std::string hide(Rng& rng, std::span<const std::string> facts, std::vector<std::string> sentences);

// n sentences that say what somebody does; for each of five habits, what most do of it.
std::vector<std::string> habit_sentences(Rng& rng, std::size_t n, std::vector<Needle>& asked);
// A sentence for each of the people that says what they keep where; and each asked for in other
// words.
std::vector<std::string> kept_things(Rng& rng, std::span<const Person> people,
                                     std::vector<Needle>& asked);

NeedleContext make_names(Rng& rng, std::size_t size);
NeedleContext make_places(Rng& rng, std::size_t size);
NeedleContext make_numbers(Rng& rng, std::size_t size);
NeedleContext make_multi_key(Rng& rng, std::size_t size);
NeedleContext make_multi_value(Rng& rng, std::size_t size);
NeedleContext make_multi_query(Rng& rng, std::size_t size);
NeedleContext make_tracking(Rng& rng, std::size_t size);
NeedleContext make_common_words(Rng& rng, std::size_t size);
NeedleContext make_several_turns(Rng& rng, std::size_t size);
NeedleContext make_paraphrased(Rng& rng, std::size_t size);
NeedleContext make_majority(Rng& rng, std::size_t size);
NeedleContext make_mixed(Rng& rng, std::size_t size);

}  // namespace satchel::eval
