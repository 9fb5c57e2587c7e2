#!/usr/bin/env python3
"""What plot_pareto.py draws is a well-formed picture with a mark for every point."""
import unittest
import xml.etree.ElementTree as xml

import plot_pareto

SVG = "{http://www.w3.org/2000/svg}"


def point(recipe, share, value, task="recall", se=0.02):
    return {"task": task, "measure": "m", "recipe": recipe, "keep": 0.5, "kv_share": share,
            "body_share": share, "value": value, "se": se, "front": True}


def sweep(points, of_body=False, model="m"):
    tasks = dict.fromkeys(p["task"] for p in points)
    panels = [{"task": task, "measure": "m", "label": "right", "is_share": task == "recall"}
              for task in tasks]
    return {"model": model, "keeps": [0.5, 0.25], "of_body": of_body, "panels": panels,
            "points": points}


def drawn(*args, **how):
    return xml.fromstring(plot_pareto.picture(sweep(*args, **how)))


def marks(root):
    return [path for path in root.iter(SVG + "path")]


class Picture(unittest.TestCase):
    def test_has_a_mark_for_every_point_and_recipe(self):
        points = [point("full", 1, 1), point("a<b", 0.5, 0.5), point("a<b", 0.25, 0.25),
                  point("full", 1, 0, "agreement"), point("a<b", 0.2, 0.8, "agreement")]
        text = plot_pareto.picture(sweep(points, model='a "model" <1> & more'))
        root = xml.fromstring(text)
        self.assertEqual(len(marks(root)), 5 + 2)
        self.assertEqual(root.find(SVG + "title").text, 'a "model" <1> & more: bytes against quality')
        for wrong in ("nan", "inf"):
            self.assertNotIn(wrong, text)

    def test_shows_what_saves_nothing_of_the_body_as_a_line_across(self):
        points = [point("exact", 1, 1), point("small", 0.05, 0.5)]
        as_line = drawn(points, of_body=True)
        self.assertEqual(len(marks(as_line)), len(marks(drawn(points))) - 2)
        words = [text.text for text in as_line.iter(SVG + "text")]
        self.assertEqual(words.count("exact"), 1)

    def test_of_nothing_is_a_picture(self):
        drawn([])


class Ticks(unittest.TestCase):
    def test_are_round_and_reach_around_the_values(self):
        linear = plot_pareto.Axis([0.22, 0.91], True, True, 1)
        self.assertFalse(linear.log)  # 0.91 / 0.22 is not far enough
        self.assertEqual([linear.ticks[0][1], linear.ticks[-1][1]], ["0 %", "100 %"])
        self.assertTrue(all(0 < linear.at(value) < 1 for value in (0.22, 0.91)))
        log = plot_pareto.Axis([0.0004, 0.2], False, True)
        self.assertTrue(log.log)
        self.assertAlmostEqual(log.at(0.02) - log.at(0.002), log.at(0.2) - log.at(0.02))
        self.assertEqual(log.ticks[0][1], "0.001")

    def test_of_one_value_or_none_still_give_a_range(self):
        for values in ([], [0.7], [0.0], [1.0]):
            axis = plot_pareto.Axis(values, False, False, 1)
            self.assertGreater(axis.high, axis.low)
            self.assertGreaterEqual(len(axis.ticks), 2)
            self.assertTrue(all(0 <= axis.at(value) <= 1 for value in values))


if __name__ == "__main__":
    unittest.main()
