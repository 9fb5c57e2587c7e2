"""Writes tests/golden/longbench/metrics.jsonl, to standard output: what an answer is worth beside a right one under each
metric of LongBench (arXiv:2308.14508), computed apart from our code with Python's own `re`, `collections.Counter` and
`difflib.SequenceMatcher`. ROUGE-L is written down from the definition that the package `rouge` documents (union of longest common
subsequences over sentences, distinct words). Chinese goes by characters, as our metric says of itself.

    python3 tests/oracle/make_longbench_fixtures.py > tests/golden/longbench/metrics.jsonl
"""
import difflib
import json
import random
import re
import string
from collections import Counter
from functools import lru_cache

SEED = 4
CHINESE = "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏."


def bag_f1(said: list, truth: list) -> float:
    same = (Counter(said) & Counter(truth)).total()
    return 2 * same / (len(said) + len(truth)) if same else 0.0


def words(text: str) -> list:
    text = text.lower().translate(str.maketrans("", "", string.punctuation))
    return re.sub(r"\b(?:a|an|the)\b", " ", text).split()


def characters(text: str) -> list:
    return re.findall(r"[A-Za-z0-9]+|\S", text)


def chinese_words(text: str) -> list:
    gone = str.maketrans("", "", string.punctuation + CHINESE)
    return [word for word in (each.translate(gone).lower() for each in characters(text)) if word]


