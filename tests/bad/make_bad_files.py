#!/usr/bin/env python3
"""Write files that Antler must refuse, and a table of what it must say about each.

    make_bad_files.py FOLDER

FOLDER/table.txt then has one line per file: its name, a tab, a fragment of the expected sentence.
Needs only the standard library.
"""
import gzip
import io
import pathlib
import struct
import sys
import zipfile

FOLDER = pathlib.Path(sys.argv[1])
TABLE = []


def bad(name, data, fragment):
    """One bad file.  Names must be new; text becomes UTF-8."""
    assert name not in [row[0] for row in TABLE], name
    (FOLDER / name).write_bytes(data.encode() if isinstance(data, str) else data)
    TABLE.append((name, fragment))


# ---- NumPy arrays ------------------------------------------------------------------------------------

ROWS = [[float(i * i % 7), float(i), float((i * 5) % 11)] for i in range(8)]
F8 = b"".join(struct.pack("<3d", *row) for row in ROWS)  # 8 x 3


def head(dictionary, version=(1, 0), length=None):
    text = dictionary.encode("utf-8")
    size = len(text) if length is None else length
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H" if version[0] == 1 else "<I", size) + text


def dict_of(descr="'<f8'", fortran="False", shape="(8, 3)"):
    return "{'descr': %s, 'fortran_order': %s, 'shape': %s, }\n" % (descr, fortran, shape)


def npy(descr="'<f8'", fortran="False", shape="(8, 3)", data=F8, version=(1, 0)):
    return head(dict_of(descr, fortran, shape), version) + data


