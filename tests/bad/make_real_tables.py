#!/usr/bin/env python3
"""make_real_tables.py FOLDER - tables as they lie around, and what each gives.

Writes the files and table.txt into FOLDER: one line per file with its name, options of `antler info` ("-": none), the exit code, and
texts that must all be in the output, divided by tabs; texts by " | ", with \\n for the end of a line.
"""
import gzip
import io
import math
import pathlib
import random
import struct
import sys
import zipfile

FOLDER = pathlib.Path(sys.argv[1])
CASES = []
RANDOM = random.Random(7)


def x(i, phase=0.0):
    return 5 + 2 * math.sin(0.37 * i + phase) + 0.5 * math.cos(1.13 * i)


def rows(count, *columns, start=0, separator=","):
    """Lines of `count` rows; a column is a function of the row number that gives a number or a text."""
    lines = []
    for i in range(start, start + count):
        cells = [column(i) for column in columns]
        lines.append(separator.join(cell if isinstance(cell, str) else "%.5f" % cell for cell in cells))
    return "\n".join(lines) + "\n"


def case(name, data, *texts, options="", code=0):
    (FOLDER / name).write_bytes(data.encode() if isinstance(data, str) else data)
    CASES.append((name, options or "-", str(code), " | ".join(texts).replace("\n", "\\n")))


