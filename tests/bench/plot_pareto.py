#!/usr/bin/env python3
"""Draws `satchel eval pareto --json` as SVG: bytes against quality, a panel for each measure, a line for
each recipe, error bars of one standard error, the Pareto front behind them.

    satchel eval pareto --json > sweep.json
    tests/bench/plot_pareto.py sweep.json pareto.svg

Colours are for the colour-blind (Okabe & Ito); marks and dashes tell recipes apart without any.
"""
import json
import math
import sys
from xml.sax.saxutils import escape

PANEL = (430, 300)  # the frame, without labels
LEFT, TOP, BOTTOM, GAP = 84, 34, 62, 36
HEAD, MARGIN, LEGEND_LINE, LEGEND_MARK, COLUMNS = 74, 24, 22, 34, 2
LOG_FROM = 6  # chosen: below it a logarithmic axis has hardly a tick
NOTHING_SAVED = 0.99  # of the body's bytes: such a recipe is what the others are measured by

COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9", "#7A5C00"]
DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 2"]
# Paths; 1 is the rim. Nine, so that with eight colours no two of the first 72 recipes are drawn alike.
MARKS = ["M-1 0 A1 1 0 1 1 1 0 A1 1 0 1 1 -1 0 Z", "M-.9 -.9 L.9 -.9 L.9 .9 L-.9 .9 Z",
         "M0 -1.15 L1.1 .85 L-1.1 .85 Z", "M0 -1.25 L1.25 0 L0 1.25 L-1.25 0 Z",
         "M0 1.15 L1.1 -.85 L-1.1 -.85 Z", "M0 -1.2 L1.15 -.35 L.7 1 L-.7 1 L-1.15 -.35 Z",
         "M-1 -1 L1 1 M-1 1 L1 -1", "M0 -1.2 L0 1.2 M-1.2 0 L1.2 0",
         "M0 -1.2 L0 1.2 M-1.05 -.6 L1.05 .6 M-1.05 .6 L1.05 -.6"]


def percent(share):
    value = 100 * share
    return f"{value:.{0 if abs(value - round(value)) < 0.05 else 1}f} %"


def short(value):
    """Three digits that are not leading zeros."""
    if value == 0:
        return "0"
    digits = 0 if abs(value) >= 100 else min(6, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{digits}f}"


