"""Writes app/cli/demo_notes.h, to standard output, and its notes to docs/samples/notes.txt: the conversation of the long set
of models/notes-heldout.jsonl that is answered best in a run of `satchel eval`, whatever the recipe. Says so where it is not
right throughout: the demo's test wants it to be.

    python3 tests/oracle/make_demo_notes.py --twice > twice.jsonl       # the demo asks everything again after the restart
    satchel eval recall twice.jsonl --sets names-1024 --recipes full,compact --answers answers.jsonl
    python3 tests/oracle/make_demo_notes.py answers.jsonl > app/cli/demo_notes.h
"""
import collections
import json
import pathlib
import sys
import textwrap

from bundled import HELD_OUT, LONG_SET, ROOT, conversations

HEAD = """\
// The notes and questions of `satchel demo`: conversation {number} (from 0) of
// {file}, with names that training never showed. It is one that the bundled
// model answers rightly with the exact cache, as a demonstration needs; how often it is right in
// general is what `satchel eval recall` measures. Made by tests/oracle/make_demo_notes.py.
#pragma once

#include <string_view>

namespace satchel::app {{

inline constexpr std::string_view kDemoRecipe = "compact";

inline constexpr std::string_view kDemoNotes =
{notes};

struct DemoQuestion {{
  std::string_view question;
  std::string_view value;  // what a right answer contains
}};
inline constexpr DemoQuestion kDemoQuestions[] = {{
{questions}
}};

}}  // namespace satchel::app"""


def literal(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def best(answers: pathlib.Path) -> int:
    wrong = collections.Counter()
    for line in answers.read_text().splitlines():
        each = json.loads(line)
        if each["set"] == LONG_SET:
            wrong[int(each["item"])] += not each["right"]
    number = min(wrong, key=lambda n: (wrong[n], n))
    if wrong[number]:
        print(f"conversation {number} is the best and has {wrong[number]} wrong answers", file=sys.stderr)
    return number


def paragraphs(notes: str) -> str:
    rows = []
    for paragraph in notes.split("\n"):
        lines = textwrap.wrap(paragraph, 84, break_on_hyphens=False)
        rows += [line + " " for line in lines[:-1]] + [lines[-1] + "\n"]
    rows[-1] = rows[-1][:-1]
    return "\n".join("    " + literal(row) for row in rows)


def print_asked_twice() -> None:
    for each in conversations():
        print(json.dumps({**each, "exchanges": each["exchanges"] * 2}))


def main() -> None:
    if sys.argv[1] == "--twice":
        return print_asked_twice()
    number = best(pathlib.Path(sys.argv[1]))
    chosen = conversations()[number]
    (ROOT / "docs/samples/notes.txt").write_text(chosen["notes"])
    asked = [each for each in chosen["exchanges"] if "ask" in each]
    questions = [f"    {{{literal(each['ask'])}, {literal(each['value'])}}}," for each in asked]
    print(HEAD.format(number=number, file=HELD_OUT.relative_to(ROOT), notes=paragraphs(chosen["notes"]),
                      questions="\n".join(questions)))


if __name__ == "__main__":
    main()
