// The notes and questions of `satchel demo`, in the world that the bundled model was trained for; names that training
// never showed.
#pragma once

#include <string_view>

namespace satchel::app {

inline constexpr std::string_view kDemoRecipe = "compact";

inline constexpr std::string_view kDemoNotes =
    "Read these notes.\n"
    "Igor Dahl practises the trumpet at night. The stove was slow to heat. The number of "
    "Helga Jokinen is 0134. Nina Fontaine plays the banjo. Expect Cyrus Ashford on "
    "Tuesday at 8. Expect Quentin Ashford on Friday at 16. Rita Baranov practises the "
    "banjo at night. The olive blue folder was left in the reading room. Ada Halvorsen "
    "comes on Friday at 12. Nothing else happened before supper. Ada Halvorsen is a "
    "translator by trade. The road was still wet from the rain. Rita Krause is a sailor "
    "by trade. Rita Baranov loves barley stew. The code for the ivory pantry is 506667. "
    "Someone had left the gate open. It took an hour to dry the boots. The market was "
    "busy and loud. Clouds came and went all day. The old clock has stopped again. The "
    "teal garage opens with 853946. The cat slept on the warm stones. The code for the "
    "crimson chapel is 1171. Quentin Ashford works as a pilot. Call Igor Baranov on 2577. "
    "The window was mended at last. Ada Halvorsen moved to Malmo years ago. They say "
    "Cyrus Ibarra is a good plumber. Cyrus Grau comes on Thursday at 8. We put the maroon "
    "paper fan in the library. Bela Ibarra can be reached at 7367. The number of Cyrus "
    "Ashford is 7234. The violet old map is in the library. The number of Nina Fontaine "
    "is 1110. A greyhound belongs to Otto Grau. Cyrus Ashford is a lawyer by trade. Paula "
    "Baranov works as a plumber. Call Quentin Dahl on 8570. The dog barked at the post "
    "cart. Call Helga Oliveira on 3841. Someone had left the gate open. Clouds came and "
    "went all day. The road was still wet from the rain. We had tea and said very little. "
    "Cyrus Ibarra lives in Lisbon. The code for the olive garden hut is 4607. Ada "
    "Halvorsen can be reached at 682019. The bread was better than yesterday. Someone had "
    "left the gate open. The favourite dish of Cyrus Ashford is grilled trout. Quentin "
    "Dahl always asks for roast duck.";

struct DemoQuestion {
  std::string_view question;
  std::string_view value;  // what a right answer contains
};
inline constexpr DemoQuestion kDemoQuestions[] = {
    {"When is the visit of Cyrus Ashford?", "Tuesday at 8"},
    {"Where does Cyrus Ibarra live?", "Lisbon"},
    {"When does Cyrus Grau come?", "Thursday at 8"},
    {"When does Ada Halvorsen come?", "Friday at 12"},
    {"When is the visit of Quentin Ashford?", "Friday at 16"},
};

}  // namespace satchel::app