def subsequence(a: tuple, b: tuple) -> frozenset:
    """Words of the longest common subsequence that is found from the end; of two of a length, b is shortened first."""

    @lru_cache(maxsize=None)
    def length(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return 0
        return length(i - 1, j - 1) + 1 if a[i - 1] == b[j - 1] else max(length(i - 1, j), length(i, j - 1))

    found, i, j = set(), len(a), len(b)
    while i and j:
        if a[i - 1] == b[j - 1]:
            found.add(a[i - 1])
            i, j = i - 1, j - 1
        elif length(i - 1, j) > length(i, j - 1):
            i -= 1
        else:
            j -= 1
    return frozenset(found)


def rouge_l(said: str, truth: str) -> float:
    cut = [[tuple(" ".join(part.split()).split(" ")) for part in text.split(".") if part] for text in (said, truth)]
    if not cut[0] or not cut[1]:
        return 0.0
    common = frozenset().union(*(subsequence(right, each) for right in cut[1] for each in cut[0]))
    precision, recall = (len(common) / len({word for sentence in text for word in sentence}) for text in cut)
    return 2 * precision * recall / (precision + recall + 1e-8)


def classification(said: str, truth: str, classes: list) -> float:
    named = [name for name in classes if name in said]
    i = 0
    while i < len(named):
        name = named[i]
        if name in truth and name != truth:
            named.pop(named.index(name))
        i += 1
    return 1 / len(named) if truth in named else 0.0


def numbers(said: str, right: str) -> float:
    found = re.findall(r"[0-9]+", said)
    return found.count(right) / len(found) if found else 0.0


def code(said: str, truth: str) -> float:
    lines = [line for line in said.lstrip("\n").split("\n") if not re.search("`|#|//", line)]
    line = lines[0] if lines else ""
    if line == truth:
        return 1.0
    return round(100 * difflib.SequenceMatcher(None, line, truth).ratio()) / 100 if line and truth else 0.0


METRICS = {
    "f1": lambda said, truth: bag_f1(words(said), words(truth)),
    "f1_chinese": lambda said, truth: bag_f1(chinese_words(said), chinese_words(truth)),
    "rouge_l": rouge_l,
    "rouge_l_chinese": lambda said, truth: rouge_l(" ".join(characters(said)), " ".join(characters(truth))),
    "count": numbers,
    "retrieval": lambda said, truth: numbers(said, re.findall(r"Paragraph ([0-9]+)", truth)[0]),
    "retrieval_chinese": lambda said, truth: numbers(said, re.findall("段落([0-9]+)", truth)[0]),
    "code_similarity": code,
}
CASES = {
    "f1": [
        ("The ferry, at noon.", "a ferry at noon"), ("", "a ferry"), ("the", "a"), ("The “An” theatre", "an theatre"),
        ("Zürich ÉTÉ", "zürich été"), ("state-of-the-art", "state of the art"), ("to be or not to be", "not to be"),
        ("a-b a b\u00a0c the\u2014end", "b c end"), ("1,200 boats", "1200 boats"), ("МОСТ закрыт", "мост закрыт"),
    ],
    "f1_chinese": [
        ("渡轮在正午出发。", "渡轮于正午出发"), ("", "渡轮"), ("使用 Python3 编写，很快", "用python3编写"), ("“灯塔”", "灯塔"), ("一二三", "四五六"),
    ],
    "rouge_l": [
        ("The ferry left at noon. It came back late.", "The ferry came back late. It had left at noon."),
        ("", "A sentence."), ("...", "A sentence."), ("one two. . three", "one two three"),
        ("the cat the cat the cat", "the cat sat on the mat"), ("a b c d", "d c b a"), ("w1 w2 w6 w7 w8. w1 w3 w8 w9 w5", "w1 w2 w3 w4 w5"),
        ("The price was 3.5 million.\nNobody paid it", "Nobody paid the price of 3.5 million."), ("x", "y"),
    ],
    "rouge_l_chinese": [
        ("会议决定推迟开幕。", "会议决定将开幕推迟到五月。"), ("", "会议"), ("版本 2.5 已发布", "已发布2.5版本"),
    ],
    "count": [("17", "17"), ("There are 17, no, 16", "17"), ("seventeen", "17"), ("1, 2, 3 and 3", "3"), ("017", "17")],
    "retrieval": [
        ("Paragraph 12", "Paragraph 12"), ("12 or 13", "Paragraph 12"), ("Paragraph 1", "Paragraph 12"), ("none", "Paragraph 3"),
    ],
    "retrieval_chinese": [("段落7", "段落7"), ("第7段和第8段", "段落7"), ("七", "段落7")],
    "code_similarity": [
        ("\n\n    return self.name\n    pass", "    return self.name"), ("# a comment\n// another\nx = 1", "x = 2"), ("", "x"), ("```\n# y", "y"),
        ("for i in range(10):", "for index in range(len(items)):"), ("private static final int A=1;", "public final static int B = 2;"),
        ("abc", "cba"), ("aab", "aba"), ("x" * 250 + "yz", "zy" + "x" * 250), ("ab", "b" * 7 + "a"),
    ],
}
CLASSES = ["Food", "Food and drink", "Place", "Other place", "Person", "Number of people"]
CLASSIFIED = [
    ("Food", "Food"), ("Food and drink", "Food and drink"), ("Other place", "Other place"), ("Place", "Other place"),
    ("Person, Place", "Person"), ("nothing", "Food"), ("Food and drink, Place, Other place", "Other place"), ("person", "Person"),
    ("Food and drink", "Food"),
]


def random_cases(rng: random.Random) -> list:
    """Longer ones, by lot, where ties and repetitions are many."""
    lines = []
    for _ in range(12):
        text = [" ".join(rng.choice(["a", "boat", "left", "the", "pier", "pier.", "noon,", "left."]) for _ in range(rng.randrange(5, 40)))
                for _ in range(2)]
        lines += [("f1", *text), ("rouge_l", *text)]
        line = ["".join(rng.choice("abcx_=() ") for _ in range(rng.randrange(10, 320))) for _ in range(2)]
        lines.append(("code_similarity", *line))
        # Mostly the same: a line of code with a few changes.
        changed = "".join(c for c in line[0] if rng.random() > 0.15)
        lines.append(("code_similarity", changed, line[0]))
    return lines


def main() -> None:
    cases = [(metric, said, truth) for metric, pairs in CASES.items() for said, truth in pairs]
    for metric, said, truth in cases + random_cases(random.Random(SEED)):
        print(json.dumps({"metric": metric, "said": said, "truth": truth, "score": METRICS[metric](said, truth)}, ensure_ascii=False))
    for classes in (CLASSES, CLASSES[::-1]):
        for said, truth in CLASSIFIED:
            score = classification(said, truth, classes)
            print(json.dumps({"metric": "classification", "said": said, "truth": truth, "classes": classes, "score": score}))


if __name__ == "__main__":
    main()
