"""Files of every release stay readable, and programs of every release stay able to call the library."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

RELEASES = Path(__file__).resolve().parents[1] / "releases"
FOLDERS = sorted(path for path in RELEASES.glob("*") if path.is_dir())
if not FOLDERS:
    pytest.skip("the files of the releases are not beside the tests", allow_module_level=True)
release = runpy.run_path(str(RELEASES / "release.py"))


def names(folder):
    return folder.name


@pytest.mark.parametrize("folder", FOLDERS, ids=names)
def test_files_are_loaded_evaluated_generated_and_resumed(folder):
    environment = {**os.environ, **release["ENVIRONMENT"]}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, RELEASES / "release.py", "use", folder]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(list(folder.glob("*.npz"))) >= 3


def layout(text):
    """{struct: (size, {field: (offset, bytes)})}"""
    found = {}
    for name, field, *numbers in (line.split() for line in text.splitlines()):
        if field == "size":
            found[name] = (int(numbers[0]), {})
        else:
            found[name][1][field] = tuple(map(int, numbers))
    return found


def faults(then, now):
    """What of `now` would not work with a program that was compiled with `then`."""
    for name, (size, fields) in then.items():
        if name not in now:
            yield f"{name} is gone"
            continue
        now_size, now_fields = now[name]
        room = fields.get("room", (size, 0))[0]  # where later fields may begin
        if "room" in fields and now_size != size:
            yield f"{name} is part of other structs and has {now_size} bytes, not {size}; use its room"
        for field, place in fields.items():
            if field != "room" and now_fields.get(field) != place:
                yield f"{name}.{field} was at {place} and is at {now_fields.get(field)}"
        for field, (offset, _) in now_fields.items():
            if field != "room" and field not in fields and offset < room:
                yield f"{name}.{field} is new and lies before the end of the older struct, at {offset} of {room}"


@pytest.mark.parametrize("folder", FOLDERS, ids=names)
def test_structs_only_grow_at_their_end(folder):
    then, now = layout((folder / "structs.txt").read_text()), layout(release["layout"]())
    assert list(faults(then, now)) == []


def test_other_changes_of_structs_are_faults():
    then = layout("A size 24\nA struct_size 0 8\nA x 8 8\nA room 16 8\nB size 16\nB struct_size 0 8\nB y 8 4\n")

    def changed(old, new):
        text = "A size 24\nA struct_size 0 8\nA x 8 8\nA room 16 8\nB size 16\nB struct_size 0 8\nB y 8 4\n"
        assert old in text
        return len(list(faults(then, layout(text.replace(old, new)))))

    assert changed("A x", "A x") == 0
    assert changed("B size 16\n", "B size 24\nB z 16 8\n") == 0
    assert changed("A room 16 8\n", "A w 16 8\n") == 0  # from the room
    assert changed("A size 24", "A size 32") == 1
    assert changed("A x 8 8\n", "A w 8 8\nA x 16 8\n") == 2
    assert changed("B y 8 4\n", "B y 8 8\n") == 1
    assert changed("B y 8 4\n", "B y 8 4\nB z 12 4\n") == 1  # in what was padding
    assert changed("B y 8 4\n", "") == 1
