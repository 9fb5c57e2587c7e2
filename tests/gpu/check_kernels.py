#!/usr/bin/env python3
"""Holds what nvcc's assembler reports of each kernel against the table of limits: registers, static shared memory, bytes
spilled, each the most over all cards and all instances of a template.

    check_kernels.py TABLE REPORT...            fails where a limit is passed, a kernel has no row or a row no kernel
    check_kernels.py --write TABLE REPORT...    writes the table anew from the reports; read what it changes

Registers are handed out to warps in eights, so a limit is the next multiple of eight. A row may be raised where it is worth
it: the table is there so that this is seen.
"""
import pathlib
import re
import sys

from kernel_table import complaints, demangled, plain, read_table

HEAD = """\
# The most that each kernel may take on any card, as nvcc 13.0 reports it (tests/gpu/check_kernels.py):
# registers a thread, bytes of static shared memory, bytes spilled. Shared memory asked for at the launch is not in it.
"""
FIGURES = ("registers", "bytes of shared memory", "bytes spilled")


def figures_of(report):
    """{mangled name: (registers, shared, spilled)} of one unit, the most over its cards; and the cards."""
    found, cards, name, spilled = {}, set(), None, 0
    for line in report.read_text().splitlines():
        if match := re.search(r"Compiling entry function '(\w+)' for '(sm_\w+)'", line):
            name, spilled = match[1], 0
            cards.add(match[2])
        elif match := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            spilled = max(spilled, int(match[1]), int(match[2]))
        elif name and (match := re.search(r"Used (\d+) registers", line)):
            shared = re.search(r"(\d+) bytes smem", line)
            now = (int(match[1]), int(shared[1]) if shared else 0, spilled)
            found[name] = tuple(map(max, found.get(name, now), now))
            name = None
    return found, cards


def measured(reports):
    rows, cards = {}, set()
    for report in reports:
        found, on = figures_of(report)
        cards |= on
        for name, figures in zip(demangled(list(found)), found.values()):
            key = f"{report.name.removesuffix('.report')} {plain(name)}"
            rows[key] = tuple(map(max, rows.get(key, figures), figures))
    return rows, cards


def write_table(table, rows):
    lines = []
    for key, (registers, shared, spilled) in sorted(rows.items()):
        unit, kernel = key.split()
        lines.append(f"{unit:<20} {kernel:<24} {(registers + 7) // 8 * 8:>4} {shared:>6} {spilled:>4}\n")
    table.write_text(HEAD + "".join(lines))


def main(arguments):
    writes = arguments[:1] == ["--write"]
    table, *reports = map(pathlib.Path, arguments[writes:])
    rows, cards = measured(reports)
    if not rows:
        sys.exit("the reports name no kernel: was it built with -Xptxas -v?")
    if writes:
        return write_table(table, rows)
    found = list(complaints(rows, read_table(table, 2), FIGURES))
    for each in found:
        print(each)
    if found:
        sys.exit(f"{len(found)} to be looked at. Make the kernel smaller; or, if it is right as it is: check_kernels.py --write")
    spilling = [key for key, figures in rows.items() if figures[2] > 0]
    print(f"{len(rows)} kernels on {', '.join(sorted(cards))}, most registers {max(r[0] for r in rows.values())}, "
          f"spilling: {', '.join(spilling) or 'none'}")


if __name__ == "__main__":
    main(sys.argv[1:])
