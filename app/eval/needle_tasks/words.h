// Words of the needle tasks: all our own. Names that tokenizers for English have few pieces for, no
// first and last name known together; none stands in the filler. For this folder and ../chat_world.
#pragma once

#include <span>
#include <string_view>

namespace satchel::eval {

inline constexpr std::string_view kMen[] = {
    "Abel",    "Amos",    "Arthur",  "Basil",   "Carl",    "Cecil",  "Daniel",  "Donald",
    "Edwin",   "Elliot",  "Ernest",  "Francis", "Gerald",  "Gordon", "Harvey",  "Herbert",
    "Howard",  "Jasper",  "Julian",  "Kenneth", "Leonard", "Martin", "Miles",   "Nathan",
    "Neville", "Oliver",  "Patrick", "Percy",   "Philip",  "Ralph",  "Raymond", "Rupert",
    "Sidney",  "Stephen", "Trevor",  "Vernon",  "Victor"};
inline constexpr std::string_view kWomen[] = {
    "Alice",   "Anna",   "Barbara", "Caroline", "Charlotte", "Cora",     "Diana",
    "Eleanor", "Ellen",  "Emma",    "Felicia",  "Flora",     "Gloria",   "Grace",
    "Harriet", "Hazel",  "Ivy",     "Joan",     "Judith",    "Laura",    "Lucy",
    "Mabel",   "Marion", "Mildred", "Norma",    "Penelope",  "Rosalind", "Sarah",
    "Stella",  "Susan",  "Sylvia",  "Vera",     "Winifred"};
inline constexpr std::string_view kLastNames[] = {
    "Adler",     "Ainsworth", "Archer",    "Atwood",   "Baldwin",  "Barlow",    "Beckett",
    "Bingham",   "Blackwell", "Brennan",   "Brewster", "Burnham",  "Calloway",  "Cartwright",
    "Chapman",   "Colby",     "Crawford",  "Crosby",   "Dalton",   "Denham",    "Dexter",
    "Drummond",  "Eastman",   "Ellison",   "Farrell",  "Fenwick",  "Fletcher",  "Gardner",
    "Garrison",  "Gilmore",   "Goddard",   "Granger",  "Hadley",   "Hammond",   "Harding",
    "Hastings",  "Holbrook",  "Holloway",  "Hopkins",  "Ingram",   "Jarvis",    "Kendall",
    "Kirby",     "Lambert",   "Langley",   "Lockwood", "Lowell",   "Maddox",    "Mallory",
    "Marlow",    "Maxwell",   "Mercer",    "Merritt",  "Morland",  "Norris",    "Norwood",
    "Osborne",   "Paxton",    "Pickering", "Prescott", "Quigley",  "Radcliffe", "Ramsey",
    "Redmond",   "Rowland",   "Sanford",   "Sawyer",   "Shelton",  "Sheridan",  "Sinclair",
    "Stafford",  "Stanton",   "Sutton",    "Talbot",   "Thornton", "Tucker",    "Turnbull",
    "Underwood", "Vaughan",   "Wakefield", "Waller",   "Webster",  "Whitman",   "Winslow",
    "Woodward",  "Wyatt",     "Yates"};
inline constexpr std::string_view kThings[] = {
    "lantern", "compass",  "trumpet", "passport", "violin", "telescope", "hammer", "medal",
    "saddle",  "necklace", "map",     "diary",    "pistol", "mirror",    "flute",  "rope",
    "candle",  "crown",    "whistle", "scarf",    "anchor", "ledger",    "sword",  "globe",
    "kettle",  "drum",     "razor",   "basket",   "ticket", "helmet"};
inline constexpr std::string_view kPlaces[] = {
    "attic",  "cellar", "garage", "barn",     "chimney", "cupboard", "drawer",  "wardrobe",
    "stove",  "pantry", "piano",  "suitcase", "oven",    "bathtub",  "fridge",  "tent",
    "coffin", "barrel", "closet", "trunk",    "mailbox", "basement", "kitchen", "wagon",
    "boat",   "tower",  "cradle", "vase",     "shed",    "library"};
inline constexpr std::string_view kBoats[] = {
    "Falcon",  "Heron",   "Otter",  "Badger",  "Raven",   "Dolphin",  "Walrus",
    "Panther", "Beaver",  "Magpie", "Cobra",   "Leopard", "Pelican",  "Salmon",
    "Lobster", "Turtle",  "Zebra",  "Gazelle", "Hornet",  "Sparrow",  "Mammoth",
    "Weasel",  "Buffalo", "Condor", "Ferret",  "Octopus", "Scorpion", "Stallion"};
// For lists: none is a beginning of another.
inline constexpr std::string_view kListWords[] = {
    "acorn",   "anvil",   "apron",    "arrow",     "autumn", "bamboo",   "banner",   "beacon",
    "blanket", "blossom", "bottle",   "bracket",   "branch", "bridge",   "bronze",   "bucket",
    "butter",  "button",  "cabin",    "camera",    "canal",  "canvas",   "carpet",   "castle",
    "ceiling", "cement",  "chalk",    "cherry",    "circle", "clay",     "cloud",    "clover",
    "coal",    "coffee",  "copper",   "coral",     "cotton", "courage",  "crystal",  "curtain",
    "desert",  "diamond", "dinner",   "dragon",    "eagle",  "engine",   "evening",  "fabric",
    "feather", "fence",   "finger",   "flame",     "flour",  "forest",   "fountain", "garden",
    "giant",   "ginger",  "glove",    "grape",     "gravel", "guitar",   "harvest",  "honey",
    "horizon", "insect",  "island",   "ivory",     "jacket", "jungle",   "kitten",   "ladder",
    "leather", "lemon",   "letter",   "lightning", "linen",  "magnet",   "marble",   "meadow",
    "melon",   "metal",   "midnight", "mirror",    "monkey", "mountain", "needle",   "nephew",
    "night",   "novel",   "oak",      "ocean",     "olive",  "onion",    "orange",   "orchard",
    "oxygen",  "paint",   "palace",   "paper",     "pearl",  "pencil",   "pepper",   "pigeon",
    "pillow",  "planet",  "plaster",  "pocket",    "poem",   "potato",   "powder",   "prince",
    "pumpkin", "rabbit",  "rainbow",  "ribbon",    "river",  "rocket",   "saddle",   "sailor",
    "salad",   "sand",    "shadow",   "shoulder",  "silver", "sister",   "smoke",    "spider",
    "spoon",   "spring",  "square",   "stone",     "storm",  "sugar",    "summer",   "temple",
    "thunder", "ticket",  "tiger",    "timber",    "tunnel", "valley",   "velvet",   "village",
    "wheat",   "window",  "winter",   "wizard",    "wool",   "yard"};

// Parts of sentences that say nothing: "When who did."
inline constexpr std::string_view kWhen[] = {"Before dawn",
                                             "After the fair",
                                             "Behind the mill",
                                             "On the first warm day",
                                             "Late in the afternoon",
                                             "At the end of the week",
                                             "In spite of the rain",
                                             "Without a word",
                                             "Every second morning",
                                             "Near the old quarry",
                                             "As soon as it was dry",
                                             "During the harvest",
                                             "On the way home",
                                             "By the light of a candle",
                                             "At the sound of the bell",
                                             "In the middle of March",
                                             "Once more",
                                             "Across the square",
                                             "With some trouble",
                                             "Early in the year",
                                             "While it was still cool",
                                             "Below the weir",
                                             "For the third time",
                                             "To everyone's surprise"};
inline constexpr std::string_view kWho[] = {"the potter",
                                            "the miller's wife",
                                            "a tired postman",
                                            "the new teacher",
                                            "the night watchman",
                                            "two of the sailors",
                                            "the oldest of the cousins",
                                            "the man from the bank",
                                            "a girl with a red hat",
                                            "the organist",
                                            "the beekeeper",
                                            "some of the neighbours",
                                            "the roofer",
                                            "a travelling salesman",
                                            "the cook",
                                            "the landlady",
                                            "the stonemason",
                                            "a boy on stilts",
                                            "the forester",
                                            "the two sisters",
                                            "the chemist",
                                            "the innkeeper",
                                            "the ferryman's son",
                                            "a visitor from the coast"};
inline constexpr std::string_view kDid[] = {"swept the yard",
                                            "counted the sheep twice",
                                            "took the long way round",
                                            "mended the pump",
                                            "sat down under the lime tree",
                                            "asked for a glass of water",
                                            "carried the benches outside",
                                            "lost a glove in the snow",
                                            "bought half a pound of butter",
                                            "forgot to shut the gate",
                                            "read the notice aloud",
                                            "planted a row of beans",
                                            "waited for the rain to stop",
                                            "hung the washing on the line",
                                            "told the same story again",
                                            "polished the brass",
                                            "let the fire go out",
                                            "walked as far as the ford",
                                            "tried on a pair of boots",
                                            "turned the hay",
                                            "fed the ducks",
                                            "whitewashed the wall",
                                            "drew a plan of the drains",
                                            "put the ladder back"};

// Whole sentences that say nothing of any fact (filler.cpp).
extern const std::span<const std::string_view> kFiller;

}  // namespace satchel::eval
