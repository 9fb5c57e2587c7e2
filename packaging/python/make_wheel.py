#!/usr/bin/env python3
"""Makes the Python package's wheel: one for all Pythons, as nothing in it is compiled against one.

    packaging/python/make_wheel.py --library build/release/storage/libsatchel.so [--strip strip] [--out FOLDER]

Prints its path. Needs nothing but Python 3.11. `pip wheel packaging/python --config-settings library=…` makes the same, through
the functions below that pip looks for. The same files make the same bytes.
"""

import argparse
import base64
import ctypes
import hashlib
import pathlib
import re
import subprocess
import sysconfig
import tempfile
import tomllib
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def library_bytes(library, strip):
    if not strip:
        return pathlib.Path(library).read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "stripped"
        subprocess.run([strip, "--strip-unneeded", "-o", out, library], check=True)
        return out.read_bytes()


def described(library):
    """Its version and the number in its soname, as the library itself says them."""
    loaded = ctypes.CDLL(str(pathlib.Path(library).resolve()))
    loaded.satchel_version.restype = ctypes.c_char_p
    return loaded.satchel_version().decode(), loaded.satchel_abi_version()


def metadata(project, version):
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {project['name']}",
        f"Version: {version}",
        f"Summary: {project['description']}",
        f"Requires-Python: {project['requires-python']}",
        *(f"Classifier: {each}" for each in project["classifiers"]),
        "License-File: LICENSE",
        "License-File: COPYRIGHT",
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(lines) + "\n\n" + (HERE / project["readme"]).read_text()


def files(library, strip, tag):
    """Path in the wheel -> bytes, without the list of them."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    version, abi = described(library)
    about = f"satchel-{version}.dist-info"
    made = {f"satchel/{each.name}": each.read_bytes() for each in sorted((HERE / "satchel").iterdir()) if each.is_file()}
    made["satchel/satchel.h"] = (ROOT / "runtime/c_api/include/satchel/satchel.h").read_bytes()
    made[f"satchel/libsatchel.so.{abi}"] = library_bytes(library, strip)
    for name in ("notes-mini-q8_0.gguf", "notes-mini.md"):
        made[f"satchel/{name}"] = (ROOT / "models" / name).read_bytes()
    made[f"{about}/METADATA"] = metadata(project, version).encode()
    made[f"{about}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: satchel\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    made[f"{about}/LICENSE"] = (HERE / project["license"]["file"]).read_bytes()
    made[f"{about}/COPYRIGHT"] = (ROOT / "packaging/deb/copyright").read_bytes()  # of the headers that are compiled in
    return version, about, made


def recorded(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def make(library, strip, out):
    tag = "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())
    version, about, made = files(library, strip, tag)
    made[f"{about}/RECORD"] = ("".join(recorded(*each) for each in made.items()) + f"{about}/RECORD,,\n").encode()
    out.mkdir(parents=True, exist_ok=True)
    wheel = out / f"satchel-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in made.items():
            entry = zipfile.ZipInfo(name)  # of 1980
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """What pip calls (PEP 517)."""
    given = config_settings or {}
    if "library" not in given:
        raise SystemExit("say which library goes in: --config-settings library=build/release/storage/libsatchel.so")
    return make(given["library"], given.get("strip"), pathlib.Path(wheel_directory)).name


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, help="a built libsatchel.so")
    parser.add_argument("--strip", help="the program that strips it")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    given = parser.parse_args()
    print(make(given.library, given.strip, given.out))


if __name__ == "__main__":
    main()
