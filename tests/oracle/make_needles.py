"""Writes docs/samples/needles.jsonl, to standard output: contexts of ordinary sentences with people's full names among them,
and for each name the beginning of a sentence that only the context can end. For `satchel eval needle`, with any model:
raw text, no chat format.

    python3 tests/oracle/make_needles.py > docs/samples/needles.jsonl

No first or last name comes twice in a context, none stands in the filler, and who is called what is drawn by lot, so that
no name can be told from another. The same seed gives the same bytes.
"""
import json
import random

SEED = 8
N_CONTEXTS = 11
N_NEEDLES = 8  # of a context; each is asked for
N_FILLERS = 75  # of a context, which has about 1,330 tokens with them (SmolLM2's tokenizer)

# Names that every tokenizer for English has few pieces for, no pair of them known together.
FIRST = (
    "Abel Alice Amos Anna Arthur Barbara Basil Carl Caroline Cecil Charlotte Cora Daniel Diana Donald Edwin Eleanor Ellen "
    "Elliot Emma Ernest Felicia Flora Francis Gerald Gloria Grace Gordon Harriet Harvey Hazel Herbert Howard Ivy Jasper Joan "
    "Judith Julian Kenneth Laura Leonard Lucy Mabel Marion Martin Mildred Miles Nathan Neville Norma Oliver Patrick Penelope "
    "Percy Philip Ralph Raymond Rosalind Rupert Sarah Sidney Stella Stephen Susan Sylvia Trevor Vera Vernon Victor Winifred"
).split()
LAST = (
    "Adler Ainsworth Archer Atwood Baldwin Barlow Beckett Bingham Blackwell Brennan Brewster Burnham Calloway Cartwright "
    "Chapman Colby Crawford Crosby Dalton Denham Dexter Drummond Eastman Ellison Farrell Fenwick Fletcher Gardner Garrison "
    "Gilmore Goddard Granger Hadley Hammond Harding Hastings Holbrook Holloway Hopkins Ingram Jarvis Kendall Kirby Lambert "
    "Langley Lockwood Lowell Maddox Mallory Marlow Maxwell Mercer Merritt Morland Norris Norwood Osborne Paxton Pickering "
    "Prescott Quigley Radcliffe Ramsey Redmond Rowland Sanford Sawyer Shelton Sheridan Sinclair Stafford Stanton Sutton "
    "Talbot Thornton Tucker Turnbull Underwood Vaughan Wakefield Waller Webster Whitman Winslow Woodward Wyatt Yates"
).split()

NEEDLES = (
    "A man called {name} came to the door.",
    "A woman called {name} came to the door.",
)
MEN = frozenset(
    "Abel Amos Arthur Basil Carl Cecil Daniel Donald Edwin Elliot Ernest Francis Gerald Gordon Harvey Herbert Howard Jasper "
    "Julian Kenneth Leonard Martin Miles Nathan Neville Oliver Patrick Percy Philip Ralph Raymond Rupert Sidney Stephen Trevor "
    "Vernon Victor".split()
)
QUESTION = "\n\nThe full name of {first} is {first}"

