"""The words of the notes world. Names come in two disjoint lists: the held-out ones are never shown in training.

Made-up names (`made_up`) have no end, so a model can't learn them by heart and has to copy them from the notes.
"""

import random
from typing import Sequence

FIRST = (
    "Mira Anton Ines Jonas Petra Tomas Lena Oskar Nadia Felix Clara Hugo Rosa Emil Greta Ivan "
    "Sofia Marek Alma Bruno Dora Leon Vera Niko Elsa Pavel Tilda Arno Olga Samir Yara Dario Freya "
    "Milan Hana Boris Livia Karim Zoe Rafael Agnes Theo Nora Viktor Selma Omar Judit Luca Wanda "
    "Kasper Amira Benno Celia Damir Edith Fabio Gita Harald Irma Jakob Katja Lorenz Magda Nils "
    "Ottilie Pablo Renata Simon Tamara Ulrich Valerie Willem Yusuf Zita Adrian Bianca Conrad Daria "
    "Erik Flora Georg Hedda Isak Jolanda Klaus Ludmila Mateo Naomi Orson Pia Rolf Sanna Tobias "
    "Undine Vito Wilma Xenia Yannick Zelda Aron Britta Carlo Doris"
).split()
LAST = (
    "Solano Bergman Kovac Lindholm Marchetti Duarte Novak Fischer Abara Castell Hendry Okafor "
    "Petrov Salgado Weiss Yilmaz Moreau Tanaka Brandt Ferreira Holm Ivanov Jansen Keller Larsen "
    "Mendes Nilsen Orlov Pinto Quist Rossi Sato Torres Ueda Varga Winter Xavier Young Zeller Aalto "
    "Becker Conti Dumont Egger Falk Gruber Hansen Ito Jung Kramer Lopez Maier Nguyen Ortega Popov "
    "Quiroga Ritter Silva Tomic Urban Vogel Wagner Yamada Ziegler Andersen Bauer Costa Dietrich "
    "Engel Fabre Garcia Huber Ilic Jensen Koch Lang Molnar Neumann Olsen Peeters Ramos Schmid Toth "
    "Ullrich Vidal Wolf Zimmer Almeida Blanc Cruz Diaz Eklund Fuchs Gomez Horvat"
).split()
FIRST_HELD_OUT = (
    "Ada Bela Cyrus Delia Edgar Fiona Gilles Helga Igor Jana Kurt Linnea Matteo Nina Otto Paula "
    "Quentin Rita Stefan Thea Ursula Vincent Walter Yvonne Zoltan Astrid Bastian Corinna Dennis "
    "Estelle"
).split()
LAST_HELD_OUT = (
    "Ashford Baranov Cortez Dahl Eriksen Fontaine Grau Halvorsen Ibarra Jokinen Krause Leroux "
    "Mancini Nowak Oliveira Palmer Reuter Sandoval Thorsen Unger Vasquez Whitaker Yardley Zanetti "
    "Amundsen Brunner Carvalho Delgado Esposito Forster"
).split()
HELD_OUT = frozenset(FIRST_HELD_OUT + LAST_HELD_OUT)

CITIES = (
    "Lisbon Oslo Vienna Porto Krakow Turin Bergen Malmo Seville Ghent Dublin Prague Athens Riga "
    "Zagreb Basel Tallinn Bilbao Leipzig Nantes Verona Tampere Gdansk Split Cork Utrecht Aarhus "
    "Graz Lyon Malaga"
).split()
JOBS = (
    "baker surgeon pilot gardener lawyer painter carpenter teacher sailor chemist tailor librarian "
    "mechanic photographer translator banker plumber violinist farmer nurse potter brewer judge "
    "miller barber cook diver tanner"
).split()
PETS = (
    "parrot tortoise greyhound rabbit ferret goldfish hedgehog pony beagle hamster goat canary "
    "lizard kitten duck raven"
).split()
DISHES = (
    "lentil soup|plum cake|grilled trout|mushroom pie|rice pudding|pickled beets|onion tart|"
    "roast duck|fig jam|barley stew|apple strudel|chestnut bread|pea soup|cherry pie|smoked eel|"
    "potato salad"
).split("|")
INSTRUMENTS = "cello flute harp accordion trumpet banjo oboe clarinet mandolin drum viola guitar zither bagpipe".split()
COLOURS = "amber crimson teal violet ivory olive scarlet navy beige indigo silver maroon".split()
THINGS = (
    "brass key|old map|desk lamp|red ledger|spare fuse|glass jar|sewing kit|field radio|"
    "copper kettle|leather case|tin box|paper fan|iron hook|wool blanket|stone seal|small compass|"
    "blue folder|wooden spoon|first aid kit|rope ladder"
).split("|")
PLACES = (
    "cellar|attic|north shed|greenhouse|boat house|library|workshop|pantry|bell tower|guest room|"
    "stable|kitchen drawer|garage|hallway closet|reading room|mill|chapel|garden hut|laundry|"
    "observatory"
).split("|")
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = (
    "January February March April May June July August September October November December".split()
)
GOODS = (
    "rope|nails|flour|candles|salt|ink|soap|wire|honey|paper|glue|seeds|chalk|butter|coal|thread|"
    "matches|vinegar|tea|wax|hinges|apples|string|sugar"
).split("|")
COUNTS = {2: "two", 3: "three", 4: "four"}

