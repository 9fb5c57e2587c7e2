"""Files of tests/golden/tokenizer: lines in pairs, a text with escapes (\\n, \\r, \\\\, \\u{hex}), then numbers."""
import pathlib

OUT = pathlib.Path(__file__).resolve().parents[1] / "golden/tokenizer"


def escaped(text):
    out = ""
    for c in text:
        if c == "\\":
            out += "\\\\"
        elif c in "\n\r":
            out += {"\n": "\\n", "\r": "\\r"}[c]
        elif c == " " or c.isprintable():
            out += c
        else:
            out += "\\u{%x}" % ord(c)
    return out


def write(name, rows):
    lines = [line for text, numbers in rows for line in (escaped(text), " ".join(map(str, numbers)))]
    (OUT / name).write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
