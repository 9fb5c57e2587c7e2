"""Installs the wheel into a Python of its own, without a network, and runs the first lines of docs/python.md twice.

python3 installed_test.py WHEEL DOCUMENT
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77


def run(*command, cwd):
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, env=outside, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(done.stdout)
    return done.stdout


def main():
    wheel, document = (pathlib.Path(each).resolve() for each in sys.argv[1:])
    try:
        import ensurepip  # noqa: F401  Debian has it in python3-venv
    except ImportError:
        print("Skipped: this Python makes no environments (Debian: python3-venv)")
        sys.exit(SKIPPED)
    program = re.search(r"```python\n(.*?)```", document.read_text(), re.S)[1]
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "venv", "python", cwd=folder)
        python = f"{folder}/python/bin/python3"
        run(python, "-m", "pip", "install", "--quiet", "--no-index", wheel, cwd=folder)
        first, second = (run(python, "-c", program, cwd=folder) for _ in range(2))
        run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "satchel", cwd=folder)
        if list(pathlib.Path(folder).glob("python/lib/*/site-packages/satchel*")):
            sys.exit("uninstalling left files")
    for said, resumed in ((first, "a new chat"), (second, "resumed")):
        print(said)
        if "rabbit" not in said or resumed not in said:
            sys.exit(f"expected a rabbit and {resumed!r}")


if __name__ == "__main__":
    main()