def npy_cases():
    good = npy()
    bad("empty.npy", b"", "is empty")
    for cut in (1, 3, 5):
        bad("magic_%d_bytes.npy" % cut, good[:cut], "truncated: it ends within its header")
    bad("magic_only.npy", good[:6], "ends within its header, 2 bytes are missing")
    bad("no_version.npy", good[:7], "ends within its header, 1 byte is missing")
    bad("no_length.npy", good[:8], "ends within its header, 2 bytes are missing")
    bad("half_length.npy", good[:9], "ends within its header, 1 byte is missing")
    bad("no_dict.npy", good[:10], "ends within its header")
    bad("half_dict.npy", good[:40], "ends within its header")
    bad("no_values.npy", good[:-len(F8)], "within its values, 192 bytes are missing")
    bad("one_byte_short.npy", good[:-1], "within its values, 1 byte is missing")
    bad("half_the_values.npy", good[:-96], "within its values, 96 bytes are missing")
    bad("one_byte_more.npy", good + b"\0", "1 bytes follow after the end of the array")
    bad("two_arrays.npy", good + good, "several arrays, which belong in an .npz")
    bad("version_0.npy", npy(version=(0, 0)), "of version 0.0")
    bad("version_4.npy", npy(version=(4, 0)), "of version 4.0")
    bad("version_1_1.npy", npy(version=(1, 1)), "of version 1.1")
    bad("version_255.npy", npy(version=(255, 255)), "of version 255.255")
    bad("length_too_large.npy", head(dict_of(), length=60000) + F8, "truncated: it ends within its header")
    bad("length_too_small.npy", head(dict_of(), length=20) + F8, "cannot be understood")
    bad("length_zero.npy", head(dict_of(), length=0) + F8, "'{' was expected")
    bad("length_4_gb.npy", head(dict_of(), (2, 0), length=0xFFFFFFFF) + F8, "truncated: it ends within its header")
    bad("header_2_mb.npy", head(dict_of() + " " * (2 << 20), (2, 0)) + F8, "header claims 2097")
    broken = {
        "not_a_dict": "[1, 2, 3]",
        "unclosed_dict": "{'descr': '<f8', 'fortran_order': False, 'shape': (8, 3)",
        "unclosed_string": "{'descr': '<f8",
        "no_colon": "{'descr' '<f8', 'fortran_order': False, 'shape': (8, 3)}",
        "no_comma": "{'descr': '<f8' 'fortran_order': False, 'shape': (8, 3)}",
        "bare_key": "{descr: '<f8', 'fortran_order': False, 'shape': (8, 3)}",
        "unknown_key": "{'descr': '<f8', 'fortran_order': False, 'shape': (8, 3), 'x': 1}",
        "text_after_dict": "{'descr': '<f8', 'fortran_order': False, 'shape': (8, 3)} and more",
        "function_call": "__import__('os').system('true')",
        "nul_bytes": "\0" * 64,
        "shape_is_a_list": "{'descr': '<f8', 'fortran_order': False, 'shape': [8, 3]}",
        "shape_is_a_number": "{'descr': '<f8', 'fortran_order': False, 'shape': 24}",
        "shape_is_none": "{'descr': '<f8', 'fortran_order': False, 'shape': None}",
        "shape_with_words": "{'descr': '<f8', 'fortran_order': False, 'shape': (eight, 3)}",
        "shape_with_float": "{'descr': '<f8', 'fortran_order': False, 'shape': (8.0, 3)}",
        "shape_unclosed": "{'descr': '<f8', 'fortran_order': False, 'shape': (8, 3",
        "order_is_a_number": "{'descr': '<f8', 'fortran_order': 0, 'shape': (8, 3)}",
        "order_is_lower_case": "{'descr': '<f8', 'fortran_order': false, 'shape': (8, 3)}",
        "descr_is_a_number": "{'descr': 8, 'fortran_order': False, 'shape': (8, 3)}",
        "descr_is_deep": "{'descr': " + "[" * 40 + "]" * 40 + ", 'fortran_order': False, 'shape': (8, 3)}",
    }
    for name, text in broken.items():
        bad(name + ".npy", head(text) + F8, "the array's header cannot be understood at character")
    for key, text in (("descr", "{'fortran_order': False, 'shape': (8, 3)}"), ("fortran_order", "{'descr': '<f8', 'shape': (8, 3)}"),
                      ("shape", "{'descr': '<f8', 'fortran_order': False}")):
        bad("lacks_%s.npy" % key, head(text) + F8, "the array's header lacks '%s'" % key)
    bad("no_keys.npy", head("{}") + F8, "lacks 'descr'")
    bad("key_twice.npy", head("{'shape': (8, 3), 'shape': (8, 3)}") + F8, "gives 'shape' twice")
    bad("negative_rows.npy", npy(shape="(-8, 3)"), "a negative length")
    bad("huge_number.npy", npy(shape="(%d, 3)" % 10**40), "no machine can hold")
    bad("product_overflows.npy", npy(shape="(%d, %d)" % (2**40, 2**40)), "more values than any machine")
    bad("product_wraps_to_24.npy", npy(shape="(%d, 3)" % (2**64 // 3 + 9)), "more values than any machine")
    bad("bytes_overflow.npy", npy(shape="(%d,)" % 2**62), "more values than any machine")
    bad("claims_1e18_rows.npy", npy(shape="(1000000000000000000, 1)"), "bytes are missing")
    bad("claims_1e12_rows.npy", npy(shape="(1000000000000, 3)"), "bytes are missing")
    bad("no_axes.npy", npy(shape="()", data=F8[:8]), "a single number (0 axes)")
    bad("four_axes.npy", npy(shape="(1, 2, 4, 3)"), "has 4 axes")
    bad("nine_axes.npy", npy(shape="(1, 1, 1, 1, 1, 1, 1, 8, 3)"), "has 9 axes")
    for name, shape in (("no_rows", "(0, 3)"), ("no_columns", "(8, 0)"), ("no_trajectories", "(0, 8, 3)"), ("nothing", "(0,)")):
        bad(name + ".npy", npy(shape=shape, data=b""), "the array is empty")
    bad("zero_and_huge.npy", npy(shape="(0, %d, %d)" % (2**60, 2**60), data=b""), "the array is empty")
    types = {
        "object": ("'|O'", "Python objects (a pickle)"), "object_8": ("'|O8'", "Python objects (a pickle)"),
        "structured": ("[('a', '<f8'), ('b', '<f4')]", "a structured type"), "structured_nested": ("[('a', [('b', '<f8', (2,))])]", "a structured type"),
        "void": ("'|V8'", "a structured type"), "complex64": ("'<c8'", "complex numbers"), "complex128": ("'<c16'", "complex numbers"),
        "half": ("'<f2'", "half-precision"), "long_double": ("'<f16'", "long doubles"), "long_double_12": ("'<f12'", "long doubles"),
        "bytes": ("'|S4'", "holds text"), "unicode": ("'<U4'", "holds text"), "unicode_big": ("'>U4'", "holds text"),
        "datetime": ("'<M8[ns]'", "dates or time spans"), "timedelta": ("'<m8[D]'", "dates or time spans"),
        "f3": ("'<f3'", "type '<f3' is not known"), "i3": ("'<i3'", "type '<i3' is not known"), "u16": ("'<u16'", "is not known"),
        "b2": ("'<b2'", "is not known"), "f_without_size": ("'<f'", "is not known"), "empty_type": ("''", "is not known"), "only_order": ("'<'", "is not known"),
        "trailing_text": ("'<f8 '", "is not known"), "huge_size": ("'<f99999999999999999999999'", "no machine can hold"),
        "comma_types": ("'<f8,<f8'", "is not known"),
    }
    for name, (descr, fragment) in types.items():
        bad("type_%s.npy" % name, npy(descr=descr), fragment)
    # Sound files whose values cannot be used.
    nan, inf = float("nan"), float("inf")

    def values(rows, fmt="<d", **options):
        return b"".join(struct.pack(fmt[0] + str(len(row)) + fmt[1], *row) for row in rows)

    rows = [row[:] for row in ROWS]
    rows[4][1] = nan
    bad("nan.npy", npy(data=values(rows)), "value is NaN in row 5, column 2 (x2); 1 such value")
    rows[6][1] = inf
    bad("nan_and_inf.npy", npy(data=values(rows)), "value is NaN in row 5, column 2 (x2); 2 such values")
    rows = [row[:] for row in ROWS]
    rows[7][2] = -inf
    bad("inf.npy", npy(data=values(rows)), "value is infinite in row 8, column 3 (x3)")
    bad("all_nan.npy", npy(data=values([[nan] * 3] * 8)), "value is NaN in row 1, column 1 (x1); 8 such values")
    bad("nan_f4_big.npy", npy("'>f4'", data=values(rows, ">f")), "value is infinite in row 8, column 3")
    bad("nan_fortran.npy", npy(fortran="True", shape="(3, 8)", data=values(rows)), "looks transposed")
    bad("constant.npy", npy(data=values([[1, r[1], 0.1] for r in ROWS])), "column 1 (x1) is constant (1)")
    bad("constant_last.npy", npy(data=values([[r[0], r[1], 0.1] for r in ROWS])), "column 3 (x3) is constant (0.1)")
    bad("constant_ints.npy", npy("'<i4'", data=struct.pack("<24i", *[7] * 24)), "is constant (7)")
    bad("transposed.npy", npy(shape="(3, 8)"), "8 columns but only 3 rows, so it looks transposed; if time runs along the rows, use --transpose")
    bad("one_row.npy", npy(shape="(1, 24)"), "24 columns but only 1 row,")
    bad("one_value.npy", npy(shape="(1,)", data=F8[:8]), "has 1 row, but at least 2 are needed")
    bad("short_trajectories.npy", npy(shape="(8, 1, 3)"), "trajectory 1: 3 columns but only 1 row")
    bad("nan_in_trajectory_3.npy", npy("'<f4'", shape="(3, 2, 2)", data=struct.pack("<12f", 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, nan, 2)),
        "trajectory 3: value is NaN in row 2, column 1")
    bad("two_million_columns.npy", npy("'|u1'", shape="(1, 2000000)", data=b"\1" * 2000000), "use --transpose")


# ---- NumPy archives ----------------------------------------------------------------------------------


def npz(members, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=method)
    return out.getvalue()


def floats(*values, shape=None):
    return npy(shape="(%d,)" % len(values) if shape is None else shape, data=struct.pack("<%dd" % len(values), *values))


def texts(*values, width=4):
    data = b"".join(value.encode("utf-32-le").ljust(4 * width, b"\0") for value in values)
    return npy("'<U%d'" % width, shape="(%d,)" % len(values), data=data)


def npz_cases():
    x, x2 = npy(), npy(shape="(12, 2)")
    good = npz([("x_000.npy", x)])
    packed = npz([("x_000.npy", x)], zipfile.ZIP_DEFLATED)
    bad("empty.npz", b"", "is empty")
    bad("text.npz", "1,2\n3,4\n", "is not a NumPy archive")
    bad("array.npz", x, "is a NumPy array; rename it to .npy")
    bad("zip.npy", good, "is a zip archive")
    bad("zip.csv", good, "is a zip archive")
    bad("empty_archive.npz", npz([]), "the archive is empty")
    bad("no_arrays.npz", npz([("readme.txt", b"hello")]), "without any array")
    bad("folder_only.npz", npz([("data/", b"")]), "without any array")
    for part in (4, 30, 100, 200, len(good) - 60, len(good) - 22, len(good) - 10, len(good) - 1):
        bad("cut_at_%d.npz" % part, good[:part], "truncated or damaged")
    for part in (40, 90, len(packed) - 30, len(packed) - 1):
        bad("deflated_cut_at_%d.npz" % part, packed[:part], "truncated or damaged")
    wrong = bytearray(good)
    wrong[len(head(dict_of())) + 60] ^= 0xFF
    bad("bad_checksum.npz", bytes(wrong), "its checksum does not match")
    wrong = bytearray(packed)
    for i in range(60, 100):
        wrong[i] ^= 0x5A
    bad("bad_deflate.npz", bytes(wrong), "is damaged")
    locked = bytearray(good)
    locked[6] |= 1
    locked[good.rindex(b"PK\x01\x02") + 8] |= 1
    bad("encrypted.npz", bytes(locked), "is encrypted; save it without a password")
    for method, name in ((zipfile.ZIP_BZIP2, "bzip2"), (zipfile.ZIP_LZMA, "lzma")):
        bad(name + ".npz", npz([("x.npy", x)], method), "a method (%d) that NumPy does not use" % method)
    unknown = bytearray(good)
    unknown[8] = unknown[good.rindex(b"PK\x01\x02") + 10] = 77
    bad("unknown_method.npz", bytes(unknown), "a method (77)")
    for size in (10, 100000000):  # the archive's own word on a member's size
        lie = bytearray(good)
        at = good.rindex(b"PK\x01\x02")
        lie[at + 24:at + 28] = struct.pack("<I", size)
        bad("wrong_size_%d.npz" % size, bytes(lie), "array x_000")
    twice = io.BytesIO()
    with zipfile.ZipFile(twice, "w") as archive:
        archive.writestr("x.npy", x)
        archive.writestr("y.npy", x)
    bad("same_name_twice.npz", twice.getvalue().replace(b"y.npy", b"x.npy"), "two arrays called 'x'")
    bad("bomb.npz", npz([("x.npy", npy(shape="(1000000000000, 3)", data=b"\0" * 10000000))], zipfile.ZIP_DEFLATED), "truncated")
    members = {
        "member_empty": ([("x.npy", b"")], "array x: is empty"),
        "member_text": ([("x.npy", b"1,2\n3,4\n")], "array x: is not a NumPy array"),
        "member_zip": ([("x.npy", good)], "array x: is not a NumPy array"),
        "member_short": ([("x.npy", x[:-7])], "array x: the array is truncated: it ends within its values, 7 bytes"),
        "member_long": ([("x.npy", x + b"1234")], "array x: 4 bytes follow"),
        "member_bad_header": ([("x.npy", head("{") + F8)], "array x: the array's header cannot be understood"),
        "object": ([("x.npy", npy("'|O'"))], "array x: the array holds Python objects"),
        "foreign_object": ([("data.npy", npy("'|O'")), ("dt.npy", floats(0.1, shape="()"))], "array data: the array holds Python objects"),
        "complex": ([("x.npy", npy("'<c16'", shape="(4, 3)"))], "array x: the array holds complex numbers"),
        "foreign_complex": ([("a.npy", x), ("b.npy", npy("'<c16'", shape="(4, 3)"))], "holds the arrays a, b; choose those to take with --key, as in --key a"),
        "foreign_half": ([("a.npy", npy("'<f2'", shape="(32, 3)"))], "array a: the array holds half-precision"),
        "structured": ([("x.npy", npy("[('a', '<f8')]"))], "array x: the array has a structured type"),
        "only_text": ([("a.npy", texts("a", "b"))], "holds no array of numbers"),
        "only_numbers": ([("a.npy", floats(1, shape="()"))], "holds no array of numbers"),
        "only_dt": ([("dt.npy", floats(1, shape="()"))], "holds no array of numbers"),
        "four_axes": ([("x.npy", npy(shape="(1, 1, 8, 3)"))], "array x: the array has 4 axes"),
        "scalar_x": ([("x.npy", floats(1, shape="()"))], "array x: the array is a single number"),
        "empty_x": ([("x.npy", npy(shape="(0, 3)", data=b""))], "array x: the array is empty"),
        "mixed_columns": ([("x_000.npy", x), ("x_001.npy", x2)], "array x_001: has 2 variables, but bad/mixed_columns.npz:x_000 has 3"),
        "newline_in_key": ([("a\n.npy", x), ("b.npy", x2)], "holds the arrays a?, b; choose"),
        "foreign_mixed": ([("a.npy", x), ("b.npy", floats(*range(8)))], "holds the arrays a, b; choose"),
        "inputs_alone": ([("x_000.npy", x), ("s_001.npy", x)], "array s_001: these inputs have no trajectory x_001"),
        "inputs_missing": ([("x_0.npy", x), ("s_0.npy", x), ("x_1.npy", x)], "array x_1: has 0 inputs"),
        "inputs_rows": ([("x.npy", x), ("s.npy", x2)], "inputs have 12 rows, but the trajectory has 8"),
        "inputs_count": ([("x.npy", npy(shape="(2, 4, 3)")), ("s.npy", npy(shape="(3, 4, 2)"))], "inputs are for 3 trajectories, but it has 2"),
        "inputs_text": ([("x.npy", x), ("s.npy", texts("a"))], "array s: the array holds text"),
        "inputs_nan": ([("x.npy", x), ("s.npy", floats(*[float("nan")] * 8))], "value is NaN in row 1, input 1 (s1); 8 such values"),
        "names_too_few": ([("x.npy", x), ("names.npy", texts("a", "b"))], "names has 2 entries, but there are 3 variables"),
        "names_too_many": ([("x.npy", x), ("names.npy", texts("a", "b", "c", "d"))], "names has 4 entries"),
        "names_numbers": ([("x.npy", x), ("names.npy", floats(1, 2, 3))], "array names: must be a list of text"),
        "names_table": ([("x.npy", x), ("names.npy", npy("'<U1'", shape="(3, 1)", data=b"abc".decode().encode("utf-32-le")))], "array names: must be a list of text"),
        "names_newline": ([("x.npy", x), ("names.npy", texts("a", "b\n", "c"))], "control characters"),
        "names_bad_code": ([("x.npy", x), ("names.npy", npy("'<U1'", shape="(3,)", data=struct.pack("<3I", 97, 0x110000, 98)))], "array names: holds a name"),
        "names_surrogate": ([("x.npy", x), ("names.npy", npy("'<U1'", shape="(3,)", data=struct.pack("<3I", 97, 0xD800, 98)))], "array names: holds a name"),
        "names_cut": ([("x.npy", x), ("names.npy", texts("a", "b", "c")[:-3])], "array names: the array is truncated"),
        "names_of_inputs": ([("x.npy", x), ("input_names.npy", texts("u"))], "input_names has 1 entry, but there are 0 inputs"),
        "mean_alone": ([("x.npy", x), ("mean.npy", floats(1, 2, 3))], "only one of the arrays mean and scale"),
        "scale_alone": ([("x.npy", x), ("scale.npy", floats(1, 2, 3))], "only one of the arrays mean and scale"),
        "mean_count": ([("x.npy", x), ("mean.npy", floats(1, 2)), ("scale.npy", floats(1, 2))], "mean has 2 entries, but there are 3"),
        "scale_zero": ([("x.npy", x), ("mean.npy", floats(1, 2, 3)), ("scale.npy", floats(1, 0, 3))], "scaling of variable 2"),
        "scale_negative": ([("x.npy", x), ("mean.npy", floats(1, 2, 3)), ("scale.npy", floats(1, 1, -3))], "scaling of variable 3"),
        "mean_nan": ([("x.npy", x), ("mean.npy", floats(float("nan"), 2, 3)), ("scale.npy", floats(1, 1, 1))], "scaling of variable 1"),
        "mean_text": ([("x.npy", x), ("mean.npy", texts("a")), ("scale.npy", floats(1))], "array mean: must be a plain list of numbers"),
        "dt_negative": ([("x.npy", x), ("dt.npy", floats(-0.1, shape="()"))], "array dt: must be one positive number"),
        "dt_nan": ([("x.npy", x), ("dt.npy", floats(float("nan"), shape="()"))], "array dt: must be one positive number"),
        "dt_list": ([("x.npy", x), ("dt.npy", floats(1, 2))], "array dt: must be one positive number"),
        "dt_text": ([("x.npy", x), ("dt.npy", texts("fast"))], "array dt: must be a plain list of numbers"),
        "constant": ([("x.npy", npy(data=struct.pack("<24d", *[3] * 24)))], "column 1 (x1) is constant (3)"),
        "transposed": ([("x.npy", npy(shape="(3, 8)"))], "looks transposed"),
        "short": ([("x_0.npy", floats(1)), ("x_1.npy", floats(2))], "short.npz:x_0, trajectory 1: has 1 row"),
    }
    for name, (parts, fragment) in members.items():
        bad(name + ".npz", npz(parts), fragment)


# ---- text --------------------------------------------------------------------------------------------


def text_cases():
    body = "1,2,3\n4,7,5\n6,1,9\n2,8,4\n"
    cases = {
        "empty.csv": ("", "is empty"),
        "newline.csv": ("\n", "only blank lines and comments"),
        "blanks.txt": ("   \n\t\n  \n", "only blank lines and comments"),
        "comments.csv": ("# a\n# b\n", "only blank lines and comments"),
        "header_only.csv": ("x,y,z\n", "has a header but no numbers"),
        "header_only.tsv": ("x\ty\tz\n", "has a header but no numbers"),
        "header_and_comment.csv": ("x,y,z\n# end\n\n", "has a header but no numbers"),
        "bom_only.csv": ("\ufeff", "is empty"),
        "word.csv": (body + "7,abc,9\n", "not a number in line 5, column 2 ('abc')"),
        "word_first.csv": ("1,abc,3\n" + body, "not a number in line 1, column 2 ('abc')"),
        "word_after_header.csv": ("x,y,z\n1,2,three\n" + body, "not a number in line 2, column 3 ('three')"),
        "word_after_comments.csv": ("# 1\n# 2\n\n" + body + "\n7,8,q\n", "not a number in line 9, column 3 ('q')"),
        "units_below.csv": (body + "x,y,z\n", "not a number in line 5, column 1 ('x')"),
        "times.csv": ("t,x\n00:00:01,1\n00:00:02,3\n", "line 2, column 1 ('00:00:01')"),
        "words_and_numbers.csv": ("a,b\nlow,1\n3,2\n", "not a number in line 2, column 1 ('low'), and there are numbers from row 2 on"),
        "words_below.csv": ("a,b\n1,2\nlow,3\n", "not a number in line 3, column 1 ('low')"),
        "words_alone.csv": ("a,b\nlow,high\nhigh,low\n", "holds words, such as"),
        "hex.csv": (body + "0x1F,1,2\n", "line 5, column 1 ('0x1F')"),
        "fraction.csv": (body + "1/2,1,2\n", "line 5, column 1 ('1/2')"),
        "percent.csv": (body + "1,50%,2\n", "line 5, column 2 ('50%')"),
        "money.csv": (body + "$1,1,2\n", "line 5, column 1 ('$1')"),
        "complex.csv": (body + "1+2j,1,2\n", "line 5, column 1 ('1+2j')"),
        "two_points.csv": (body + "1.2.3,1,2\n", "line 5, column 1 ('1.2.3')"),
        "two_signs.csv": (body + "--1,1,2\n", "line 5, column 1 ('--1')"),
        "lone_sign.csv": (body + "+,1,2\n", "line 5, column 1 ('+')"),
        "lone_exponent.csv": (body + "1e,1,2\n", "line 5, column 1 ('1e')"),
        "spaces_inside.csv": (body + "1 000,1,2\n", "line 5, column 1 ('1 000')"),
        "unicode_minus.csv": (body + "−1,1,2\n", "line 5, column 1 ('−1')"),
        "unicode_digits.csv": (body + "١,1,2\n", "line 5, column 1"),
        "letter_o.csv": (body + "1O,1,2\n", "line 5, column 1 ('1O')"),
        "quoted_word.csv": (body + '"a b",1,2\n', "line 5, column 1 ('a b')"),
        "open_quote.csv": (body + '"1,1,2\n', "line 5"),
        "text_after_quote.csv": (body + '"1"x,1,2\n', "line 5, column 1"),
        "too_large.csv": (body + "1e999,1,2\n", "line 5, column 1 ('1e999') is too large"),
        "too_negative.csv": (body + "-1e309,1,2\n", "line 5, column 1 ('-1e309') is too large"),
        "very_long_number.csv": (body + "1" * 5000 + ",1,2\n", "line 5, column 1 ('111111111111111111111111...')"),
        "very_long_word.csv": (body + "a" * 3000000 + ",1,2\n", "line 5, column 1 ('aaaaaaaaaaaaaaaaaaaaaaaa...')"),
        "fewer_fields.csv": (body + "1,2\n", "line 5 has 2 fields, but the lines before have 3"),
        "more_fields.csv": (body + "1,2,3,4\n", "line 5 has 4 fields, but the lines before have 3"),
        "one_field.csv": (body + "1\n", "line 5 has 1 field, but the lines before have 3"),
        "header_shorter.csv": ("x,y\n" + body, "line 2 has 3 fields, but the header has 2"),
        "header_longer.csv": ("a,x,y,z\n" + body, "line 2 has 3 fields, but the header has 4"),
        "cut_last_line.csv": (body + "1,2", "line 5 has 2 fields, but the lines before have 3"),
        "ragged.txt": ("1 2 3\n4 5\n", "line 2 has 2 fields, but the lines before have 3"),
        "ragged.tsv": ("1\t2\n3\t4\t5\n", "line 2 has 3 fields, but the lines before have 2"),
        "other_delimiter.csv": (body + "1;2;3\n", "line 5 has 1 field, but the lines before have 3"),
        "carriage_returns.csv": ("1,2\r3,4\r5,6\r", "carriage return within line 1"),
        "mixed_line_ends.csv": ("1,2\n3,4\r5,6\n7,8\n", "line 2"),
        "mixed_points.csv": ("1.5;2.5\n3,5;4,5\n6,5;1,5\n", "line 2, column 1 ('3,5') has a decimal comma, and others have a decimal point"),
        "thousands.csv": ("x;y\n1.234,5;2\n3;4\n", "line 2, column 1 ('1.234,5') has thousands marks; write it without them"),
        "thousands_quoted.csv": (body + '"1,234,567",2,3\n', "line 5, column 1 ('1,234,567') has thousands marks"),
        "dates_of_either_order.csv": ("x,y\n03/04/2024,2\n03/05/2024,4\n", "no row shows whether the day or the month is first"),
        "time_doubled.csv": ("time,y\n0,2\n1,4\n1,3\n2,1\n", "column 'time' is the time axis, but row 3 has the same time as the row before (1)"),
        "time_backwards.csv": ("time,y\n0,2\n1,4\n2,3\n1.5,1\n", "row 4 (1.5) is earlier than the row before (2)"),
        "time_reversed.csv": ("time,y\n3,2\n2,4\n1,3\n0,1\n", "runs backwards from row 1 on (3, then 2); reverse the rows"),
        "time_missing.csv": ("time,y\n0,2\n1,4\n,3\n3,1\n", "row 3 has no time"),
        "time_uneven.csv": ("time,y\n0,2\n1,4\n1.3,3\n4,1\n4.5,7\n", "its rows are not evenly spaced in time"),
        "time_far.csv": ("time,y\n0,2\n1,4\n2,3\n3,1\n4,2\n1e9,7\n", "need 1000000001 rows, but there are 6"),
        "nan.csv": ("x,y\n1,2\n3,nan\n5,6\n", "value is NaN in row 2, column 2 (y); 1 such value in all"),
        "nans.csv": ("x,y\n1,NaN\n3,nan\n5,6\n", "value is NaN in row 1, column 2 (y); 2 such values in all"),
        "inf.csv": ("x,y\n1,2\n3,4\n-inf,6\n", "value is infinite in row 3, column 1 (x)"),
        "infinity.txt": ("1 2\n3 Infinity\n5 6\n", "value is infinite in row 2, column 2 (x2)"),
        "constant.csv": ("x,y\n1,5\n2,5\n3,5\n", "column 2 (y) is constant (5)"),
        "one_row.csv": ("1,2,3\n", "3 columns but only 1 row, so it looks transposed"),
        "one_number.csv": ("42\n", "has 1 row, but at least 2 are needed"),
        "one_number_header.csv": ("x\n42\n", "has 1 row, but at least 2 are needed"),
        "wide.csv": ("1,2,3,4\n5,6,7,9\n", "4 columns but only 2 rows, so it looks transposed"),
        "dt_word.csv": ("# antler: dt=fast\n" + body, "dt= in the comment of line 1 cannot be used"),
        "dt_negative.csv": ("# antler: dt=-1\n" + body, "dt= in the comment of line 1"),
        "dt_nan.csv": ("# antler: dt=nan\n" + body, "dt= in the comment of line 1"),
        "dt_inf.csv": ("# antler: dt=inf\n" + body, "dt= in the comment of line 1"),
        "dt_empty.csv": ("# antler: dt=\n" + body, "dt= in the comment of line 1"),
        "mean_word.csv": ("# antler: mean=1,b,3\n" + body, "mean= in the comment of line 1"),
        "mean_twice.csv": ("# antler: mean=1,2,3\n# antler: mean=1,2,3\n" + body, "mean= in the comment of line 2"),
        "mean_short.csv": ("# antler: mean=1\n# antler: scale=1\n" + body, "1 means and 1 scales, but it has 3 variables"),
        "mean_alone.csv": ("# antler: mean=1,2,3\n" + body, "3 means and 0 scales"),
        "scale_zero.csv": ("# antler: mean=1,2,3\n# antler: scale=1,0,3\n" + body, "scale= in the comment of line 2"),
        "scale_inf.csv": ("# antler: mean=1,2,3\n# antler: scale=1,inf,3\n" + body, "scale= in the comment of line 2"),
        "inputs_all.csv": ("# antler: inputs=3\n" + body, "3 columns are inputs, but there are only 3"),
        "inputs_many.csv": ("# antler: inputs=99999999999\n" + body, "inputs= in the comment of line 1"),
        "inputs_word.csv": ("# antler: inputs=two\n" + body, "inputs= in the comment of line 1"),
        "html.csv": ("<!DOCTYPE html>\n<html></html>\n", "is a web page"),
        "html_small.csv": ("<html><body>404</body></html>\n", "is a web page"),
        "xml.csv": ('<?xml version="1.0"?>\n<a/>\n', "is an XML document"),
        "json.txt": ('{"x": [1, 2, 3]}\n', "is a JSON document"),
        "json_lines.txt": ("{\n  1\n}\n", "is a JSON document"),
        "json_list.dat": ("[[1, 2], [3, 4]]\n", "is a JSON document"),
        "lfs.csv": ("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "is a Git LFS pointer"),
        "prose.txt": ("This is a text.\nIt has words and no numbers at all.\n", "line 2 has 8 fields, but the header has 4"),
        "program.py": ("import numpy\nprint(1)\n", "line 2 has 1 field, but the header has 2"),
    }
    for name, (text, fragment) in cases.items():
        bad(name, text, fragment)
    raw = {
        "nul.csv": (b"1,2\n3,\x004\n", "has a NUL byte in line 2"),
        "nul_first.csv": (b"\0" * 100, "has a NUL byte in line 1"),
        "nul_far.csv": (b"1,2\n" * 200000 + b"\0,1\n", "has a NUL byte in line 200001"),
        "utf16_cut.csv": ("1,2\n3,4\n".encode("utf-16")[:-1], "is UTF-16 text that ends within a character"),
        "utf16_nul.csv": ("1,2\n3,\0\n".encode("utf-16"), "has a NUL byte in line 2"),
        "utf16_word.csv": ("1,2\n3,\u00e9\n".encode("utf-16"), "line 2, column 2 ('\u00e9')"),
        "latin_cell.csv": (b"1,2\n3,\xe9\n", "line 2, column 2 ('?')"),
        "control_header.csv": (b"a\x01b,y\n1,2\n3,4\n", "holds control characters"),
        "escape_codes.csv": (b"1,2\n3,\x1b[31m4\n", "line 2, column 2 ('?[31m4')"),
        "random_bytes.csv": (bytes((i * 37 + 11) % 255 + 1 for i in range(4096)), "random_bytes.csv"),
        "binary_doubles.dat": (F8, "has a NUL byte in line 1"),
    }
    for name, (data, fragment) in raw.items():
        bad(name, data, fragment)


# ---- other people's formats --------------------------------------------------------------------------


def stranger_cases():
    cases = {
        "hdf5.h5": (b"\x89HDF\r\n\x1a\n" + b"\0" * 64, "is an HDF5 file"),
        "hdf5.npy": (b"\x89HDF\r\n\x1a\n" + b"\0" * 64, "is an HDF5 file"),
        "matlab.mat": (b"MATLAB 5.0 MAT-file, Platform: GLNXA64" + b"\0" * 90, "is a MATLAB file"),
        "cut.csv.gz": (gzip.compress(b"1,2\n3,4\n")[:-14], "is truncated: it ends within what gzip has compressed"),
        "damaged.csv.gz": (b"\x1f\x8b\x08\0\0\0\0\0\0\3" + b"\xff" * 40, "is damaged: gzip cannot unpack it"),
        "words.csv.gz": (gzip.compress(b"1,2\n3,abc\n"), "not a number in line 2, column 2 ('abc')"),
        "table.csv.bz2": (b"BZh91AY&SY" + b"\0" * 20, "compressed with bzip2"),
        "table.csv.xz": (b"\xfd7zXZ\0" + b"\0" * 20, "compressed with xz"),
        "table.csv.zst": (b"\x28\xb5\x2f\xfd" + b"\0" * 20, "compressed with zstd"),
        "table.7z": (b"7z\xbc\xaf\x27\x1c" + b"\0" * 20, "is a 7-Zip archive"),
        "table.rar": (b"Rar!\x1a\x07" + b"\0" * 20, "is a RAR archive"),
        "table.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 20, "is an old Excel file"),
        "table.xlsx": (npz([("[Content_Types].xml", b"<x/>"), ("xl/workbook.xml", b"<x/>")]), "is an Excel workbook, which Antler reads through its Python package"),
        "table.parquet": (b"PAR1" + b"\0" * 20, "is a Parquet file"),
        "table.feather": (b"ARROW1\0\0" + b"\0" * 20, "is an Arrow file"),
        "grid.nc": (b"CDF\x01" + b"\0" * 20, "is a NetCDF file"),
        "grid2.nc": (b"CDF\x02" + b"\0" * 20, "is a NetCDF file"),
        "image.fits": (b"SIMPLE  =                    T", "is a FITS file"),
        "paper.pdf": (b"%PDF-1.7\n", "is a PDF document"),
        "figure.png": (b"\x89PNG\r\n\x1a\n" + b"\0" * 20, "is a picture (PNG)"),
        "photo.jpg": (b"\xff\xd8\xff\xe0" + b"\0" * 20, "is a picture (JPEG)"),
        "program": (b"\x7fELF" + b"\0" * 20, "is a program"),
        "nothing": (b"", "is empty"),
        "one_byte": (b"\x93", "truncated"),
    }
    for protocol in (2, 3, 4, 5):
        cases["pickle_%d.npy" % protocol] = (b"\x80" + bytes([protocol]) + b"N.", "is a Python pickle")
    for name, (data, fragment) in cases.items():
        bad(name, data, fragment)


FOLDER.mkdir(parents=True, exist_ok=True)
npy_cases()
npz_cases()
text_cases()
stranger_cases()
(FOLDER / "table.txt").write_text("".join("%s\t%s\n" % row for row in TABLE), encoding="utf-8")
print(len(TABLE), "bad files")
