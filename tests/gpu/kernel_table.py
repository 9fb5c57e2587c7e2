"""What check_kernels.py and check_sass.py share: names of kernels, tables of limits, and what is said of a passed one."""
import re
import subprocess


def demangled(mangled):
    """Without namespaces and parameters: `rotate`, `attend_splits<4, 128, true>`."""
    names = subprocess.run(["c++filt"], input="\n".join(mangled), capture_output=True, text=True, check=True).stdout
    out = []
    for name in names.split("\n")[:len(mangled)]:
        name = re.sub(r"\(anonymous namespace\)::|\([\w:]+\)(?=\d)|\w+::|(?<=\d)u\b", "", name)
        out.append(name.split("(")[0].removeprefix("void "))
    return out


def plain(name):
    """Without template arguments: `attend_splits`."""
    return name.split("<")[0]


def read_table(table, keys):
    """{the first `keys` words of a row: its numbers}; None for a number that is "-"."""
    rows = {}
    for line in table.read_text().splitlines():
        if line and not line.startswith("#"):
            words = line.split()
            numbers = (None if each == "-" else float(each) if "." in each else int(each) for each in words[keys:])
            rows[" ".join(words[:keys])] = tuple(numbers)
    return rows


def said(figure):
    return "no" if figure is None else f"{figure:.2f}" if isinstance(figure, float) else str(figure)


def complaints(rows, limits, names, where=lambda key, at: ""):
    """What is to be looked at, a line each. `where(key, at)`: more about figure number `at` of a row."""
    for key, figures in sorted(rows.items()):
        if key not in limits:
            yield f"{key} has no row: " + ", ".join(f"{said(each)} {name}" for each, name in zip(figures, names) if each is not None)
            continue
        for at, (figure, limit, name) in enumerate(zip(figures, limits[key], names)):
            if (figure is None) != (limit is None):
                yield f"{key} has {said(figure)} {name}, its row says {said(limit)}"
            elif figure is not None and figure > limit:
                yield f"{key} takes {said(figure)} {name}, its limit is {limit}{where(key, at)}"
    for key in sorted(limits.keys() - rows.keys()):
        yield f"{key} has a row and is no kernel any more"
