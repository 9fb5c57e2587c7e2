// Needles: facts in a text, asked for afterwards, without any chat format, so that any model can be
// asked.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace satchel::eval {

struct Needle {
  std::string ask;  // goes on where the context ends: "\n\nThe full name of Ada is Ada"
  // One: a right answer begins with it. Several: all should be said, anywhere in the answer.
  std::vector<std::string> values;
};
struct NeedleContext {
  // Read one after the other, each compressed before the next: mostly one; messages, several.
  std::vector<std::string> parts;
  std::vector<Needle> needles;
  std::string ability = {};  // what they ask of a model; "": not said
};

// 0 to 1: whether the answer begins with the one value; the share of several that are in it as
// words of their own, in upper or lower case.
double needle_score(std::string_view said, const Needle& needle);
// No further token can change the score, and the last word is whole for people to see. A list of
// several values ends with its paragraph.
bool needle_said_enough(std::string_view said, const Needle& needle);
// Enough for each value and a word or two between them (RULER gives 120 to ten words).
std::size_t needle_answer_tokens(const Needle& needle);

// Whether `value` is the first thing said: blanks may stand before it, no letter or digit after it.
bool says_first(std::string_view said, std::string_view value);
// Whether `value` is said anywhere, as words of its own, in upper or lower case.
bool says(std::string_view said, std::string_view value);
std::string lower(std::string_view text);  // of ASCII

}  // namespace satchel::eval
