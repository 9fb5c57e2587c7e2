// The notes and questions of `satchel demo`: conversation 13 of models/notes-heldout.jsonl, names that training never showed.
// It is one that the bundled model answers rightly with the exact cache, as a demonstration needs; how often it is right in
// general is what `satchel eval --recall` measures.
#pragma once

#include <string_view>

namespace satchel::app {

inline constexpr std::string_view kDemoRecipe = "balanced";

inline constexpr std::string_view kDemoNotes =
    "Here are the notes.\n"
    "The number of Edgar Ashford is 4259. They say Stefan Grau is a good tailor. The "
    "scarlet tin box was left in the observatory. The code for the silver observatory is "
    "765454. The visit of Delia Cortez is set for Monday at 16. Thea Grau works as a "
    "librarian. The river is high for this season. The window was mended at last. A thin "
    "fog lay over the fields until ten. The cat slept on the warm stones. Expect Matteo "
    "Fontaine on Wednesday at 12. The home of Jana Halvorsen is in Tallinn. The teal "
    "small compass was left in the garage. Someone had left the gate open. The dog barked "
    "at the post cart. The code for the silver library is 4456. Nina Jokinen loves "
    "grilled trout. They painted the fence on the west side. The crimson old map is in "
    "the hallway closet. The visit of Thea Grau is set for Friday at 18. The code for the "
    "olive attic is 712298. The home of Rita Dahl is in Leipzig. The road was still wet "
    "from the rain. Thea Grau practises the accordion at night. A rabbit belongs to "
    "Linnea Grau. Delia Cortez works as a carpenter. To open the olive bell tower, enter "
    "8805. Delia Mancini plays the trumpet. Matteo Eriksen is a lawyer by trade. Delia "
    "Cortez lives in Seville. Stefan Grau practises the harp at night. The old clock has "
    "stopped again. Thea Mancini has a rabbit at home. Someone had left the gate open. A "
    "letter arrived but it was for the neighbours. The river is high for this season. The "
    "train passed a little late. The favourite dish of Matteo Fontaine is grilled trout. "
    "Helga Leroux can be reached at 6993. Linnea Grau works as a farmer. Cyrus Nowak "
    "moved to Oslo years ago. The lamp flickered twice and then stayed on. It was quiet "
    "in the square. A hamster belongs to Matteo Eriksen. The favourite dish of Gilles "
    "Nowak is fig jam. The stove was slow to heat. Matteo Eriksen practises the trumpet "
    "at night. The visit of Delia Mancini is set for Sunday at 8. We counted the crates "
    "and wrote nothing down. Linnea Grau can be reached at 7323. The crimson workshop "
    "opens with 4553. Someone had left the gate open.";

struct DemoQuestion {
  std::string_view question;
  std::string_view value;  // what a right answer contains
};
inline constexpr DemoQuestion kDemoQuestions[] = {
    {"What is the code for the silver observatory?", "765454"},
    {"What is the favourite dish of Matteo Fontaine?", "grilled trout"},
    {"Which code opens the olive bell tower?", "8805"},
    {"Which code opens the olive bell tower?", "8805"},
    {"Which code opens the crimson workshop?", "4553"},
};

}  // namespace satchel::app
