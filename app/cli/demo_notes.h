// The notes and questions of `satchel demo`: conversation 60 (from 0) of
// models/notes-heldout.jsonl, with names that training never showed. It is one that the bundled
// model answers rightly with the exact cache, as a demonstration needs; how often it is right in
// general is what `satchel eval recall` measures. Made by tests/oracle/make_demo_notes.py.
#pragma once

#include <string_view>

namespace satchel::app {

inline constexpr std::string_view kDemoRecipe = "compact";

inline constexpr std::string_view kDemoNotes =
    "Notes:\n"
    "The lamp flickered twice and then stayed on. Zoltan Nowak works as a violinist. You "
    "find Nina Leroux in Bilbao. Jana Grau works as a gardener. A letter arrived but it "
    "was for the neighbours. Helga Eriksen told us: \"This winter is not to be trusted.\" "
    "The road was still wet from the rain. The path to the mill is clear now. Matteo "
    "Thorsen keeps a rabbit. We had tea and said very little. Quentin works as a baker. "
    "Dennis Whitaker said: \"The last bus came back in the night.\" Estelle Ibarra can be "
    "reached at 12757. Estelle Ibarra loves fig jam. A boat came in with the evening "
    "tide. To open the navy bell tower, enter 5983. The cat slept on the warm stones. "
    "Quentin bought thread, candles, apples and wax. Nina Leroux was born on 19 April. "
    "The bells rang at six as always. The bread was better than yesterday. The bread was "
    "better than yesterday. The path to the mill is clear now. There was talk of snow in "
    "the hills. Nothing pleases Stefan Thorsen like grilled trout. Estelle Ibarra is at "
    "home in Gdansk. Bela Zanetti comes on Wednesday at 17. The crimson greenhouse opens "
    "with 4934. Use 3665 for the amber stable. On the cello, Ursula is very good. A thin "
    "fog lay over the fields until ten. Bela Grau was born on 17 November. Stefan Thorsen "
    "practises the bagpipe at night. The wind picked up again after noon. Someone had "
    "left the gate open. Estelle Ibarra is due on Sunday at 7. The road was still wet "
    "from the rain. Someone had left the gate open. The dog barked at the post cart. The "
    "home of Dennis Whitaker is in Leipzig. Estelle Ibarra practises the guitar at night. "
    "The bells rang at six as always. Ring Stefan Thorsen at 720. Zoltan Nowak plays the "
    "bagpipe. Edgar Leroux lives in Gdansk. You find the indigo red ledger in the kitchen "
    "drawer. The market was busy and loud. The river is high for this season. Ring Matteo "
    "Grau at 7506. The code for the navy laundry is 3348. A boat came in with the evening "
    "tide. Edgar Leroux always asks for apple strudel. The dog barked at the post cart. "
    "The silver iron hook was left in the north shed. Zoltan Nowak came back with hinges "
    "and butter. Call Quentin on 6568. Call Stefan Yardley on 6216. The favourite dish of "
    "Matteo Grau is cherry pie. Nothing pleases Jana Grau like smoked eel. We heard Nina "
    "Leroux say: \"The well is not to be trusted.\" It took an hour to dry the boots. "
    "Dennis Leroux was born on 7 June. The navy guest room opens with 38440. Dennis "
    "Whitaker brought paper and ink. Nothing else happened before supper. Quentin said: "
    "\"The bridge is not to be trusted.\"";

struct DemoQuestion {
  std::string_view question;
  std::string_view value;  // what a right answer contains
};
inline constexpr DemoQuestion kDemoQuestions[] = {
    {"What is the code for the amber stable?", "is 3665."},
    {"Which work does Zoltan Nowak do?", "a violinist."},
    {"When is the birthday of Bela Grau?", "on 17 November."},
    {"Which pet does Matteo Thorsen keep?", "a rabbit."},
    {"Which code opens the crimson greenhouse?", "is 4934."},
};

}  // namespace satchel::app
