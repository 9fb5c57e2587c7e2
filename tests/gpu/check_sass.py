#!/usr/bin/env python3
"""Holds the machine code of kernels' hot loops against a table of limits, a row a kernel and kind of GPU: what a matrix
instruction costs in other instructions, and what should not stand in such a loop.

    check_sass.py [--tools FOLDER] TABLE OBJECT...            fails where a limit is passed, a kernel has no row or a row no kernel
    check_sass.py [--tools FOLDER] --write TABLE OBJECT...    writes the rows of the objects' cards anew; read what it changes
    check_sass.py [--tools FOLDER] --list OBJECT...           every instance of every template by itself

An OBJECT is nvcc's, or nvdisasm's text (.sass). FOLDER holds cuobjdump and nvdisasm, which are looked for in PATH without it.
Rows of cards that no object has are left alone. Which loops are hot is told in sass_loops.py; figures are of all instances of
a template together, so that an increase in any is seen, except for "worst".
"""
import argparse
import collections
import concurrent.futures
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from kernel_table import complaints, demangled, plain, read_table
from sass_loops import Figures, hot_loops, kernels_of

HEAD = """\
# The most that may stand in hot loops, in the machine code of nvcc 13.0 (tests/gpu/check_sass.py): instructions for each
# matrix instruction, of all instances of a template and of the worst one ("-": the kernel has none in a loop); then, of all
# instances together: accesses to local memory, integer divisions, global loads of one byte; and, beside matrix instructions,
# global loads of less than 16 bytes a thread and shared loads of less than 8.
"""
NAMES = ("instructions for a matrix instruction", "instructions for a matrix instruction in its worst instance",
         "accesses to local memory", "integer divisions", "global loads of a byte", "global loads of less than 16 bytes",
         "shared loads of less than 8 bytes")
COUNTED = ("local", "divisions", "bytes", "global_narrow", "shared_narrow")


def tool(name, folder):
    found = shutil.which(name, path=folder)
    return found or sys.exit(f"{name} is not in {folder or 'PATH'}; packaging/test.sh gets it")


def read_unit(text):
    """(card, [(mangled name, Figures)]) of nvdisasm's text, which names its card first."""
    head = next((line for line in text if ".target" in line), "")
    if not (card := re.search(r"sm_\d+", head)):
        sys.exit("the disassembly names no card")
    kernels = []
    for name, lines in kernels_of(text):
        try:
            kernels.append((name, hot_loops(lines)))
        except ValueError as problem:
            sys.exit(f"{demangled([name])[0]} on {card[0]}: {problem}")
    return card[0], kernels


def read_cubin(job):
    path, nvdisasm = job
    if not nvdisasm:
        with path.open() as text:
            return read_unit(text)
    with subprocess.Popen([nvdisasm, "-c", path], stdout=subprocess.PIPE, text=True) as run:
        found = read_unit(run.stdout)
    return found if run.returncode == 0 else sys.exit(f"nvdisasm cannot read {path.name}")


def instances_of(objects, folder):
    """{(unit, card): [(name with template arguments, Figures)]}"""
    with tempfile.TemporaryDirectory() as scratch:
        jobs = []
        for unit in objects:
            if unit.suffix == ".sass":
                jobs.append((unit.name.removesuffix(".sass"), (unit, None)))
                continue
            at = pathlib.Path(scratch, unit.name)
            at.mkdir()
            subprocess.run([tool("cuobjdump", folder), "-xelf", "all", unit.resolve()], cwd=at, check=True, stdout=subprocess.DEVNULL)
            jobs += [(unit.name.removesuffix(".o"), (cubin, tool("nvdisasm", folder))) for cubin in at.glob("*.cubin")]
        jobs.sort(key=lambda job: -job[1][0].stat().st_size)
        with concurrent.futures.ProcessPoolExecutor() as pool:
            found = pool.map(read_cubin, [job[1] for job in jobs])
            out = {}
            for (unit, _), (card, kernels) in zip(jobs, found):
                out[unit, card] = list(zip(demangled([name for name, _ in kernels]), [each for _, each in kernels]))
    return out


def grouped(instances):
    """{row: its instances}"""
    rows = collections.defaultdict(list)
    for (unit, card), kernels in instances.items():
        for name, figures in kernels:
            rows[f"{unit} {plain(name)} {card}"].append((name, figures))
    return rows


def ratio(figures):
    return figures.instructions / figures.matrix if figures.matrix else 0.0


def together(group):
    total = Figures(*map(sum, zip(*(figures for _, figures in group))))
    counts = [getattr(total, name) for name in COUNTED]
    if not total.matrix:  # then how far the compiler unrolled a loop would decide how many narrow loads stand in it
        return (None, None, *counts[:3], None, None)
    return (ratio(total), max(ratio(figures) for _, figures in group), *counts)


def worst(group, at):
    """For a complaint: which instance has most of figure number `at`."""
    if len(group) == 1:
        return ""
    of = (lambda each: ratio(each[1])) if at < 2 else (lambda each: getattr(each[1], COUNTED[at - 2]))
    most = max(group, key=of)
    return f" (most in {most[0]}: {of(most):.4g})"


def write_table(table, rows):
    cards = {key.split()[2] for key in rows}
    kept = read_table(table, 3) if table.exists() else {}
    limits = {key: row for key, row in kept.items() if key.split()[2] not in cards}
    for key, (mean, most, *counts) in rows.items():
        limits[key] = (*(each if each is None else math.ceil(each * 10) / 10 for each in (mean, most)), *counts)
    lines = []
    for key, row in sorted(limits.items(), key=lambda each: (each[0].split()[:2], int(each[0].split("_")[-1]))):
        unit, kernel, card = key.split()
        numbers = "".join(f"{'-' if each is None else each:>6}" for each in row)
        lines.append(f"{unit:<20} {kernel:<22} {card:<6}{numbers}\n")
    table.write_text(HEAD + "".join(lines))


def list_instances(instances):
    print(f"{'':<60}" + "".join(f"{each:>14}" for each in ("an instruction", *Figures._fields)))
    for (unit, card), kernels in sorted(instances.items()):
        for name, figures in kernels:
            print(f"{unit + ' ' + card + ' ' + name:<60}{ratio(figures):>14.2f}" + "".join(f"{each:>14}" for each in figures))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tools")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    given = parser.parse_args()
    instances = instances_of(given.paths if given.list else given.paths[1:], given.tools)
    if given.list:
        return list_instances(instances)
    table, groups = given.paths[0], grouped(instances)
    if not groups:
        sys.exit("the objects hold no kernel")
    rows = {key: together(group) for key, group in groups.items()}
    if given.write:
        return write_table(table, rows)
    cards = {card for _, card in instances}
    limits = {key: row for key, row in read_table(table, 3).items() if key.split()[2] in cards}
    found = list(complaints(rows, limits, NAMES, lambda key, at: worst(groups[key], at)))
    for each in found:
        print(each)
    if found:
        sys.exit(f"{len(found)} to be looked at. Take it out of the loop; or, if it is right as it is: check_sass.py --write")
    print(f"the hot loops of {len(rows)} kernels on {', '.join(sorted(cards))} are within their limits")


if __name__ == "__main__":
    main()