FILLER = """\
The kettle was put on the stove and forgotten until the lid began to rattle.
Rain had fallen since noon, and the gutters along the street were full.
On the far bank two boys were trying to push an old raft into the current.
The bread came out of the oven a little too dark, but nobody complained.
A cart with a broken wheel had been standing by the church for three days.
The newspaper said that the bridge would be closed until the end of the month.
Somebody had left a bicycle against the fence, and its bell was missing.
The apples from the upper orchard are small, but they keep until spring.
In the evening the lamps were lit one after another, from the square down to the river.
The carpenter measured the shelf twice and then cut it too short all the same.
There was a smell of wet wool in the hall, and of oranges.
The train from the coast was late again, as it had been every Friday that winter.
Nobody could say who had planted the walnut tree behind the school.
The cat slept on the windowsill with one paw over its nose.
A parcel lay on the table, tied with so much string that it looked like a ball.
The well in the yard is deep, and a stone needs a long time to reach the water.
Half of the chairs had been lent to the choir and had never come back.
The clock in the hall was four minutes fast, and everyone had grown used to it.
At low tide one could walk to the island and be home before dinner.
The wind turned to the north in the night and took the last leaves with it.
Three letters had come for the old tenant, and all three were bills.
The market was busy, and the price of eggs had gone up once more.
A dog barked somewhere beyond the mill and was answered by another.
The path goes along the wall, through a gate, and then straight up the hill.
She had bought blue paint for the shutters, and it dried to a dull green.
The children were told to be quiet, which made them laugh all the more.
It was too warm for the season, and the roses by the gate had begun to open.
Under the stairs there was a box of keys that fitted no lock in the house.
The soup needed salt, a little pepper, and another hour on the fire.
From the tower one sees the lake on a clear day, and the mountains on a very clear one.
The library had a new roof, but the rain still found its way to the maps.
They sat on the steps and shelled peas into a bowl until it was dark.
The road was closed for repairs, so the bus went round by the quarry.
A long crack ran across the ceiling, in the shape of a river with two arms.
The ferry carries twelve cars, or nine when one of them is a hay wagon.
Every drawer of the desk was locked except for the one that was empty.
The snow had melted on the south side of the roofs and lay deep on the north side.
An old song was playing in the next room, very softly, and then it stopped.
The gardener burned the dry branches, and the smoke hung over the field all afternoon.
The museum was free on Tuesdays, and on Tuesdays it was always full.
The ladder was one rung shorter than it had been the year before.
He wrote the number on the back of his hand and washed it off by mistake.
The tea had gone cold, so they drank the lemonade instead.
The first swallows were seen over the harbour on the tenth of April.
The shop at the corner sells thread, candles, mousetraps and very good cheese.
The roof of the barn had been mended with tin from an old sign.
There were seven steps down to the cellar, and the fifth of them was loose.
It took four people to carry the mirror, and one more to hold the doors.
A kite had caught in the poplar and stayed there until the paper was white.
The river was so low that the posts of the old landing stage could be seen.
Breakfast was at eight, and whoever came later had to make do with toast.
The piano had not been tuned for years, but the low notes were still fine.
At the end of the lane stands a house with no windows on the street.
The coat was warm, though it had been made for somebody much taller.
The teacher drew a map of the valley on the board and left out the railway.
The honey from the heath is darker than the honey from the lime trees.
The lift was out of order, and so the tables were carried up by hand.
On market days the square is full of barrows, and on Sundays it belongs to the pigeons.
They painted the boat in May, and by August the sun had bleached it.
The doctor came at six, drank a cup of coffee, and said that it was only a cold.
The hedge had grown so high that the garden was in shade by three o'clock.
A basket of mushrooms stood by the sink, still full of earth and pine needles.
The last tram leaves at midnight, and the driver always waits a minute longer.
The stone over the gate bears a date that nobody has been able to read.
The wood was stacked along the wall of the shed, oak on the left and birch on the right.
The telephone rang twice in the afternoon, and twice there was nobody there.
The town has two bakers, and most families are loyal to one of them.
A flock of geese went over very high, on the way to the marshes.
There was enough flour for one more cake, but no sugar to go with it.
The curtains had been taken down to be washed, and the room looked larger.
A frog lives in the watering can, so it has to be emptied with care.
The post office closes at noon on Saturdays and does not open before Monday.
Sand had blown across the tracks, and two men were clearing it with shovels.
The tailor keeps his pins in a tin that once held cough drops.
It had been agreed to paint the fence, but not in which colour.
The fog did not lift before ten, and then the whole bay was blue.
The mill has not worked since the flood, but its wheel is greased each spring.
The cups hang on hooks by the window in the order of their size.
The concert was moved to the gymnasium, where every chair creaks.
The lock of the boathouse rusts, and the key must be warmed in the hand first.
An umbrella was left on the bench, black, with a handle like a duck's head.
The hens had found a hole in the wire and were walking in the road.
The report was forty pages long, and the only picture in it was upside down.
The barber talks about fishing, and the fishmonger talks about hair.
The stairs had been swept that morning, and there was already sand on them.
The bell of the school is older than the school by a hundred years.
The plums were ripe all at once, and for a week there was nothing but plums.
The wallpaper had been chosen by the landlord, who did not have to look at it.
Behind the station there is a garden where the guards grow beans.
The soap was shaped like a shell and smelled of nothing in particular.
The engine started at the third attempt, coughed, and ran as well as ever.
A new sign was put up at the crossroads, pointing the wrong way.
The blankets were aired on the balcony whenever the sun came out.
The ice on the pond was thick enough for skating by the second week of January.
The hotel had been a brewery, and in damp weather one could smell it.
The last of the coal was used in March, a week before the thaw.
The moon rose behind the gasworks and made them look almost handsome.
The bus was nearly empty, and the driver sang.
The chess players in the park do not look up when it begins to rain.
The jam had not set, so they called it sauce and ate it with rice.
The bookshop gives a sweet to every child that buys an atlas.
There is a draught in the kitchen that no carpenter has been able to find.
The old quarry is full of water now, and the water is as green as glass.
The school play had eleven kings in it and no queen.
The butcher was on holiday, and a note on his door wished everybody patience.
A barrel of rainwater stands at each corner of the greenhouse.
The swans come to the bridge at five, because at five the cook throws out the crusts.
The meeting was long, and what it decided was to meet again.
The spare room is full of boxes, and the boxes are full of newspapers.
The wall of the orchard faces south, and the pears along it are the best.
""".splitlines()


def context(rng: random.Random) -> dict:
    firsts, lasts = rng.sample(FIRST, N_NEEDLES), rng.sample(LAST, N_NEEDLES)
    sentences = rng.sample(FILLER, N_FILLERS)
    # In order, each at a place of its own share of the text, never at its very end.
    for i, (first, last) in reversed(list(enumerate(zip(firsts, lasts)))):
        needle = NEEDLES[0 if first in MEN else 1].format(name=f"{first} {last}")
        sentences.insert(rng.randrange(i * N_FILLERS // N_NEEDLES, (i + 1) * N_FILLERS // N_NEEDLES), needle)
    questions = [{"ask": QUESTION.format(first=first), "value": last} for first, last in zip(firsts, lasts)]
    rng.shuffle(questions)
    return {"context": " ".join(sentences), "questions": questions}


def main() -> None:
    filler = " ".join(FILLER)
    assert len(set(FILLER)) == len(FILLER) and not [name for name in FIRST + LAST if name in filler.split()]
    assert len(set(FIRST)) == len(FIRST) and len(set(LAST)) == len(LAST) and not set(FIRST) & set(LAST)
    assert MEN <= set(FIRST)
    rng = random.Random(SEED)
    for _ in range(N_CONTEXTS):
        print(json.dumps(context(rng)))


if __name__ == "__main__":
    main()