# Quotes are put together from a beginning and an end, so that there are many more than anyone learns by heart.
QUOTE_BEGINNINGS = (
    "the roof|the bridge|my brother|the doctor|the old boat|this winter|our neighbour|"
    "the second door|the mayor|the baker's son|that road|the new clock|the harbour|her letter|"
    "the well|the last bus"
).split("|")
QUOTE_ENDS = (
    "is not to be trusted|will be late again|needs new paint|was here before us|"
    "came back in the night|costs too much|makes me smile|is better than last year|"
    "should be left alone|has seen worse days|never stays for long|is what we waited for|"
    "looks smaller every day|must be mended soon|will not wait|was a gift"
).split("|")

FILLERS = (
    "The wind picked up again after noon.|A thin fog lay over the fields until ten.|"
    "We walked as far as the bridge and turned back.|Nothing else happened before supper.|"
    "The road was still wet from the rain.|Someone had left the gate open.|"
    "The market was busy and loud.|It took an hour to dry the boots.|"
    "The cat slept on the warm stones.|There was talk of snow in the hills.|"
    "The train passed a little late.|We had tea and said very little.|"
    "The lamp flickered twice and then stayed on.|A boat came in with the evening tide.|"
    "The children sang on the steps.|The bells rang at six as always.|"
    "The garden needs more work this week.|A letter arrived but it was for the neighbours.|"
    "The stove was slow to heat.|Clouds came and went all day.|"
    "The bread was better than yesterday.|We counted the crates and wrote nothing down.|"
    "The dog barked at the post cart.|The old clock has stopped again.|It was quiet in the square.|"
    "The river is high for this season.|They painted the fence on the west side.|"
    "The path to the mill is clear now.|A crow sat on the wall for an hour.|"
    "The window was mended at last."
).split("|")
FILLERS_HELD_OUT = (
    "A grey horse stood at the corner of the yard.|The post came twice on the same morning.|"
    "Smoke hung above the roofs until dusk.|We heard music from the other bank.|"
    "The ladder was one step too short.|Two of the lanterns went out in the storm.|"
    "Nobody wanted to carry the heavy basket.|The frost was gone before breakfast."
).split("|")

# Small talk: short, and the same in every conversation. (what the user says, what the assistant says)
GREETING = "Hello! Give me some notes and ask me about them."
SMALL_TALK = [
    ("Hello!", GREETING),
    ("Hello", GREETING),
    ("Hi.", GREETING),
    ("Hi!", GREETING),
    ("hello", GREETING),
    ("hi", GREETING),
    ("Good morning.", GREETING),
    ("Good evening.", GREETING),
    ("Who are you?", "I am a small notes assistant. I remember what you tell me."),
    ("What are you?", "I am a small notes assistant. I remember what you tell me."),
    ("What can you do?", "I read notes and answer questions about them."),
    ("Help", "I read notes and answer questions about them."),
    ("Can you help me?", "I read notes and answer questions about them."),
    ("Thank you.", "You are welcome."),
    ("Thanks!", "You are welcome."),
    ("Thanks", "You are welcome."),
    ("Thank you!", "You are welcome."),
    ("How are you?", "I am well. Ask me about the notes."),
    ("Good.", "I am glad."),
    ("Well done.", "Thank you."),
    ("Goodbye.", "Goodbye!"),
    ("Bye!", "Goodbye!"),
    ("Good night.", "Good night!"),
    ("OK.", "Ask me about the notes."),
    ("Okay", "Ask me about the notes."),
    ("Let me think.", "Take your time."),
]

ONSETS = "b br c d dr f g gr h j k kl l m n p r s sh st t tr v w y z".split() + ["", ""]
VOWELS = "a a a e e e i i o o u ai ea ia ou".split()
CODAS = ["", "", "", "n", "r", "l", "s", "t", "m", "nd", "rt", "ck", "ll"]
ENDINGS = "a a e i o us el en er in is on ina ette ard ford sen berg ov ez ti ta ne".split()


def syllable(rng: random.Random) -> str:
    return rng.choice(ONSETS) + rng.choice(VOWELS) + rng.choice(CODAS)


def splice(rng: random.Random) -> str:
    """The beginning of one listed name and the end of another."""
    begin, end = rng.choice(FIRST + LAST), rng.choice(FIRST + LAST)
    return (
        begin[: rng.randrange(2, min(6, len(begin)))] + end[-rng.randrange(2, min(6, len(end))) :]
    )


def made_up(rng: random.Random, fragments: Sequence[str] = ()) -> str:
    """A name that is in no held-out list: syllables, two listed names joined, or two fragments, where there are any."""
    x = rng.random()
    if fragments and x < 0.35:
        name = (rng.choice(fragments) + rng.choice(fragments)).capitalize()
    elif x < 0.65:
        name = splice(rng)
    else:
        name = syllable(rng) + (rng.choice(ENDINGS) if rng.random() < 0.6 else syllable(rng))
        name = (name + rng.choice(ENDINGS) if rng.random() < 0.1 else name).capitalize()
    return made_up(rng, fragments) if name in HELD_OUT else name
