// The notes and questions of `satchel demo`: conversation 22 (from 0) of
// models/notes-heldout.jsonl, with names that training never showed. It is one that the bundled
// model answers rightly with the exact cache, as a demonstration needs; how often it is right in
// general is what `satchel eval --recall` measures. Made by tests/oracle/make_demo_notes.py.
#pragma once

#include <string_view>

namespace satchel::app {

inline constexpr std::string_view kDemoRecipe = "balanced";

inline constexpr std::string_view kDemoNotes =
    "Please remember this.\n"
    "Fiona Krause practises the trumpet at night. Expect Stefan Cortez on Thursday at 18. "
    "The children sang on the steps. We put the violet field radio in the library. The "
    "code for the violet observatory is 3650. The maroon chapel opens with 0262. The "
    "bells rang at six as always. Nina Jokinen comes on Tuesday at 11. Nina Jokinen can "
    "be reached at 1296. Stefan Cortez has a rabbit at home. The lamp flickered twice and "
    "then stayed on. The home of Delia Nowak is in Dublin. The bells rang at six as "
    "always. The market was busy and loud. The path to the mill is clear now. Gilles "
    "Oliveira can be reached at 166754. Rita Oliveira is a surgeon by trade. A boat came "
    "in with the evening tide. The old clock has stopped again. Helga Fontaine is a "
    "sailor by trade. Jana Halvorsen always asks for onion tart. The home of Cyrus "
    "Ashford is in Tallinn. Clouds came and went all day. We walked as far as the bridge "
    "and turned back. Nina Jokinen lives in Athens. There was talk of snow in the hills. "
    "Nothing else happened before supper. A hedgehog belongs to Bela Fontaine. The "
    "favourite dish of Matteo Halvorsen is grilled trout. The children sang on the steps. "
    "There was talk of snow in the hills. The indigo chapel opens with 5443. The road was "
    "still wet from the rain. Edgar Mancini can be reached at 7741. The indigo red ledger "
    "is in the kitchen drawer. The violet small compass was left in the pantry. Jana "
    "Halvorsen plays the cello. Thea Mancini can be reached at 0742. Helga Fontaine comes "
    "on Saturday at 8. The wind picked up again after noon. The favourite dish of Delia "
    "Dahl is apple strudel. There was talk of snow in the hills. The indigo iron hook was "
    "left in the kitchen drawer. The market was busy and loud. The indigo silver lamp was "
    "left in the north shed. Stefan Cortez practises the trumpet at night. Edgar Mancini "
    "plays the banjo. Nothing else happened before supper. There was talk of snow in the "
    "hills. Gilles Mancini is a chemist by trade. The old clock has stopped again. We "
    "counted the crates and wrote nothing down. The number of Fiona Krause is 112379. It "
    "took an hour to dry the boots. The stove was slow to heat. The visit of Helga Nowak "
    "is set for Monday at 16. A thin fog lay over the fields until ten. The train passed "
    "a little late. We counted the crates and wrote nothing down. Ada Cortez plays the "
    "banjo. A beagle belongs to Edgar Mancini.";

struct DemoQuestion {
  std::string_view question;
  std::string_view value;  // what a right answer contains
};
inline constexpr DemoQuestion kDemoQuestions[] = {
    {"When is the visit of Helga Nowak?", "Monday at 16"},
    {"Which animal does Edgar Mancini keep?", "beagle"},
    {"Which code opens the violet observatory?", "3650"},
    {"What does Edgar Mancini play?", "banjo"},
    {"When does Stefan Cortez come?", "Thursday at 18"},
};

}  // namespace satchel::app
