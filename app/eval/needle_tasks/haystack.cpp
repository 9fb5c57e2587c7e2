#include "app/eval/needle_tasks/haystack.h"

#include <algorithm>

#include "app/eval/needle_tasks/words.h"
#include "kernels/base/assert.h"

namespace satchel::eval {
namespace {

std::string_view one_of(Rng& rng, std::span<const std::string_view> all) {
  return all[draw_below(rng, all.size())];
}

// "Behind the mill, the potter swept the yard." Some thousands of different ones.
std::string composed_sentence(Rng& rng) {
  std::string out(one_of(rng, kWhen));
  out += ' ';
  out += one_of(rng, kWho);
  out += ' ';
  out += one_of(rng, kDid);
  return out += '.';
}

}  // namespace

std::size_t draw_below(Rng& rng, std::size_t n) {
  SATCHEL_ASSERT(n > 0);
  return std::min(n - 1, static_cast<std::size_t>(rng.uniform() * static_cast<double>(n)));
}

std::vector<std::string_view> draw(Rng& rng, std::span<const std::string_view> all, std::size_t n) {
  SATCHEL_ASSERT(n <= all.size());
  std::vector<std::string_view> out(all.begin(), all.end());
  shuffle(rng, out);
  out.resize(n);
  return out;
}

std::string draw_number(Rng& rng, int n_digits) {
  std::string out(1, static_cast<char>('1' + draw_below(rng, 9)));
  while (--n_digits > 0) out += static_cast<char>('0' + draw_below(rng, 10));
  return out;
}

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

std::vector<std::string> filler_sentences(Rng& rng, std::size_t n) {
  const std::vector<std::string_view> written = draw(rng, kFiller, kFiller.size());
  std::vector<std::string> out(written.begin(),
                               written.begin() + std::ptrdiff_t(std::min(n, written.size())));
  while (out.size() < n) out.push_back(composed_sentence(rng));
  // So that a long text does not fall into two halves.
  shuffle(rng, out);
  return out;
}

std::string hide(Rng& rng, std::span<const std::string> facts, std::vector<std::string> sentences) {
  const std::size_t n = sentences.size();
  // From the last, so that the places of the earlier ones stay what they are.
  for (std::size_t i = facts.size(); i-- > 0;) {
    const std::size_t begin = i * n / facts.size(), end = (i + 1) * n / facts.size();
    const std::size_t at = begin + (end > begin ? draw_below(rng, end - begin) : 0);
    sentences.insert(sentences.begin() + std::ptrdiff_t(at), facts[i]);
  }
  std::string out;
  for (const std::string& sentence : sentences) out += (out.empty() ? "" : " ") + sentence;
  return out;
}

}  // namespace satchel::eval
