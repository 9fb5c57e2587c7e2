// The words of training/notes: statements, questions and values that the bundled model was trained
// on (it knows no others), names held out from its training.
#include "app/eval/chat_world/chat_words.h"

namespace satchel::eval {
namespace {

constexpr std::string_view kFirstNames[] = {
    "Ada",     "Bela",   "Cyrus",   "Delia",   "Edgar",  "Fiona",   "Gilles", "Helga",
    "Igor",    "Jana",   "Kurt",    "Linnea",  "Matteo", "Nina",    "Otto",   "Paula",
    "Quentin", "Rita",   "Stefan",  "Thea",    "Ursula", "Vincent", "Walter", "Yvonne",
    "Zoltan",  "Astrid", "Bastian", "Corinna", "Dennis", "Estelle"};
constexpr std::string_view kLastNames[] = {
    "Ashford",  "Baranov",  "Cortez",   "Dahl",    "Eriksen",  "Fontaine", "Grau",     "Halvorsen",
    "Ibarra",   "Jokinen",  "Krause",   "Leroux",  "Mancini",  "Nowak",    "Oliveira", "Palmer",
    "Reuter",   "Sandoval", "Thorsen",  "Unger",   "Vasquez",  "Whitaker", "Yardley",  "Zanetti",
    "Amundsen", "Brunner",  "Carvalho", "Delgado", "Esposito", "Forster"};
static_assert(std::size(kFirstNames) == std::size(kLastNames));

constexpr std::string_view kCities[] = {"Lisbon", "Oslo",  "Vienna",  "Porto", "Krakow", "Turin",
                                        "Bergen", "Malmo", "Seville", "Ghent", "Dublin", "Prague",
                                        "Athens", "Riga",  "Zagreb",  "Basel", "Bilbao", "Verona"};
constexpr std::string_view kJobs[] = {"baker",     "surgeon", "pilot",  "gardener", "lawyer",
                                      "painter",   "teacher", "sailor", "chemist",  "tailor",
                                      "librarian", "plumber", "farmer", "nurse",    "judge"};
constexpr std::string_view kPets[] = {"parrot",   "tortoise", "rabbit", "ferret", "goldfish",
                                      "hedgehog", "pony",     "beagle", "goat",   "canary",
                                      "lizard",   "kitten",   "duck",   "raven"};
constexpr std::string_view kDishes[] = {
    "lentil soup", "plum cake",   "grilled trout", "mushroom pie", "rice pudding", "onion tart",
    "roast duck",  "barley stew", "apple strudel", "pea soup",     "cherry pie",   "potato salad"};
constexpr std::string_view kInstruments[] = {"cello",    "flute", "harp",   "accordion",
                                             "trumpet",  "banjo", "oboe",   "clarinet",
                                             "mandolin", "drum",  "guitar", "zither"};
constexpr std::string_view kDays[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                      "Friday", "Saturday", "Sunday"};

std::string number(Rng& rng) {
  return draw_number(rng, 4);
}
std::string visit(Rng& rng) {
  return one_of<kDays>(rng) + " at " + std::to_string(7 + draw_below(rng, 13));
}

constexpr FactKind kKinds[] = {
    {"city",
     one_of<kCities>,
     {"{s} lives in {v}.", "The home of {s} is in {v}.", "{s} is at home in {v}."},
     {"Where does {s} live?", "In which city does {s} live?"},
     "{s} lives in {v}."},
    {"job",
     one_of<kJobs>,
     {"{s} works as a {v}.", "{s} is a {v} by trade.", "{s} earns a living as a {v}."},
     {"What is the job of {s}?", "What does {s} do for work?"},
     "{s} is a {v}."},
    {"pet",
     one_of<kPets>,
     {"{s} keeps a {v}.", "{s} has a {v} at home.", "{s} takes care of a {v}."},
     {"Which animal does {s} keep?", "What pet does {s} have?"},
     "{s} keeps a {v}."},
    {"dish",
     one_of<kDishes>,
     {"{s} loves {v}.", "The favourite dish of {s} is {v}.", "{s} always asks for {v}."},
     {"What does {s} like to eat?", "What is the favourite dish of {s}?"},
     "{s} loves {v}."},
    {"instrument",
     one_of<kInstruments>,
     {"{s} plays the {v}.", "{s} practises the {v} at night.", "On the {v}, {s} is very good."},
     {"Which instrument does {s} play?", "What does {s} play?"},
     "{s} plays the {v}."},
    {"phone",
     number,
     {"The number of {s} is {v}.", "Call {s} on {v}.", "{s} can be reached at {v}."},
     {"What is the number of {s}?", "How can I reach {s}?"},
     "The number of {s} is {v}."},
    {"visit",
     visit,
     {"{s} comes on {v}.", "The visit of {s} is set for {v}.", "{s} is due on {v}."},
     {"When does {s} come?", "When is the visit of {s}?"},
     "{s} comes on {v}."},
};

constexpr std::string_view kLeads[] = {"Also: ", "Remember: ", "One more thing. ", "Add this. "};
constexpr std::string_view kChangedLeads[] = {
    "Correction: ", "That has changed: ", "I was wrong. "};
constexpr std::string_view kFillers[] = {
    "The wind picked up again after noon.",  "We walked as far as the bridge and turned back.",
    "The road was still wet from the rain.", "The market was busy and loud.",
    "The cat slept on the warm stones.",     "We had tea and said very little.",
    "A boat came in with the evening tide.", "The stove was slow to heat.",
    "It was quiet in the square.",           "The river is high for this season."};
constexpr std::string_view kAnswers[] = {"Noted."};
constexpr SmallTalk kSmallTalk[] = {
    {"Thank you.", "You are welcome."},
    {"How are you?", "I am well. Ask me about the notes."},
    {"What can you do?", "I read notes and answer questions about them."},
    {"Who are you?", "I am a small notes assistant. I remember what you tell me."},
    {"OK.", "Ask me about the notes."},
    {"Well done.", "Thank you."},
    {"Let me think.", "Take your time."},
    {"Good.", "I am glad."}};

std::vector<std::string> people(Rng& rng, std::size_t n) {
  const auto firsts = draw(rng, kFirstNames, n), lasts = draw(rng, kLastNames, n);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < n; ++i)
    out.push_back(std::string(firsts[i]) + " " + std::string(lasts[i]));
  return out;
}

}  // namespace

ChatWords notes_words() {
  return {.people = people,
          .n_people_max = std::size(kFirstNames),
          .kinds = kKinds,
          .leads = kLeads,
          .changed_leads = kChangedLeads,
          .fillers = kFillers,
          .answers = kAnswers,
          .small_talk = kSmallTalk};
}

}  // namespace satchel::eval
