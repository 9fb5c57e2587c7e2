#!/usr/bin/env python3
"""How many faults the tests inject, and of which kind: a table.

    python3 tests/fault_report.py BUILD
    SATCHEL_ALL_POWER_CUTS=1 python3 tests/fault_report.py BUILD    # every moment of a power cut, not a sample

Runs the tests of BUILD/bin that inject faults. Each says its number as the property "faults", and fails where a message is
lost or wrong, a bad record is served, or a file is not sound (docs/reliability.md).
"""
import json
import pathlib
import subprocess
import sys
import tempfile

# Kinds, with the program and the tests that inject them.
KINDS = [
    ("a call to the disk fails", "test_storage", "*EveryFault*:Fault.*:Migration.any_failed*:Encrypted.any_failed*"),
    ("the power goes", "test_storage", "PowerCut.*"),
    ("the process is killed", "test_storage", "Kill.*"),
    ("bytes changed, files cut or longer", "test_storage", "Damage.of_library*:Damage.of_kvcache*"),
    ("the backend fails at a cut of the chat", "test_runtime", "Edit.a_cut_that*"),
    ("a CUDA call fails (executor)", "test_simt", "*EveryCall*"),
]


def run(program, tests):
    """The tests that ran and passed, those that did not, and the faults injected."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        done = subprocess.run([program, f"--gtest_filter={tests}", f"--gtest_output=json:{out.name}"],
                              capture_output=True, text=True)
        text = pathlib.Path(out.name).read_text()
    if not text:
        raise SystemExit(f"{program} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    passed, failed, faults = 0, [], 0
    for suite in json.loads(text)["testsuites"]:
        for test in suite["testsuite"]:
            if test["result"] != "COMPLETED":
                continue
            if "failures" in test:
                failed.append(f"{suite['name']}.{test['name']}")
            else:
                passed += 1
            faults += int(test.get("faults", 0))
    return passed, failed, faults


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    programs = pathlib.Path(sys.argv[1]) / "bin"
    total, all_failed = 0, []
    print("| fault | injected | tests passed | failed |\n|---|---|---|---|")
    for kind, program, tests in KINDS:
        passed, failed, faults = run(programs / program, tests)
        if faults == 0:
            raise SystemExit(f"{kind}: no test of {program} said how many faults it injects")
        print(f"| {kind} | {faults:,} | {passed} | {len(failed)} |", flush=True)
        total += faults
        all_failed += failed
    print(f"| all | {total:,} | | {len(all_failed)} |")
    if all_failed:
        raise SystemExit("failed: " + ", ".join(all_failed))


if __name__ == "__main__":
    main()