def npy(values, columns):
    shape = "(%d, %d)" % (len(values) // columns, columns) if columns else "(%d,)" % len(values)
    head = "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }\n" % shape
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%dd" % len(values), *values)


def npz(**arrays):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for key, data in arrays.items():
            archive.writestr(key + ".npy", data)
    return out.getvalue()


def day(i):
    """Days from 2020-01-01 on, within 2020 and 2021."""
    lengths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    for month, length in enumerate(lengths):
        if i < length:
            return "%d-%02d-%02d" % (2020 + month // 12, month % 12 + 1, i + 1)
        i -= length
    raise ValueError(i)


def clock(i):
    return "%s %02d:%02d:%02d" % (day(i // 86400), i // 3600 % 24, i // 60 % 60, i % 60)


def a(i):
    return x(i)


def b(i):
    return x(i, 1.0)


def time_cases():
    plain = rows(60, lambda i: "%.2f" % (0.02 * i), a, b)
    case("time_first.csv", "time,a,b\n" + plain, "N = 2, dt 0.02", "time       column 'time', 0 to 1.18",
         "--time none makes it a variable")
    case("time_none.csv", "time,a,b\n" + plain, "N = 3\n", options="--time none")
    case("time_given.csv", "when,a,b\n" + plain, "N = 2, dt 0.02", "column 'when' is the time axis", options="--time when")
    case("time_number.csv", "when,a,b\n" + plain, "N = 2, dt 0.02", options="--time 1")
    case("time_unknown.csv", "time,a,b\n" + plain, "there is no column 'tme'; did you mean 'time'? The columns are: time, a, b",
         options="--time tme", code=2)
    case("time_last.csv", "a,b,timestamp\n" + rows(60, a, b, lambda i: "%d" % (10 * i)), "N = 2, dt 10", "column 'timestamp'")
    case("time_unit_name.csv", "time_s,a\n" + rows(40, lambda i: "%.1f" % (i / 10), a), "dt 0.1 s")
    case("time_unit_brackets.csv", "t [ms],a\n" + rows(40, lambda i: "%d" % (4 * i), a), "dt 4 ms", "column 't [ms]'")
    case("time_unit_row.csv", "time,a\nh,mV\n" + rows(40, lambda i: "%d" % i, a), "dt 1 h", "40 rows in all, N = 1")
    case("no_header_time.txt", rows(40, lambda i: "%.3f" % (i / 250), a, b, separator=" "), "N = 2, dt 0.004",
         "the first column rises evenly and is the time axis")
    case("pandas_index.csv", ",a,b\n" + rows(40, lambda i: "%d" % i, a, b), "N = 2, dt 1")
    case("pandas_index_gaps.csv", ",a\n" + "".join(rows(1, lambda i: "%d" % i, a, start=i) for i in range(60) if i not in (7, 8, 30)),
         "60 rows in all, N = 1", "2 gaps in time: 3 rows are missing")
    case("pandas_index_and_time.csv", ",time,a,b\n" + rows(40, lambda i: "%d" % i, lambda i: "%.1f" % (i / 10), a, b), "N = 2, dt 0.1",
         "the first column, which has no name, counts the rows and is left out")
    case("temperature_called_t.csv", "t,p\n" + rows(80, a, b), "N = 2\n")
    case("falling_signal.csv", "level,p\n" + rows(80, lambda i: 100 - i - math.sin(i), b), "N = 2\n")
    case("rising_signal.csv", "level,p\n" + rows(80, lambda i: i + 0.3 * math.sin(i), b), "N = 2\n")
    case("two_ramps.csv", "a,b\n" + rows(80, lambda i: "%d" % i, lambda i: "%d" % (3 * i)), "N = 2\n")
    case("rounded_times.csv", "time,a\n" + rows(300, lambda i: "%.3f" % (i / 256), a), "dt 0.00390", "the time steps vary from 0.003 to 0.004")
    case("drifting_clock.csv", "time,a\n" + rows(3000, lambda i: "%.6f" % (0.1 * i + 2e-7 * i * i), a), "3000 rows in all, N = 1, dt 0.10")
    case("epoch_seconds.csv", "timestamp,a\n" + rows(40, lambda i: "%d" % (1700000000 + 60 * i), a), "dt 60 s", "since 1970: 2023-11-14 22:13:20")
    case("epoch_milliseconds.csv", "ts,a\n" + rows(40, lambda i: "%d" % (1700000000000 + 40 * i), a), "dt 40 ms")
    case("years.csv", "year,spots\n" + rows(60, lambda i: "%d" % (1700 + i), a), "dt 1 yr", "column 'year'")
    case("shuffled.csv", "time,a\n" + "".join(RANDOM.sample(plain_lines(50), 50)), "is earlier than the row before", options="--check", code=2)
    case("doubled.csv", "time,a\n0,1\n1,2\n1,3\n2,5\n", "row 3 has the same time as the row before (1)", options="--check", code=2)
    case("uneven.csv", "time,a\n" + rows(60, lambda i: "%.3f" % (i + 0.7 * RANDOM.random()), a), "not evenly spaced in time",
         "--resample 1 to interpolate", options="--check", code=2)
    case("uneven_resampled.csv", "time,a\n" + rows(60, lambda i: "%.3f" % (i + 0.7 * ((7 * i) % 10) / 10), a), "N = 1, dt 0.5",
         options="--resample 0.5 --resample-method cubic")
    case("resample_without_time.csv", "a,b\n" + rows(30, a, b), "no column was recognised as the time axis", options="--resample 1", code=2)


def plain_lines(count):
    return rows(count, lambda i: "%d" % i, a).splitlines(keepends=True)


LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def month(i):
    return "%d-%02d-01" % (2000 + i // 12, i % 12 + 1)


def stranger_cases():
    """What a first walk with files of others met."""
    case("digits.csv", "date,a\n" + rows(400, lambda i: day(i).replace("-", ""), a), "400 rows in all, N = 1, dt 1 d", "2020-01-01 to 2021-02-03")
    case("digits_minutes.csv", "timestamp,a\n" + rows(50, lambda i: clock(600 * i).translate({45: None, 58: None, 32: None})[:12], a),
         "dt 10 min", "2020-01-01 00:00:00 to 2020-01-01 08:10:00")
    case("digits_no_date.csv", "flow,a\n" + rows(30, lambda i: "%d" % (20200101 + 7 * (i % 3)), a), "N = 2\n")
    case("digits_wrong.csv", "date,a\n20200131,1\n20200132,2\n20200133,3\n", "line 3, column 1 ('20200132') is not a date", code=2)
    case("named_months.csv", "date,a\n" + rows(60, lambda i: "%02d-%s-2020" % (i % 31 + 1, "Jan" if i < 31 else "Mar"), a).replace("-Mar-", "-mar-"),
         "2020-01-01 to 2020-03-29", "1 gap in time")
    case("long_months.csv", "date;a\n" + rows(31, lambda i: "March %d, 2024 12:00" % (i + 1), a, separator=";"), "dt 1 d", "2024-03-01 12:00:00")
    case("date_and_clock.csv", "Time,a,Date\n" + rows(90, lambda i: clock(1200 * i)[11:], a, lambda i: clock(1200 * i)[:10]),
         "N = 1, dt 20 min", "2020-01-01 00:00:00 to 2020-01-02 05:40:00")
    case("clock_wrong.csv", "date,clock,a\n2020-01-01,10:00,1\n2020-01-01,noon,2\n", "line 3, column 2 ('noon') is no time of day", code=2)
    case("durations.csv", "time,a\n" + rows(30, lambda i: "%d:%02d:00" % (i // 60, i % 60), a), "and elapsed time as a number", code=2)
    case("spreadsheet_errors.csv", "a,b\n1,#N/A\n#DIV/0!,2\n3,4 # a comment\n", "1 of 3 values of a are missing",
         "1 of 3 values of b are missing")
    case("bars.csv", "a|b\n" + rows(30, a, b, separator="|"), "bar-separated text", "N = 2\n")
    case("bar_in_name.txt", "|v| t2\n" + rows(30, a, b, separator=" "), "space-separated text", "N = 2\n")
    case("truths.csv", "a,on\n1.5,True\n2.5,False\n", "N = 2\n", "True and False are read as 1 and 0, first in column 2")
    case("percent.csv", "a,b\n1.5,3 %\n2.5,4 %\n", "('3 %'); write the number without a unit or sign", code=2)
    case("price.csv", "a,b\n1.5,$3\n2.5,$4\n", "('$3'); write the number without a unit or sign", code=2)
    case("narrow_blanks.csv", "a;b\n1\u202f234,5;2\n1\u202f235,5;3\n", "has thousands marks", code=2)
    case("old_mac.csv", "a,b\r1,2\r3,4\r", "convert its line ends to LF or CR LF", code=2)
    wide = "time\tTemp\u00e9rature (\u00b0C)\t\U0001d465\r\n" + rows(20000, lambda i: "%d" % i, a, b, separator="\t")
    for name, data in (("unicode_text.txt", wide.encode("utf-16")), ("utf16_big.txt", b"\xfe\xff" + wide.encode("utf-16-be")),
                       ("utf16_no_mark.txt", wide.encode("utf-16-le"))):
        case(name, data, "tab-separated text", "20000 rows in all, N = 2, dt 1", "Temp\u00e9rature (\u00b0C)", "\U0001d465 ")
    case("latin.csv", ("Datum;Temp\u00e9rature;\u00b5V\n" + rows(30, day, a, b, separator=";")).encode("latin-1"), "N = 2, dt 1 d",
         "Temp\u00e9rature", "\u00b5V", "its text is not UTF-8 and is read as Windows-1252 (Latin-1)")
    case("latin_subjects.csv", ("id,v\n" + rows(30, lambda i: ("Zo\u00eb", "\u20ac")[i // 15], a)).encode("cp1252"), "2 trajectories",
         ":Zo\u00eb, 15 rows", ":\u20ac, 15 rows", "is read as Windows-1252", options="--subject id")
    case("text_above.csv", "Station: Kiel\nSensor: 17\nInterval: 0.02 s\na,b\n1,2\n", "begin lines of text above the table with #", code=2)
    case("twins.csv", "a,a,b\n" + rows(30, a, b, a), "columns 1 and 2 are both called 'a'; --columns takes their numbers")
    case("calendar_columns.csv", "year,month,a\n" + rows(240, lambda i: "%d" % (2000 + i // 12), lambda i: "%d" % (i % 12 + 1), a),
         "make one column of dates such as 2024-03-31 of them")
    case("constant.csv", "a,b,c\n" + rows(30, a, lambda i: "7", lambda i: "8"), "b is 7 in all rows, and 1 more variable is constant")
    case("drift.csv", "a,b\n" + rows(400, lambda i: a(i) + 0.1 * i, b), "the mean of a is", "remove the trend or take differences")
    case("new_units.csv", "a,b\n" + rows(400, lambda i: a(i) * (1.8 if i > 200 else 1) + (32 if i > 200 else 0), b), "bring both parts to one unit")
    case("on_its_side.csv", "\n".join(",".join("%.3f" % a(i + k) for i in range(300)) for k in range(3)) + "\n", "so it looks transposed",
         "... and 44 more")
    case("offset.csv", "a,b\n" + rows(60, lambda i: "%.6f" % (1e9 + a(i)), b), " 1000000005.", "N = 2\n")
    case("infinite.csv", "a,b\n" + rows(300, lambda i: "inf" if i == 7 else a(i), b), "1 infinite, first in row 8")


def oscilloscope(count=200):
    return rows(count, lambda i: "%.6e" % (2e-6 * i - 0.002), lambda i: "%.5f" % a(i), lambda i: "%.5f" % b(i))


def lab_cases():
    """What instruments of four labs write."""
    head = "Model,MSO44\nFirmware Version,1.28.3\n,\nWaveform Type,ANALOG,\nHorizontal Units,s,\nSample Interval,2e-06\nProbe Attenuation,10,10\n"
    head += "Vertical Units,V,V\nVertical Offset,0,0\nLabel,,\n"
    above = "lines 1 to %d are text above the table and are skipped"
    case("tektronix.csv", head + "TIME,CH1,CH2\n" + oscilloscope(), "200 rows in all, N = 2, dt 2e-06", above % 10, "CH2")
    case("tektronix_units.csv", head + "TIME,CH1,CH2\ns,V,V\n" + oscilloscope(), "200 rows in all, N = 2, dt 2e-06 s", above % 10)
    case("lecroy.csv", "LECROYWR64Xi,12345,Waveform\nSegments,1,SegmentSize,5000\n#1,19-Nov-2026 11:12:13,0\nTime,Ampl\n" +
         rows(200, lambda i: "%.6e" % (2e-6 * i), a), "N = 1, dt 2e-06", above % 3, "Ampl")
    case("two_fields.csv", "Record Length,200\nSample Interval,2e-06\nVertical Units,V\nTIME,CH1\n" + rows(200, lambda i: "%.6e" % (2e-6 * i), a),
         "N = 1, dt 2e-06", above % 3)
    case("sentences.txt", "Measured by R. Bob\nLab 3, second floor\n\nt\tp\n" + rows(90, lambda i: "%d" % i, a, separator="\t"), "N = 1, dt 1", "lines 1 to 3 are")
    case("no_names.csv", "made on 2026-11-19\n" + rows(90, a, b), "90 rows in all, N = 2", "line 1 is text above the table and is skipped")
    labview = "LabVIEW Measurement\t\nWriter_Version\t2\nSeparator\tTab\n***End_of_Header***\t\t\t\nChannels\t2\t\t\nSamples\t90\t90\t\nDate\t2026/11/19\t2026/11/19\t\n"
    labview += "Time\t11:12:13.5\t11:12:13.5\t\nDelta_X\t0.001\t0.001\t\n***End_of_Header***\t\t\t\nX_Value\tVoltage_0\tVoltage_1\tComment\n"
    case("labview.txt", labview + rows(90, lambda i: "%.6f" % (i / 1000), a, b, separator="\t").replace("\n", "\t\n"), "N = 2, dt 0.001", above % 10, "column 4 (Comment) has no value")
    case("savetxt.txt", "# made by a program\n# time speed v\n" + rows(90, lambda i: "%.2f" % (i / 10), a, b, separator=" "), "N = 2, dt 0.1",
         "the comment in line 2 has the names of the columns", "speed ")
    case("savetxt_no.txt", "# time speed v\n" + rows(90, lambda i: "%.2f" % (i / 10), a, b, separator=" "), "the first column rises evenly", options="--header no")
    case("remark.csv", "# made in May, 2026\n" + rows(90, a, b), "90 rows in all, N = 2\n\nvariable")
    case("rigol.csv", "X,CH1,CH2,Start,Increment\nSequence,Volt,Volt,-2.0e-03,2.0e-06\n" + oscilloscope().replace("\n", ",,\n"),
         "200 rows in all, N = 2", "columns 4 (Start), 5 (Increment) have no value and are left out")
    case("short_row.csv", "a,b,c\n1,2\n" + rows(90, a, b, a), "line 2 has 2 fields, but the header has 3", code=2)
    case("r_names.txt", "a b\n" + rows(90, lambda i: "%d" % i, a, b, separator=" "), "line 2 has 3 fields, but the header has 2", code=2)
    case("year_by_month.txt", " 1950 2023\n" + rows(74, lambda i: "%d" % (1950 + i), *[a] * 12, separator=" "), "line 2 has 13 fields", code=2)

    def event(i):
        return ("S  1", "S  2")[i // 500 % 2] if i % 500 == 250 else ""

    def note(i):
        return '"stimulus, left"' if i % 500 == 250 else ""

    channels = ",".join("E%d" % k for k in range(1, 65))
    waves = [lambda i, k=k: x(i, 0.1 * k) for k in range(64)]
    case("eeg.csv", "Sample," + channels + ",Event,Annotation\n," + ",".join(["uV"] * 64) + ",,\n" + rows(1200, lambda i: "%d" % i, *waves, event, note),
         "1200 rows in all, N = 64, dt 1", "columns 66 (Event), 67 (Annotation) hold words, such as 'S  1' in line 253, and are left out")
    case("eeg_numbers.csv", "Sample," + channels + ",Event\n" + rows(1200, lambda i: "%d" % i, *waves, lambda i: "255" if i == 1000 else event(i)),
         "not a number in line 252, column 66 ('S  1'), and there are numbers from row 1001 on", "leave the column out with --columns -66", code=2)
    case("eeg_without.csv", "Sample," + channels + ",Event\n" + rows(1200, lambda i: "%d" % i, *waves, lambda i: "255" if i == 1000 else event(i)),
         "1200 rows in all, N = 63, dt 1", options="--columns -Event,-E7")

    grid = "".join("%s,%g,%g,%.3f\n" % (month(i), lat, lon, a(i) + lat) for i in range(60) for lat in (47.5, 48.25) for lon in (10.25, 11.75))
    case("grid.csv", "time,lat,lon,tas\n" + grid, "make one column of each place, or take the rows of one", options="--check", code=2)
    case("days_of_360.csv", "time,tas\n" + rows(120, lambda i: "2000-%02d-%02d 12:00:00" % (i // 30 + 1, i % 30 + 1), a),
         "line 61, column 1 ('2000-02-30 12:00:00') is no day of the usual calendar", "give --time none and --dt", code=2)
    case("days_of_360_dt.csv", "time,tas\n" + rows(120, lambda i: "2000-%02d-%02d 12:00:00" % (i // 30 + 1, i % 30 + 1), a),
         "120 rows in all, N = 1, dt 1\n", "column 1 (time) holds words", options="--time none --dt 1")
    case("days_since.csv", "time (days since 1850-01-01),tas,pr\n" + rows(90, lambda i: "%.1f" % (15 + 30 * i), a, lambda i: "-99.9" if i % 20 == 3 else b(i)),
         "N = 2, dt 30 d", "give --missing -99.9")

    def log(count, back=False, again=False, status=True):
        lines = []
        for i in range(count):
            seconds = 72000 + 30 * i - (3600 if back and i >= 840 else 0)
            cells = ["%02d.10.2026" % (24 + seconds // 86400), clock(seconds)[11:], ("%.3f" % a(i)).replace(".", ","), "%d" % (1450 + 10 * math.sin(i))]
            cells += ["Betrieb" if i % 97 else "St\u00f6rung", "EIN" if i % 41 < 30 else "AUS"] if status else []
            lines.append(";".join(cells))
        head = "Datum;Uhrzeit;Druck [bar];Drehzahl" + (";Status;Pumpe" if status else "")
        lines[count // 2:count // 2] = [head] if again else []
        return "\n".join([head] + lines) + "\n"

    words = "columns 5 (Status), 6 (Pumpe) hold words, such as 'St\u00f6rung' in line 2, and are left out"
    case("plc.csv", log(900).encode("latin-1"), "900 rows in all, N = 2, dt 30 s", "2026-10-24 20:00:00 to 2026-10-25 03:29:30", words)
    case("plc_again.csv", log(900, again=True), "array      900 x 6", "900 rows in all, N = 2, dt 30 s", "line 452 is the header again and is skipped", words)
    case("plc_winter.csv", log(900, back=True, status=False), "row 841 (2026-10-25 02:00:00) comes an hour too early after 2026-10-25 02:59:30",
         "write times in UTC, or with their offset", options="--check", code=2)
    case("hours_winter.csv", "time,a\n2026-10-25 00:00,1\n2026-10-25 01:00,2\n2026-10-25 02:00,3\n2026-10-25 02:00,4\n2026-10-25 03:00,2\n",
         "row 4 (2026-10-25 02:00:00) comes an hour too early", options="--check", code=2)
    spring = "".join(rows(1, lambda i: clock(600 * i), a, start=i) for i in range(144 * 91) if i >= 144 * 86 and not 144 * 88 + 12 <= i < 144 * 88 + 18)
    case("hours_summer.csv", "time,a\n" + spring, "1 gap in time: 6 rows are missing and become NaN, the longest 6 (70 min) after row 300 (2020-03-29 01:50:00)",
         "where the clocks went to summer time none is missing: write times in UTC")
    case("doubled_hour.csv", "time,a\n2026-10-23 00:00,1\n2026-10-23 01:00,2\n2026-10-23 02:00,3\n2026-10-23 02:00,4\n2026-10-23 03:00,2\n",
         "row 4 has the same time as the row before", options="--check", code=2)
    case("two_dates.csv", "local,a,utc\n" + rows(60, lambda i: clock(3600 * i), a, lambda i: clock(3600 * i)), "N = 1, dt 1 h", "column 3 (utc) holds words")
    case("detection_limit.csv", "a,b\n" + rows(60, a, lambda i: "<0.05" if i == 2 else b(i)), "('<0.05')", code=2)
    case("empty_column.csv", "a,b,c\n" + rows(60, a, lambda i: "", b), "N = 2\n", "column 2 (b) has no value and is left out")


def spreadsheet_cases():
    """Days since 1899-12-30 where the name says so; other numbers of that size stay numbers."""
    note = "holds days since 1899-12-30, as spreadsheets store dates, and is read as dates"
    hours = rows(300, lambda i: "%.5f" % (45000 + i / 24), a)
    case("serial_hours.csv", "Date,a\n" + hours, "N = 1, dt 1 h", "2023-03-15 00:00:00 to 2023-03-27 11:00:00", note)
    case("serial_days.csv", "Datum;a\n" + rows(90, lambda i: "%d" % (43831 + i), a, separator=";"), "N = 1, dt 1 d", "2020-01-01 to 2020-03-30", note)
    case("serial_months.csv", "Date/Time,a\n" + rows(24, lambda i: "%d" % (43831 + sum(LENGTHS[k % 12] + (k == 1) for k in range(i))), a),
         "dt 1 month", "2020-01-01 to 2021-12-01", note)
    case("serial_gap.csv", "date,a\n" + "".join(rows(1, lambda i: "%d" % (43831 + i), a, start=i) for i in range(60) if i != 20),
         "1 gap in time: 1 row is missing and becomes NaN", "after row 20 (2020-01-20)")
    case("serial_subjects.csv", "id,date,v\n" + "".join(rows(20, lambda i, k=k: "%d" % k, lambda i, k=k: "%d" % (43831 + 40 * k + i), a) for k in range(3)) +
         "3,45000,1\n", "4 trajectories, 61 rows in all, N = 1, dt 1 d", "1 rows, 2023-03-15 to 2023-03-15", note, options="--subject id")
    case("serial_time.csv", "Time,a\n" + hours, "dt 0.0416667", "may hold days since 1899-12-30, as spreadsheets store dates; if so, call it date")
    case("seconds_of_day.csv", "Time,a\n" + rows(300, lambda i: "%.2f" % (30000 + 0.02 * i), a), "dt 0.02\n",
         "--time none makes it a variable)\n\nvariable")
    case("date_of_ticks.csv", "date,a\n" + rows(300, lambda i: "%d" % (1000 + i), a), "dt 1\n", "column 'date', 1000 to 1299")
    case("date_in_seconds.csv", "date (s),a\n" + rows(300, lambda i: "%d" % (45000 + i), a), "dt 1 s\n")
    case("level_of_that_size.csv", "level,a\n" + rows(300, lambda i: "%.3f" % (45000 + a(i)), b), "N = 2\n\nvariable")


def date_cases():
    case("days.csv", "date,a\n" + rows(90, day, a), "dt 1 d", "column 'date', 2020-01-01 to 2020-03-30")
    case("days_no_header.csv", rows(90, day, a), "dt 1 d", "N = 1")
    case("minutes.csv", "Time,a,b\n" + rows(120, lambda i: clock(600 * i), a, b), "N = 2, dt 10 min", "2020-01-01 00:00:00 to 2020-01-01 19:50:00")
    case("iso_zone.csv", "time,a\n" + rows(50, lambda i: clock(3600 * i).replace(" ", "T") + "+02:00", a), "dt 1 h", "2020-01-01T00:00:00+02:00")
    case("milliseconds.csv", "time,a\n" + rows(50, lambda i: "2020-01-01T00:00:00.%03dZ" % (4 * i), a), "dt 0.004 s")
    case("months.csv", "month,a\n" + rows(36, lambda i: "%d-%02d" % (2000 + i // 12, i % 12 + 1), a), "dt 1 month", "column 'month', 2000-01 to 2002-12")
    case("month_ends.csv", "date,a\n" + rows(36, lambda i: "%d-%02d-%02d" % (2000 + i // 12, i % 12 + 1, LENGTHS[i % 12] + (i == 1)), a),
         "dt 1 month", "2000-01-31 to 2002-12-31")
    case("months_gap.csv", "date,a\n" + "".join(rows(1, month, a, start=i) for i in range(48) if not 20 <= i < 25),
         "dt 1 month", "1 gap in time: 5 rows are missing and become NaN, the longest 5 (6 month) after row 20 (2001-08-01)", "48 rows in all")
    case("quarters.csv", "date,a\n" + rows(36, lambda i: month(3 * i), a), "dt 3 month", "2000-01-01 to 2008-10-01")
    case("yearly.csv", "date,a\n" + rows(36, lambda i: month(12 * i), a), "dt 1 yr", "2000-01-01 to 2035-01-01")
    case("middles.csv", "date,a\n" + rows(36, lambda i: month(i)[:-2] + "%02d" % (15 + i % 2), a), "dt 30.4", "the time steps vary from 27 d to 32 d")
    case("resample_month.csv", "date,a\n" + rows(36, day, a), "'1month' has no fixed length; give it in days", options="--resample 1month", code=2)
    case("workdays.csv", "date,a\n" + "".join(rows(1, day, a, start=i) for i in range(100) if i % 7 < 5), "14 gaps in time", "dt 1 d")
    case("gap.csv", "time,a\n" + "".join(rows(1, lambda i: clock(60 * i), a, start=i) for i in range(400) if not 100 <= i < 200),
         "1 gap in time: 100 rows are missing and become NaN, the longest 100 (101 min) after row 100 (2020-01-01 01:39:00)",
         "400 rows in all", "100 of 400 values of a are missing (25 %)", "100 missing")
    case("half_days.csv", "date,a\n" + rows(30, day, a), "59 rows in all, N = 1, dt 12 h", options="--resample 12h")
    case("german.csv", "Datum;Wert\n" + rows(60, lambda i: "%s.%s.2020 06:00" % (day(i)[8:], day(i)[5:7]),
                                             lambda i: ("%.2f" % a(i)).replace(".", ","), separator=";"),
         "dt 1 d", "numbers have decimal commas")
    def us(i):
        return "%s/%s/%s" % (day(i)[5:7], day(i)[8:], day(i)[:4])

    def european(i):
        return "%s/%s/%s" % (day(i)[8:], day(i)[5:7], day(i)[:4])

    case("month_first.csv", "date,a\n" + rows(60, us, a), "dt 1 d", "2020-01-01 to 2020-02-29", "dates have the month first, as line 14 shows ('01/13/2020')")
    case("day_first.csv", "date,a\n" + rows(60, european, a), "dt 1 d", "2020-01-01 to 2020-02-29", "dates have the day first, as line 14 shows ('13/01/2020')")
    case("month_first_dots.csv", "date,a\n" + rows(60, lambda i: us(i).replace("/", "."), a), "2020-01-01 to 2020-02-29", "dates have the month first")
    case("day_first_dashes.csv", "date,a\n" + rows(300, lambda i: european(i // 24).replace("/", "-") + " %d:00" % (i % 24), a),
         "dt 1 h", "2020-01-01 00:00:00 to 2020-01-13 11:00:00")
    case("twelve_hours.csv", "date,a\n" + rows(300, lambda i: us(i // 24) + " %d:00:00 %s" % ((i + 11) % 12 + 1, "PM" if i % 24 > 11 else "AM"), a),
         "dt 1 h", "2020-01-01 00:00:00 to 2020-01-13 11:00:00")
    case("dots_of_january.csv", "date,a\n" + rows(12, lambda i: european(i).replace("/", "."), a), "2020-01-01 to 2020-01-12")
    case("either_order.csv", "date,a\n" + rows(12, us, a), "column 1 has dates such as '01/01/2020' (line 2), and no row shows whether the day or",
         "write dates as 2024-03-31", code=2)
    case("both_orders.csv", "date,a\n01/13/2024,1\n02/13/2024,2\n13/03/2024,1\n",
         "line 4, column 1 ('13/03/2024') has the day first, but line 2 ('01/13/2024') the month", code=2)
    case("short_years.csv", "date,a\n" + rows(60, lambda i: us(i)[:6] + "20", a), "('01/01/20') is a date whose year has two digits", code=2)
    case("clock_only.csv", "time,a\n" + rows(60, lambda i: clock(i)[11:], a), "is a time without its date", code=2)


def missing_cases():
    def holed(i):
        return "" if i % 9 == 4 else "NA" if i % 14 == 3 else "%.4f" % b(i)

    case("empty_cells.csv", "a,b\n" + rows(100, a, holed), "17 of 100 values of b are missing (17 %)", "b ", "17 missing, first in row 4")
    case("sentinel.csv", "a,b\n" + rows(100, a, lambda i: "-9999" if i % 8 == 0 else "%.4f" % b(i)),
         "-9999 occurs 13 times in b, far outside its other values", "give --missing -9999")
    case("sentinels.csv", "a,b,c\n" + rows(100, lambda i: "-999" if i == 9 else "%.4f" % a(i), b, lambda i: "-999" if i == 70 else "%.4f" % b(i)),
         "-999 occurs 2 times in a and 1 more variable, far outside its other values")
    case("units_changed.csv", "a,p\n" + rows(400, a, lambda i: "%.4f" % (b(i) * (1 if i < 200 else 100))),
         "the standard deviation of p is", "if its units or its sensor changed")
    case("sentinel_named.csv", "a,b\n" + rows(100, a, lambda i: "-9999" if i % 8 == 0 else "%.4f" % b(i)), "13 of 100 values of b are missing",
         options="--missing -9999")
    case("sentinel_words.csv", "a,b\n" + rows(100, a, lambda i: "off" if i % 8 == 0 else "%.4f" % b(i)), "13 of 100 values of b are missing",
         options="--missing off --missing -9999")
    case("dead_sensor.csv", "a,b\n" + rows(400, a, lambda i: b(min(i, 300))), "b is 3.69884", "in 100 rows on end, from row 301 of")
    case("switch.csv", "a,b\n" + rows(400, a, lambda i: "%d" % (i // 80 % 2)), "400 rows in all, N = 2\n")
    case("trailing_delimiter.csv", "a,b,\n" + rows(50, a, b).replace("\n", ",\n"), "50 rows in all, N = 2\n")


def sensor_cases():
    """Spikes and saturation are noted; resting levels, whole numbers and zeros are not."""
    def noted(name, column, *texts):
        case(name, "a,b\n" + rows(2000, a, column), *texts)

    def heart(i):
        return 10 * math.exp(-(((i % 47) - 20) / 2.5) ** 2) + 0.1 * math.sin(0.77 * i)

    noted("spikes.csv", lambda i: 40.0 if i in (700, 1500, 1999) else heart(i), "b has 3 spikes, single values far from all others, the first 40 in row 701 of")
    noted("one_spike.csv", lambda i: -9999.0 if i == 0 else b(i), "b has 1 spike, single values far from all others, the first -9999 in row 1 of")
    noted("saturation.csv", lambda i: min(b(i), 6.25), "b is exactly 6.25, its largest value, in", "rows, first in row", "give --missing 6.25")
    noted("floor.csv", lambda i: max(b(i), 3.5), "b is exactly 3.5, its smallest value, in")
    for name, column in (("heart", heart), ("plain", b), ("whole", lambda i: "%d" % (i * i % 101)), ("rain", lambda i: max(0.0, b(i) - 6)),
                         ("binary", lambda i: "%d" % (i % 311 == 0)), ("coarse", lambda i: "%.1f" % b(i)), ("rest", lambda i: "%.1f" % max(3.0, 5 * heart(i))),
                         ("period", lambda i: "%.6f" % math.sin(math.pi * i / 50)), ("logistic", lambda i: LOGISTIC[i]),
                         ("returns", lambda i: RETURNS[i]), ("sizes", lambda i: SIZES[i])):
        noted("sound_%s.csv" % name, column, "2000 rows in all, N = 2\n\nvariable")
    case("saturated_channels.csv", ",".join("c%d" % k for k in range(6)) + "\n" + rows(2000, *[lambda i, k=k: min(x(i, 0.3 * k), 6.5) for k in range(6)]),
         "c3 is exactly 6.5, its largest value", "6 variables have such values at an end of their range in all")


LOGISTIC = [0.3]
while len(LOGISTIC) < 2000:
    LOGISTIC.append(3.99 * LOGISTIC[-1] * (1 - LOGISTIC[-1]))


CHANCE = random.Random(1)  # the largest values of heavy tails are far from each other
RETURNS = [CHANCE.gauss(0, 1) / math.sqrt(sum(CHANCE.gauss(0, 1) ** 2 for _ in range(3)) / 3) for _ in range(2000)]
CHANCE.seed(5)
SIZES = [math.exp(1.2 * CHANCE.gauss(0, 1)) for _ in range(2000)]


def subject_cases():
    def of(k):
        return lambda i: "s%d" % k

    long_table = "subject,time,v\n" + "".join(rows(30 + 5 * k, of(k), lambda i: "%.1f" % (i / 10), a) for k in range(3))
    case("subjects.csv", long_table, "3 trajectories, 105 rows in all, N = 1, dt 0.1", "trajectory 2: ", "subjects.csv:s1, 35 rows, 0 to 3.4",
         options="--subject subject")
    case("subjects_unnamed.csv", long_table, "name it with --subject if it tells trajectories apart", code=2)
    mixed = "id;x\n" + "".join("%d;%.3f\n" % (i % 3, x(i)) for i in range(60))
    case("subjects_mixed.csv", mixed, "3 trajectories, 60 rows in all, N = 1", options="--subject id")
    case("subject_time.csv", "id,time,x\n" + rows(20, lambda i: "1", lambda i: "%d" % i, a) + "2,0,1\n2,0,2\n",
         "subject 2: column 'time' is the time axis, but row 2 has the same time", options="--check --subject id", code=2)
    case("subject_numbers.npy", npy([v for i in range(60) for v in ((7, 3, 5)[i // 20], a(i), b(i))], 3), "trajectory 1: real/subject_numbers.npy:7, 20 rows",
         "trajectory 2: real/subject_numbers.npy:3, 20 rows", options="--subject 1")
    case("subject_of_one_row.csv", "id,date,x\n" + rows(20, lambda i: "1", day, a) + "2,2021-01-01,1\n", "2 trajectories, 21 rows in all, N = 1, dt 1 d",
         "1 rows, 2021-01-01 to 2021-01-01", options="--subject id")
    case("restarting_time.csv", "time,x\n" + 2 * rows(20, lambda i: "%d" % i, a), "name the column of subjects with --subject", options="--check", code=2)


def archive_cases():
    values = [x(i // 3, i % 3) for i in range(90)]
    train, test = npy(values, 3), npy(values[:45], 3)
    case("train_test.npz", npz(train=train, test=test), "array      train  30 x 3 float64", "series     none: ", "choose those to take with --key")
    case("train_only.npz", npz(train=train, test=test), "1 trajectory, 30 rows in all", options="--key train")
    case("runs.npz", npz(run_1=train, run_2=test), "2 trajectories, 45 rows in all")
    case("no_key.npz", npz(train=train, test=test), "there is no array 'tran'; the arrays are: train, test", options="--key tran", code=2)
    case("with_time.npz", npz(data=train, time=npy([0.25 * i for i in range(30)], 0)), "N = 3, dt 0.25", "array 'time' is the time axis: 0 to 7.25")
    case("time_column.npy", npy([v for i in range(40) for v in (0.1 * i, a(i), b(i))], 3), "N = 2, dt 0.1", "the first column rises evenly")


def dialect_cases():
    case("quoted_names.csv", '"flow, in","flow, out",p\n' + rows(30, a, b, a), "flow, out", "N = 1", options='--columns "flow, out"')
    case("semicolons.csv", "a;b\n" + rows(30, lambda i: ("%.3f" % a(i)).replace(".", ","), lambda i: "%d" % (i % 7), separator=";"), "N = 2\n")
    case("thousands.csv", "a;b\n1.234,5;2\n", "has thousands marks", code=2)
    case("packed.csv.gz", gzip.compress(("time,a\n" + rows(50, lambda i: "%d" % i, a)).encode()), "comma-separated text", "dt 1")
    case("bom_crlf.csv", "\ufefftime,a\r\n" + rows(50, lambda i: "%d" % i, a).replace("\n", "\r\n"), "N = 1, dt 1")
    case("tabs.tsv", "time\ta\tb\n" + rows(50, lambda i: "%d" % i, a, b, separator="\t"), "tab-separated text", "N = 2, dt 1")
    case("wrong_column.csv", "speed,height\n" + rows(30, a, b), "there is no column 'heigth'; did you mean 'height'? The columns are: speed, height",
         options="--columns heigth", code=2)


FOLDER.mkdir(parents=True, exist_ok=True)
time_cases()
stranger_cases()
lab_cases()
spreadsheet_cases()
date_cases()
missing_cases()
sensor_cases()
subject_cases()
archive_cases()
dialect_cases()
(FOLDER / "table.txt").write_text("".join("\t".join(line) + "\n" for line in CASES))
print(len(CASES))
