"""What the package declares by itself, beside satchel.h and a C compiler's view of it.

python3 api_test.py CC
"""

import ctypes
import dataclasses
import pathlib
import subprocess
import sys
import tempfile
import unittest

import satchel
from satchel import _api, _types

REPORTS = {
    "estimate": satchel.Estimate,
    "fidelity": satchel.Fidelity,
    "memory_change": satchel.MemoryChange,
    "model_info": satchel.ModelInfo,
    "prefill_report": satchel.PrefillReport,
    "result": satchel.Answer,
    "resume_report": satchel.ResumeReport,
    "sampling": satchel.Sampling,
    "stats": satchel.Stats,
}


def structs():
    """name -> its fields, of those that are not opaque."""
    for name, kind in _api.header.types.items():
        if name.startswith("satchel_") and hasattr(kind, "_fields_"):
            yield name, [field[0] for field in kind._fields_]


class Header(unittest.TestCase):
    def test_structs_lie_in_memory_as_a_c_compiler_lays_them(self):
        rows, ours = [], []
        for name, fields in structs():
            kind = _api.header.types[name]
            rows.append(f'printf("%zu\\n", sizeof({name}));')
            ours.append(ctypes.sizeof(kind))
            for field in fields:
                rows.append(f'printf("%zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));')
                ours.append((getattr(kind, field).offset, getattr(kind, field).size))
        self.assertGreater(len(ours), 100)
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "layout.c"
            source.write_text(
                f'#include "{_api.FOLDER}/satchel.h"\n#include <stdio.h>\nint main(void) {{ {" ".join(rows)} return 0; }}\n'
            )
            program = pathlib.Path(folder) / "layout"
            subprocess.run([COMPILER, "-o", program, source], check=True)
            said = subprocess.run([program], check=True, capture_output=True, text=True).stdout
        numbers = [tuple(map(int, line.split())) for line in said.splitlines()]
        self.assertEqual([n if len(n) > 1 else n[0] for n in numbers], ours)

    def test_the_library_has_what_the_header_declares(self):
        self.assertEqual(_api.function("abi_version")(), _api.header.constants["ABI_VERSION"])
        self.assertGreater(len(_api.header.functions), 40)

    def test_what_is_not_understood_is_refused(self):
        with self.assertRaisesRegex(ValueError, "not understood"):
            _api.Header("union satchel_odd { int32_t a; };")
        with self.assertRaises(KeyError):
            _api.Header("long satchel_odd(void);")


class Declared(unittest.TestCase):
    def test_reports_have_every_field_of_their_structs(self):
        for name, cls in REPORTS.items():
            theirs = {each[0] for each in _api.header.types["satchel_" + name]._fields_}
            ours = {each.name for each in dataclasses.fields(cls)}
            self.assertEqual(ours - {"text", "thoughts"}, theirs - {"struct_size", "reserved"}, name)

    def test_every_parameter_of_options_can_be_given(self):
        given = {
            "model_options": {*satchel.Model.__init__.__annotations__, "store"},
            "session_options": {*satchel.Model.chat.__annotations__},
            "memory_request": {*satchel.Chat.preview.__annotations__},
            "store_options": {*satchel.Model.__init__.__annotations__, "folder"},
        }
        for name, ours in given.items():
            theirs = {each[0] for each in _api.header.types["satchel_" + name]._fields_}
            self.assertEqual(theirs - {"struct_size", "reserved"} - ours, set(), name)

    def test_numbers_are_those_of_the_header(self):
        constants = dict(_api.header.constants)
        for prefix, kind in (("", satchel.Finish), ("RESUME_", satchel.Outcome), ("PHASE_", satchel.Phase)):
            for each in kind:
                self.assertEqual(constants.pop(prefix + each.name), each.value)
        self.assertEqual(constants.pop("OFF"), satchel.OFF)
        for name in (*_api.CLASSES, "OK", "ABI_VERSION"):
            del constants[name]
        for word in ("system", "user", "assistant", "thinking_auto", "thinking_on", "thinking_off",
                     "beyond_auto", "beyond_ends", "beyond_goes_on"):
            del constants[word.upper()]
        left = {name for name in constants if not name.startswith(("LOG_", "STREAM_"))}
        self.assertEqual(left, set(), "the header has them, the package does not")

    def test_all_that_is_public_is_listed(self):
        public = {name for name in vars(satchel) if not name.startswith("_")} - {"annotations", "json", "os", "Any"}
        self.assertEqual(public, set(satchel.__all__))
        self.assertEqual(_types.OFF, satchel.OFF)


if __name__ == "__main__":
    COMPILER = sys.argv.pop(1)
    unittest.main()