def no_end_zeros(value):
    text = short(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


class Svg:
    def __init__(self, width, height, title):
        font = "Helvetica, Arial, 'DejaVu Sans', sans-serif"
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.1f}" '
                      f'height="{height:.1f}" viewBox="0 0 {width:.1f} {height:.1f}" '
                      f'font-family="{font}">', f"<title>{escape(title)}</title>"]
        self.rect((0, 0), (width, height), 'fill="#ffffff"')

    def line(self, a, b, style):
        self.parts.append(f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}" '
                          f"{style}/>")

    def polyline(self, points, style):
        places = "".join(f"{x:.1f},{y:.1f} " for x, y in points)
        self.parts.append(f'<polyline points="{places}" fill="none" {style}/>')

    def rect(self, at, size, style):
        self.parts.append(f'<rect x="{at[0]:.1f}" y="{at[1]:.1f}" width="{size[0]:.1f}" '
                          f'height="{size[1]:.1f}" {style}/>')

    def text(self, at, words, style):
        self.parts.append(f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" {style}>{escape(words)}</text>')

    def mark(self, series, at, fill, tooltip):
        self.parts.append(
            f'<path d="{MARKS[series % len(MARKS)]}" transform="translate({at[0]:.1f} {at[1]:.1f}) '
            f'scale(4.5)" {stroke(series)} stroke-width="0.45" fill="{fill}">'
            f"<title>{escape(tooltip)}</title></path>")

    def finish(self):
        return "\n".join(self.parts + ["</svg>", ""])


def stroke(series):
    return f'stroke="{COLOURS[series % len(COLOURS)]}"'


def dashed(series):
    return f'{stroke(series)} stroke-width="1.8" stroke-dasharray="{DASHES[series % len(DASHES)]}"'


class Axis:
    """Which range is shown, linear or logarithmic, and where its ticks stand."""

    def __init__(self, values, in_percent, may_be_log, ceiling=math.inf):
        self.low, self.high = (min(values), max(values)) if values else (0, 1)
        self.log = may_be_log and self.low > 0 and self.high > LOG_FROM * self.low
        places = self._log_ticks() if self.log else self._linear_ticks(ceiling)
        self.ticks = [(x, percent(x) if in_percent else no_end_zeros(x)) for x in places]

    def _log_ticks(self):
        self.low, self.high = self.low / 1.15, self.high * 1.15
        factors = (1,) if self.high > 300 * self.low else (1, 2, 5)
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        return [f * 10.0**p for p in powers for f in factors if self.low <= f * 10.0**p <= self.high]

    def _linear_ticks(self, ceiling):
        span = self.high - self.low if self.high > self.low else max(abs(self.high) / 10, 0.1)
        self.low = max(0, self.low - 0.06 * span)
        self.high = min(ceiling, self.high + 0.06 * span)
        if self.high <= self.low:
            self.low = self.high - span
        raw = (self.high - self.low) / 5  # a round step, so that about five cover the range
        power = 10.0 ** math.floor(math.log10(raw))
        step = next((f * power for f in (1, 2, 2.5, 5) if raw <= f * power), 10 * power)
        # Whole steps, so that the ends are ticks, and a margin, so that marks on them are seen whole.
        self.low = max(0, math.floor(self.low / step + 1e-9) * step)
        self.high = min(ceiling, math.ceil(self.high / step - 1e-9) * step)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        margin = 0.03 * (self.high - self.low)
        self.low, self.high = self.low - margin, self.high + margin
        return [i * step for i in range(first, last + 1)]

    def at(self, value):
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


class Panel:
    def __init__(self, svg, about, points, corner):
        self.svg, self.about, self.corner = svg, about, corner
        self.points = [p for p in points if not p["level"]]
        self.levels = [p for p in points if p["level"]]
        self.has_zero = any(p["value"] <= 0 for p in points)
        self.x = Axis([p["share"] for p in self.points], True, True)
        seen = []
        for p in points:
            # What is zero, or as good as, is no reason to give up a logarithmic axis.
            if not about["is_share"] and p["value"] <= 0:
                continue
            se = p["se"] or 0
            seen += [p["value"], p["value"] + se]
            if about["is_share"] or p["value"] > 2 * se:
                seen.append(p["value"] - se)
        self.y = Axis(seen, about["is_share"], not about["is_share"],
                      1 if about["is_share"] else math.inf)

    def place(self, share, value):
        """A value that a logarithmic axis cannot show stands on its floor."""
        along = 0 if self.y.log and value <= 0 else min(1, max(0, self.y.at(value)))
        return self.corner[0] + PANEL[0] * self.x.at(share), self.corner[1] + PANEL[1] * (1 - along)

    def draw(self, recipes):
        self.draw_frame()
        self.draw_front()
        for p in self.levels:
            y = self.place(self.x.low, p["value"])[1]
            self.svg.line((self.corner[0], y), (self.corner[0] + PANEL[0], y),
                          'stroke="#222222" stroke-width="1.2" stroke-dasharray="2 4"')
            self.svg.text((self.corner[0] + 6, y - 5), p["recipe"], 'font-size="12" fill="#222222"')
        for series, recipe in enumerate(recipes):
            own = sorted((p for p in self.points if p["recipe"] == recipe), key=lambda p: p["share"])
            if len(own) > 1:
                self.svg.polyline([self.place(p["share"], p["value"]) for p in own], dashed(series))
            for p in own:
                self.draw_point(series, p)

    def draw_frame(self):
        (left, top), svg, about = self.corner, self.svg, self.about
        small = 'font-size="12" text-anchor="%s" fill="#444444"'
        svg.text((left, top - 12), about["task"], 'font-size="15" font-weight="bold" fill="#222222"')
        for value, label in self.x.ticks:
            x = left + PANEL[0] * self.x.at(value)
            svg.line((x, top), (x, top + PANEL[1]), 'stroke="#e6e6e6"')
            svg.line((x, top + PANEL[1]), (x, top + PANEL[1] + 5), 'stroke="#444444"')
            svg.text((x, top + PANEL[1] + 20), label, small % "middle")
        for value, label in self.y.ticks:
            y = top + PANEL[1] * (1 - self.y.at(value))
            svg.line((left, y), (left + PANEL[0], y), 'stroke="#e6e6e6"')
            svg.line((left - 5, y), (left, y), 'stroke="#444444"')
            svg.text((left - 9, y + 4), label, small % "end")
        svg.rect(self.corner, PANEL, 'fill="none" stroke="#444444"')
        if self.y.log and self.has_zero:
            svg.text((left - 9, top + PANEL[1] + 4), "0", small % "end")
        style = 'font-size="13" text-anchor="middle" fill="#222222"'
        scale = lambda axis: " (logarithmic)" if axis.log else ""
        svg.text((left + PANEL[0] / 2, top + PANEL[1] + 42), about["x_label"] + scale(self.x), style)
        at = (left - LEFT + 16, top + PANEL[1] / 2)
        svg.text(at, about["label"] + scale(self.y),
                 f'{style} transform="rotate(-90 {at[0]:.1f} {at[1]:.1f})"')

    def draw_front(self):
        """A staircase: what the front promises at a size is what its next smaller point gives."""
        steps = []
        for p in sorted((p for p in self.points if p["front"]), key=lambda p: p["share"]):
            at = self.place(p["share"], p["value"])
            if steps:
                steps.append((at[0], steps[-1][1]))
            steps.append(at)
        if steps:
            steps.append((self.corner[0] + PANEL[0], steps[-1][1]))
            self.svg.polyline(steps, 'stroke="#c9c9c9" stroke-width="7" stroke-linejoin="round"')

    def draw_point(self, series, p):
        at = self.place(p["share"], p["value"])
        if p["se"]:
            top, bottom = (self.place(p["share"], p["value"] + s * p["se"])[1] for s in (1, -1))
            style = f'{stroke(series)} stroke-width="1.2"'
            self.svg.line((at[0], top), (at[0], bottom), style)
            for y in (top, bottom):
                self.svg.line((at[0] - 3.5, y), (at[0] + 3.5, y), style)
        number = percent if self.about["is_share"] else short
        self.svg.mark(series, at, COLOURS[series % len(COLOURS)] if p["front"] else "#ffffff",
                      f"{p['recipe']}, {percent(p['keep'])} of the tokens: {percent(p['share'])} of "
                      f"the bytes, {number(p['value'])}"
                      + (f" ± {number(p['se'])}" if p["se"] is not None else ""))


def draw_legend(svg, recipes, x, y):
    def entry(words):
        svg.text((x + LEGEND_MARK, y + 4), words, 'font-size="13" fill="#222222"')
        return y + LEGEND_LINE

    for series, recipe in enumerate(recipes):
        svg.line((x, y), (x + 26, y), dashed(series))
        svg.mark(series, (x + 13, y), "#ffffff", recipe)
        y = entry(recipe)
    y += 8
    svg.line((x, y), (x + 26, y), 'stroke="#c9c9c9" stroke-width="7"')
    y = entry("Pareto front, marks filled")
    svg.line((x + 13, y - 7), (x + 13, y + 7), 'stroke="#222222"')
    for end in (y - 7, y + 7):
        svg.line((x + 9.5, end), (x + 16.5, end), 'stroke="#222222"')
    entry("± 1 standard error")


def picture(sweep):
    body = sweep["of_body"]
    for p in sweep["points"]:
        p["share"] = p["body_share" if body else "kv_share"]
        p["level"] = body and p["share"] > NOTHING_SAVED
    recipes = list(dict.fromkeys(p["recipe"] for p in sweep["points"] if not p["level"]))
    panels = sweep["panels"]
    columns = min(max(len(panels), 1), COLUMNS)
    rows = -(-max(len(panels), 1) // columns)
    cell = LEFT + PANEL[0] + GAP, TOP + PANEL[1] + BOTTOM
    legend = MARGIN + columns * cell[0]
    width = LEGEND_MARK + 7.4 * max(map(len, recipes + ["Pareto front, marks filled"]))
    height = HEAD + max(rows * cell[1], TOP + (len(recipes) + 2) * LEGEND_LINE + 30) + 8
    title = sweep["model"] + ": bytes against quality"
    svg = Svg(legend + width + MARGIN, height, title)
    svg.text((MARGIN, 30), title, 'font-size="18" font-weight="bold" fill="#222222"')
    small = 'font-size="12" fill="#555555"'
    svg.text((MARGIN, 50), ("Cache without its exact ends" if body else "Cache") + " as allocated "
             "with all metadata, just after reading and packing, of the same tokens in fp16.", small)
    kept = ", ".join(map(percent, sweep["keeps"]))
    svg.text((MARGIN, 66), f"Along a line: tokens kept, {kept}." if len(sweep["keeps"]) > 1 else "",
             small)
    for i, about in enumerate(panels):
        about["x_label"] = "bytes of the body held, of fp16" if body else "bytes held, of fp16"
        own = [p for p in sweep["points"]
               if (p["task"], p["measure"]) == (about["task"], about["measure"])]
        corner = (MARGIN + i % columns * cell[0] + LEFT, HEAD + i // columns * cell[1] + TOP)
        Panel(svg, about, own, corner).draw(recipes)
    draw_legend(svg, recipes, legend, HEAD + TOP + 8)
    return svg.finish()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as sweep_file:
        drawn = picture(json.load(sweep_file))
    with open(sys.argv[2], "w", encoding="utf-8") as svg_file:
        svg_file.write(drawn)
