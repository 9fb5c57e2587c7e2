#!/usr/bin/env python3
"""Makes the report of tests/gpu/run.sh from what its steps left behind. Nothing is made up: what was not measured is listed.

    report.py WORK OUT            WORK/{machine.json,steps.jsonl,results.jsonl,tests/,*.log} -> OUT/report.{json,md}
    report.py --machine ROOT NVCC what is known of this machine, as JSON
"""
import datetime
import glob
import json
import os
import platform
import subprocess
import sys

from report_tables import attention, goals, models, operations, predictions, table

# What a whole run measures: step -> the ops that it prints.
MEASURES = {"bandwidth": ["bandwidth"], "bench_decode": ["decode_attention"], "bench_prefill": ["prefill_attention"],
            "bench_cache": ["encode", "select"], "bench_weights": ["matmul"], "bench_moe": ["moe"],
            "torch": ["torch_decode", "torch_prefill", "torch_product"], "model_1b": ["model_decode", "model_read"],
            "model_8b": ["model_decode", "model_read"]}


def said_by(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 and done.stdout.strip() else None


def first_line(text, containing):
    return next((line.strip() for line in (text or "").splitlines() if containing in line), None)


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return first_line(file.read(), "model name").split(": ")[-1]
    except (OSError, AttributeError):
        return platform.processor() or None


def machine(root, nvcc):
    cards = said_by("nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem,clocks.max.sm,power.limit",
                    "--format=csv,noheader")
    return {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
            "commit": said_by("git", "-C", root, "describe", "--always", "--dirty", "--abbrev=12"),
            "cards": cards.splitlines() if cards else [],
            "cards_columns": "name, driver, memory, SM clock, memory clock, highest SM clock, power limit",
            "processor": processor(), "cores": os.cpu_count(), "system": platform.platform(),
            "compiler": first_line(said_by("g++", "--version"), "g++"),
            "nvcc": first_line(said_by(nvcc, "--version"), "release") if nvcc else None}


def lines_of(path):
    """The JSON of each line; one that was cut short is left out."""
    found = []
    if os.path.exists(path):
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                try:
                    found.append(json.loads(line))
                except ValueError:
                    pass
    return found


def skip_reasons(log):
    """Why tests were skipped, each reason once."""
    reasons = {}
    if os.path.exists(log):
        with open(log, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
        for said, reason in zip(lines, lines[1:]):
            if said.endswith(": Skipped"):
                reasons[reason] = reasons.get(reason, 0) + 1
    return reasons


def tests_of(work):
    """Program -> what came of its tests. One that broke off has left no file: its tests are not counted."""
    programs = {}
    for path in sorted(glob.glob(f"{work}/tests/*.json")):
        name = os.path.basename(path).split(".")[0]
        counts = programs.setdefault(name, {"passed": 0, "failed": 0, "skipped": 0, "failures": []})
        try:
            with open(path, encoding="utf-8") as file:
                suites = json.load(file)["testsuites"]
        except (ValueError, KeyError):
            continue
        for test in (test for suite in suites for test in suite["testsuite"]):
            if test["result"] == "SKIPPED":
                counts["skipped"] += 1
            elif test.get("failures"):
                counts["failed"] += 1
                counts["failures"].append({"test": f"{test['classname']}.{test['name']}",
                                           "says": test["failures"][0]["failure"][:600]})
            elif test["result"] == "COMPLETED":
                counts["passed"] += 1
    for name, counts in programs.items():
        counts["skip_reasons"] = skip_reasons(f"{work}/{name}.log")
    return programs


def missing(steps, results):
    """What a whole run would have measured, and why this one did not."""
    states = {step["step"]: step for step in steps}
    gaps = []
    for step, ops in MEASURES.items():
        model = step.split("_")[1] if step.startswith("model_") else None
        there = {result.get("op") for result in results if model is None or result.get("model") == model}
        gone = [op for op in ops if op not in there]
        if gone:
            state = states.get(step, {"state": "not begun"})
            gaps.append({"step": step, "figures": gone, "why": state.get("says") or state["state"]})
        elif states.get(step, {}).get("state") != "passed":
            gaps.append({"step": step, "figures": ["some"], "why": states.get(step, {"state": "not begun"})["state"]})
    return gaps


def last_words(work, step):
    log = f"{work}/{step['step']}.log"
    if step["state"] == "passed" or not os.path.exists(log):
        return ""
    with open(log, encoding="utf-8", errors="replace") as file:
        lines = [line.strip() for line in file if line.strip()]
    if not lines:
        return ""
    try:
        return json.loads(lines[-1]).get("why", "")[:300]  # else it is a result
    except (ValueError, AttributeError):
        return lines[-1][:300]


def gather(work):
    with open(f"{work}/machine.json", encoding="utf-8") as file:
        report = {"schema": 1, "machine": json.load(file)}
    report["steps"] = lines_of(f"{work}/steps.jsonl")
    for step in report["steps"]:
        step["says"] = last_words(work, step)
    report["tests"] = tests_of(work)
    report["results"] = lines_of(f"{work}/results.jsonl")
    report["missing"] = missing(report["steps"], report["results"])
    return report


def head(report):
    here = report["machine"]
    lines = ["# The CUDA backend on a card", "",
             f"{here['date']}, commit {here['commit'] or 'unknown'}, {here['nvcc'] or 'no nvcc'}, {here['compiler']}, "
             f"{here['processor']}, {here['cores']} cores, {here['system']}.", ""]
    if here["cards"]:
        lines += [f"Cards ({here['cards_columns']}): {'; '.join(here['cards'])}.", ""]
        if report["tests"].get("test_gpu", {}).get("passed", 0) == 0:
            lines += ["**No test passed on them:** the steps below say why.", ""]
    else:
        lines += ["**No card: nothing here ran on a GPU.** What could be built was built, the rest says why it was skipped.", ""]
    return lines


def of_steps(report):
    rows = [(step["step"], step["state"], step["seconds"], step["says"].replace("|", "/")) for step in report["steps"]]
    lines = ["## Steps", ""] + table(("step", "outcome", "s", "says"), rows)
    lines += ["## Tests", ""]
    rows = [(name, counts["passed"], counts["failed"], counts["skipped"],
             "; ".join(f"{reason} ({n})" for reason, n in counts["skip_reasons"].items()))
            for name, counts in report["tests"].items()]
    lines += table(("program", "passed", "failed", "skipped", "why skipped"), rows) if rows else ["None ran.", ""]
    for name, counts in report["tests"].items():
        for failure in counts["failures"][:20]:
            lines += [f"- {name}: `{failure['test']}`: " + failure["says"].replace("\n", " / ")[:300]]
    return lines + [""]


def of_gaps(report):
    lines = ["## Not measured", ""]
    if not report["missing"]:
        return lines + ["Nothing: every figure of a whole run is above.", ""]
    return lines + [f"- {', '.join(gap['figures'])} ({gap['step']}): {gap['why']}" for gap in report["missing"]] + [""]


def markdown(report):
    lines = head(report) + goals(report) + of_steps(report) + attention(report) + operations(report) + models(report)
    lines += predictions(report)
    return "\n".join(lines + of_gaps(report))


def main():
    if sys.argv[1] == "--machine":
        print(json.dumps(machine(sys.argv[2], sys.argv[3])))
        return
    work, out = sys.argv[1:3]
    report = gather(work)
    with open(f"{out}/report.json", "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
    with open(f"{out}/report.md", "w", encoding="utf-8") as file:
        file.write(markdown(report))
    print(f"report: {out}/report.md")


main()
