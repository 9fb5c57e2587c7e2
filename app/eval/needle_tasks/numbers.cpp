// Boats with numbers: an answer of digits, which are a token each in most vocabularies.
#include "app/eval/needle_tasks/haystack.h"
#include "app/eval/needle_tasks/words.h"

namespace satchel::eval {

NeedleContext make_numbers(Rng& rng, std::size_t size) {
  std::vector<std::string> facts;
  NeedleContext out;
  for (const std::string_view drawn : draw(rng, kBoats, 8)) {
    const std::string boat(drawn), number = draw_number(rng, 4);
    facts.push_back("A boat with the mark " + boat + " " + number + " came into the harbour.");
    out.needles.push_back(
        {.ask = "\n\nThe full mark of the boat " + boat + " is " + boat, .values = {number}});
  }
  out.parts = {hide(rng, facts, filler_sentences(rng, size))};
  shuffle(rng, out.needles);
  return out;
}

}  // namespace satchel::eval
