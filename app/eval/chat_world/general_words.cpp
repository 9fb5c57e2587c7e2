// Plain language about friends: what they do, plan and think, or only how they are called. Names
// and filler are those of the needle tasks.
#include "app/eval/chat_world/chat_words.h"
#include "app/eval/needle_tasks/words.h"

namespace satchel::eval {
namespace {

constexpr std::string_view kCities[] = {"Lisbon",  "Oslo",   "Vienna",  "Seattle", "Dublin",
                                        "Prague",  "Athens", "Toronto", "Boston",  "Madrid",
                                        "Chicago", "Sydney", "Berlin",  "Nairobi", "Mumbai"};
constexpr std::string_view kJobs[] = {"baker",   "surgeon",   "pilot",   "gardener", "lawyer",
                                      "painter", "carpenter", "teacher", "chemist",  "tailor",
                                      "plumber", "farmer",    "nurse",   "judge",    "barber"};
constexpr std::string_view kPets[] = {"parrot", "tortoise", "rabbit",  "ferret", "goldfish",
                                      "pony",   "hamster",  "canary",  "lizard", "poodle",
                                      "duck",   "raven",    "hedgehog"};
constexpr std::string_view kHobbies[] = {"sailing",  "knitting",    "juggling", "chess",
                                         "pottery",  "photography", "fencing",  "archery",
                                         "climbing", "dancing",     "fishing",  "origami"};
constexpr std::string_view kCountries[] = {"Iceland", "Morocco", "Japan",  "Brazil",
                                           "Norway",  "Egypt",   "Canada", "Portugal",
                                           "Vietnam", "Kenya",   "Peru",   "Turkey"};
constexpr std::string_view kOpinions[] = {"too small", "too noisy", "beautiful", "boring",
                                          "ugly",      "charming",  "too dark",  "very modern",
                                          "gloomy",    "splendid",  "confusing", "too expensive"};
constexpr std::string_view kMonths[] = {"January", "March",   "April",    "June",
                                        "August",  "October", "November", "December"};

std::string number(Rng& rng) {
  return draw_number(rng, 4);
}
std::string date(Rng& rng) {
  return one_of<kMonths>(rng) + " " + std::to_string(1 + draw_below(rng, 28));
}

constexpr FactKind kKinds[] = {
    {"city",
     one_of<kCities>,
     {"{s} lives in {v}.", "The home of {s} is in {v}.", "{s} has a flat in {v}."},
     {"In which city does {s} live?", "Where does {s} live?"},
     "{s} lives in {v}."},
    {"job",
     one_of<kJobs>,
     {"{s} works as a {v}.", "{s} is a {v} by trade.", "{s} earns a living as a {v}."},
     {"What is the job of {s}?", "What does {s} work as?"},
     "{s} works as a {v}."},
    {"pet",
     one_of<kPets>,
     {"{s} has a {v} as a pet.", "{s} keeps a {v} at home.", "The pet of {s} is a {v}."},
     {"What kind of pet does {s} have?", "Which animal does {s} keep?"},
     "{s} has a {v}."},
    {"hobby",
     one_of<kHobbies>,
     {"The hobby of {s} is {v}.", "{s} spends every weekend on {v}.",
      "{s} enjoys {v} more than anything."},
     {"What is the hobby of {s}?", "What does {s} do as a hobby?"},
     "The hobby of {s} is {v}."},
    {"phone",
     number,
     {"The phone number of {s} is {v}.", "You can call {s} on {v}.", "{s} has the number {v}."},
     {"What is the phone number of {s}?", "On which number can I call {s}?"},
     "The phone number of {s} is {v}."},
    {"date",
     date,
     {"I am going to meet {s} on {v}.", "{s} will visit me on {v}.",
      "My meeting with {s} is on {v}."},
     {"On which date will I see {s}?", "When do I meet {s}?"},
     "You will meet {s} on {v}."},
    {"trip",
     one_of<kCountries>,
     {"{s} is planning a trip to {v}.", "{s} will spend the holidays in {v}.",
      "{s} has booked a journey to {v}."},
     {"To which country does {s} want to travel?", "Where will {s} go on holiday?"},
     "{s} is planning a trip to {v}."},
    {"opinion",
     one_of<kOpinions>,
     {"{s} thinks that the new library is {v}.", "{s} finds the new library {v}.",
      "In the opinion of {s}, the new library is {v}."},
     {"What does {s} think of the new library?", "How does {s} find the new library?"},
     "{s} thinks that the new library is {v}."},
};

// What a model of some hundred million parameters finds again best (needle_tasks/names.cpp), if it
// is said and asked in one form.
constexpr std::string_view kCame = "Somebody called {s} {v} came to the door.",
                           kWhoCame = "What is the full name of {s}?";
constexpr FactKind kNames[] = {{"name",
                                one_of<kLastNames>,
                                {kCame, kCame, kCame},
                                {kWhoCame, kWhoCame},
                                "The full name of {s} is {s} {v}."}};
constexpr std::string_view kNamesAnswers[] = {"I see."};

constexpr std::string_view kLeads[] = {"", "Another thing. ", "You should know this. ",
                                       "Please remember this. "};
constexpr std::string_view kChangedLeads[] = {"That has changed now. ", "I was wrong before. ",
                                              "I have news. "};
constexpr std::string_view kAnswers[] = {"Thanks for telling me.", "I will remember that.",
                                         "Good to know.", "All right."};
constexpr SmallTalk kSmallTalk[] = {
    {"It has been raining all day here.", "Then it is a good day to stay inside."},
    {"I slept badly last night.", "I hope that you can rest today."},
    {"I am making tea now.", "Enjoy it!"},
    {"The bus was late again this morning.", "That is annoying."},
    {"I finally cleaned the kitchen.", "Well done!"},
    {"What a long week this was.", "The weekend will help."},
    {"I think I am hungry.", "Maybe it is time for a snack."},
    {"The neighbours are playing loud music.", "I hope that they stop soon."},
    {"I watched a good film yesterday.", "I am glad that you liked it."},
    {"My shoes are wet.", "Put them near the heater."},
    {"It is getting dark early now.", "Yes, winter is coming."},
    {"Thank you for listening.", "You are welcome."}};

constexpr std::size_t kPeopleMax = std::size(kMen) + std::size(kWomen);

std::vector<std::string> people(Rng& rng, std::size_t n) {
  std::vector<std::string> out;
  for (const Person& person : draw_people(rng, n)) out.push_back(person.first + " " + person.last);
  return out;
}
std::vector<std::string> first_names(Rng& rng, std::size_t n) {
  std::vector<std::string> out;
  for (const Person& person : draw_people(rng, n)) out.push_back(person.first);
  return out;
}

}  // namespace

ChatWords general_words() {
  return {.people = people,
          .n_people_max = kPeopleMax,
          .kinds = kKinds,
          .leads = kLeads,
          .changed_leads = kChangedLeads,
          .fillers = kFiller,
          .answers = kAnswers,
          .small_talk = kSmallTalk};
}

ChatWords names_words() {
  ChatWords out = general_words();
  out.people = first_names;
  out.kinds = kNames;
  out.answers = kNamesAnswers;
  return out;
}

}  // namespace satchel::eval
