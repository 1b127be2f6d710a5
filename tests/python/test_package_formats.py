"""Files of other programs: each format by its library, where that is installed."""

import gzip
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import antler
from antler import convert, exceptions, formats
from antler._series import tables

ROWS = 300
SETTINGS = dict(
    latent_dim=2, hidden_dim=4, sequence_length=20, batch_size=4, updates=3, log_interval=3, validation=0.0, threads=1,
    verbose=False, random_state=0,
)  # fmt: skip


def values(rows=ROWS):
    t = 0.1 * np.arange(rows)
    return np.column_stack([np.sin(t), np.cos(1.3 * t)])


def stamps(rows=ROWS):
    return np.datetime64("2021-01-01T00:00:00", "ns") + np.arange(rows) * np.timedelta64(10, "m")


def check(path, names=("a", "b"), dt=None, **options):
    """What a file holds is read by load and by fit, and nothing else."""
    x = np.asarray(antler.load(path, **options))
    np.testing.assert_allclose(x, values(), rtol=1e-6, atol=1e-7)
    (table,) = formats.read(path, **options)
    assert table.names == names
    if dt is not None:
        assert table.dt == pytest.approx(dt)
    return table


def test_every_ending_is_in_the_table_once():
    endings = [ending for row in formats.FORMATS for ending in row.endings]
    assert len(set(endings)) == len(endings) == 24
    assert formats.format_of("a.FIF.GZ").name == "EDF, BDF, FIF" and formats.format_of("a.csv.gz").name == "gzip"
    assert formats.format_of("a.csv") is None and formats.format_of("nowhere") is None


@pytest.mark.parametrize("row", [row for row in formats.FORMATS if row.extra], ids=lambda row: row.name)
def test_a_missing_library_names_its_extra(row, tmp_path, monkeypatch):
    modules = {"parquet": ["pyarrow"], "matlab": ["scipy", "scipy.io", "h5py"], "netcdf": ["xarray", "netCDF4"]}
    modules.update(nwb=["pynwb"], hdf5=["h5py"], zarr=["zarr"], eeg=["mne"], excel=["openpyxl"])
    for name in [name for name in sys.modules if name.partition(".")[0] in modules[row.extra]]:
        monkeypatch.delitem(sys.modules, name)
    for name in modules[row.extra]:
        monkeypatch.setitem(sys.modules, name, None)
    path = tmp_path / f"x{row.endings[0]}"
    path.write_bytes(b"MATLAB 7.3 MAT-file")
    with pytest.raises(exceptions.ExtraError, match=rf"reading .*{path.name} needs .*'antler-dsr\[{row.extra}\]'"):
        antler.load(path)


def test_a_file_that_is_not_there():
    with pytest.raises(FileNotFoundError, match="nowhere.parquet: there is no such file"):
        antler.load("nowhere.parquet")


class TestArrow:
    @pytest.fixture(autouse=True)
    def _import(self):
        self.arrow = pytest.importorskip("pyarrow")

    def table(self, **more):
        x = values()
        return self.arrow.table({**more, "a": x[:, 0], "b": x[:, 1]})

    def test_parquet_and_feather(self, tmp_path):
        from pyarrow import feather, parquet

        parquet.write_table(self.table(when=stamps()), tmp_path / "x.parquet")
        table = check(tmp_path / "x.parquet", dt=10.0)
        assert table.time.name == "when" and table.time.unit == "min"
        feather.write_feather(self.table(time=0.5 * np.arange(ROWS)), tmp_path / "x.feather")
        check(tmp_path / "x.feather", dt=0.5)
        os.rename(tmp_path / "x.parquet", tmp_path / "no_ending")
        check(tmp_path / "no_ending")
        np.testing.assert_array_equal(tables(self.table())[0].values, values())

    def test_the_index_of_pandas(self, tmp_path):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(values(), columns=["a", "b"], index=pandas.Index(stamps(), name="day"))
        frame.to_parquet(tmp_path / "x.parquet")
        check(tmp_path / "x.parquet", dt=10.0)
        frame.reset_index(drop=True)[10:].reset_index().drop(columns="index").to_parquet(tmp_path / "y.parquet")
        assert formats.read(tmp_path / "y.parquet")[0].values.shape == (ROWS - 10, 2)

    def test_fit_continues_the_time(self, tmp_path):
        from pyarrow import parquet

        parquet.write_table(self.table(when=stamps()), tmp_path / "x.parquet")
        orbit = antler.Reconstructor(**SETTINGS).fit(tmp_path / "x.parquet").generate(3)
        np.testing.assert_array_equal(orbit.time, stamps(ROWS + 3)[-3:])
        assert antler.load(tmp_path / "x.parquet", columns="b").shape == (ROWS, 1)
        x, driven = antler.load(tmp_path / "x.parquet", inputs="2")
        assert x.shape == driven.shape == (ROWS, 1)
        with pytest.raises(LookupError, match="no column 'when2'; did you mean|there is no column"):
            antler.load(tmp_path / "x.parquet", columns="when2")
        many = [tmp_path / "x.parquet"] * 2
        assert len(antler.load(many)) == 2 and len(antler.load(str(tmp_path / "*.parquet"))) == ROWS


class TestHdf5:
    @pytest.fixture(autouse=True)
    def _import(self):
        self.h5py = pytest.importorskip("h5py")

    def test_one_array_is_not_copied(self, tmp_path):
        with self.h5py.File(tmp_path / "x.h5", "w") as file:
            file["data/x"] = values()
            file["data/note"] = "text"
        table = check(tmp_path / "x.h5", names=None)
        assert isinstance(table.values, np.memmap) or isinstance(table.values.base, np.memmap)
        with self.h5py.File(tmp_path / "packed.h5", "w") as file:
            file.create_dataset("x", data=values(), compression="gzip")
        check(tmp_path / "packed.h5", names=None)

    def test_columns_time_and_choice(self, tmp_path):
        x = values()
        with self.h5py.File(tmp_path / "x.hdf5", "w") as file:
            file["a"], file["b"], file["time"] = x[:, 0], x[:, 1], 0.25 * np.arange(ROWS)
        check(tmp_path / "x.hdf5", dt=0.25)
        with self.h5py.File(tmp_path / "y.h5", "w") as file:
            file["train"], file["test"], file["t"] = x, x[:50], 0.25 * np.arange(ROWS)
        with pytest.raises(exceptions.DataError, match="several arrays.*t 300, test 50x2, train 300x2; choose"):
            antler.load(tmp_path / "y.h5")
        check(tmp_path / "y.h5", names=None, key="train")
        with pytest.raises(exceptions.ArgumentError, match="no 'trian' in it; did you mean 'train'"):
            antler.load(tmp_path / "y.h5", key="trian")
        with self.h5py.File(tmp_path / "z.h5", "w") as file:
            file["run_1"], file["run_2"] = x[:100], x[100:]
        assert [len(part) for part in antler.load(tmp_path / "z.h5")] == [100, 200]

    def test_tables_of_records(self, tmp_path):
        x = values()
        rows = np.array(list(zip(x[:, 0], x[:, 1])), dtype=[("a", "f8"), ("b", "f8")])
        with self.h5py.File(tmp_path / "x.h5", "w") as file:
            file["table"] = rows
        check(tmp_path / "x.h5")

    def test_a_damaged_file(self, tmp_path):
        (tmp_path / "x.h5").write_bytes(b"\x89HDF\r\n\x1a\n and no more")
        with pytest.raises(exceptions.FormatError, match="x.h5: cannot be read"):
            antler.load(tmp_path / "x.h5")

    def test_matlab_7_3(self, tmp_path):
        with self.h5py.File(tmp_path / "x.mat", "w", userblock_size=512) as file:
            file["X"], file["t"] = values().T, 0.5 * np.arange(ROWS)[None, :]
            file["#refs#/a"] = np.arange(9.0)
        with open(tmp_path / "x.mat", "r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(128))
        check(tmp_path / "x.mat", names=None, dt=0.5)


def test_matlab_5(tmp_path):
    io = pytest.importorskip("scipy.io")
    x = values()
    io.savemat(tmp_path / "x.mat", {"X": x, "t": 0.5 * np.arange(ROWS)[:, None], "fs": 2.0, "note": "text"})
    check(tmp_path / "x.mat", names=None, dt=0.5)
    io.savemat(tmp_path / "y.mat", {"a": x[:, 0], "b": x[:, 1]})  # row vectors, as MATLAB has them
    check(tmp_path / "y.mat")


class TestXarray:
    @pytest.fixture(autouse=True)
    def _import(self):
        self.xarray = pytest.importorskip("xarray")
        x = values()
        self.data = self.xarray.Dataset({"a": ("time", x[:, 0]), "b": ("time", x[:, 1])}, coords={"time": stamps()})

    @pytest.mark.parametrize("kind", ["NETCDF4", "NETCDF3_64BIT"])
    def test_netcdf(self, tmp_path, kind):
        pytest.importorskip("netCDF4")
        pytest.importorskip("scipy")
        self.data.to_netcdf(tmp_path / "x.nc", format=kind)
        check(tmp_path / "x.nc", dt=10.0)
        assert antler.load(tmp_path / "x.nc", key="b").shape == (ROWS, 1)
        array = self.xarray.DataArray(values(), dims=("time", "k"), coords={"time": stamps(), "k": ["a", "b"]})
        array.to_netcdf(tmp_path / "y.nc", format="NETCDF4")
        check(tmp_path / "y.nc", dt=10.0)
        back = antler.load(tmp_path / "x.nc", container="xarray")
        np.testing.assert_array_equal(back.time.values, stamps())

    def test_zarr(self, tmp_path):
        zarr = pytest.importorskip("zarr")
        self.data.to_zarr(tmp_path / "x.zarr")
        check(tmp_path / "x.zarr", dt=10.0)
        zarr.save_array(str(tmp_path / "y.zarr"), values())
        check(tmp_path / "y.zarr", names=None)
        zarr.save_group(str(tmp_path / "z.zarr"), x=values(), t=0.5 * np.arange(ROWS))
        check(tmp_path / "z.zarr", names=None, dt=0.5)


class TestExcel:
    @pytest.fixture(autouse=True)
    def _import(self):
        self.openpyxl = pytest.importorskip("openpyxl")

    def test_sheets(self, tmp_path):
        book = self.openpyxl.Workbook()
        sheet = book.active
        sheet.append(["date", "a", "b", None])
        for stamp, row in zip(stamps().astype("datetime64[s]").tolist(), values()):
            sheet.append([stamp, *row.tolist()])
        other = book.create_sheet("other")
        for row in values().tolist():
            other.append(row)
        book.save(tmp_path / "x.xlsx")
        check(tmp_path / "x.xlsx", dt=10.0)
        check(tmp_path / "x.xlsx", names=("x1", "x2"), key="other")
        os.rename(tmp_path / "x.xlsx", tmp_path / "no_ending")
        check(tmp_path / "no_ending", dt=10.0)


class TestText:
    def test_columns_of_words_are_left_out(self, tmp_path):
        records = [dict(a=i, state="on" if i % 2 else "off", b=i * i, remark=None) for i in range(30)]
        (tmp_path / "x.json").write_text(json.dumps(records))
        with pytest.warns(UserWarning, match="x.json: state holds words and is left out"):
            x = antler.load(tmp_path / "x.json", columns="-remark")
        assert x.shape == (30, 2)
        with pytest.warns(UserWarning, match="left out"):
            assert antler.load(tmp_path / "x.json", columns="-a,-3").shape == (30, 1)
        with pytest.warns(UserWarning), pytest.raises(exceptions.NotFoundError, match="no column 'c'"):
            antler.load(tmp_path / "x.json", columns="-c")
        with pytest.warns(UserWarning), pytest.raises(exceptions.ArgumentError, match="write '-' before each"):
            antler.load(tmp_path / "x.json", columns="-a,b")
        (tmp_path / "x.json").write_text(json.dumps([dict(date="in May", a=i) for i in range(30)]))
        with pytest.raises(exceptions.DataError, match="date"):  # what may be time is not lost
            antler.load(tmp_path / "x.json")
        records = [dict(day=f"{i + 1:02}.03.2024", at="12:30", a=i) for i in range(30)]
        (tmp_path / "x.json").write_text(json.dumps(records))
        with pytest.raises(exceptions.DataError, match=r"'01\.03\.2024' in row 1 .* pandas\.to_datetime, dayfirst"):
            antler.load(tmp_path / "x.json")
        with pytest.warns(UserWarning, match="day, at hold words and are left out"):
            assert antler.load(tmp_path / "x.json", time=np.arange(30)).shape == (30, 1)

    def test_json(self, tmp_path):
        x = values()
        records = [{"time": str(t)[:19], "a": p, "b": q} for t, p, q in zip(stamps(), *x.T.tolist())]
        (tmp_path / "x.json").write_text(json.dumps(records))
        check(tmp_path / "x.json", dt=10.0)
        (tmp_path / "x.jsonl").write_text("\n".join(json.dumps(record) for record in records))
        check(tmp_path / "x.jsonl", dt=10.0)
        (tmp_path / "y.json").write_text(json.dumps({"a": x[:, 0].tolist(), "b": x[:, 1].tolist()}))
        check(tmp_path / "y.json")
        (tmp_path / "z.json").write_text(json.dumps(x.tolist()))
        check(tmp_path / "z.json", names=None)
        records[17]["a"] = None
        (tmp_path / "x.json").write_text(json.dumps(records))
        assert np.isnan(antler.load(tmp_path / "x.json")[17, 0])
        (tmp_path / "x.json").write_text("{ no")
        with pytest.raises(exceptions.FormatError, match="x.json: is not JSON"):
            antler.load(tmp_path / "x.json")

    def test_gzip(self, tmp_path):
        np.save(tmp_path / "x.npy", values())
        with open(tmp_path / "x.npy", "rb") as file, gzip.open(tmp_path / "x.npy.gz", "wb") as out:
            out.write(file.read())
        check(tmp_path / "x.npy.gz", names=None)
        with gzip.open(tmp_path / "x.json.gz", "wt") as out:
            json.dump(values().tolist(), out)
        check(tmp_path / "x.json.gz", names=None)
        (tmp_path / "y.csv.gz").write_bytes((tmp_path / "x.npy.gz").read_bytes()[:500])
        with pytest.raises(exceptions.FormatError, match="y.csv.gz: is not a whole gzip file"):
            antler.load(tmp_path / "y.csv.gz")


def test_recordings(tmp_path):
    mne = pytest.importorskip("mne")
    data = np.vstack([values().T, np.zeros(ROWS)])
    info = mne.create_info(["a", "b", "STI"], 250.0, ["eeg", "eeg", "stim"])
    raw = mne.io.RawArray(data, info, verbose="ERROR")
    raw.save(tmp_path / "x_raw.fif", verbose="ERROR")
    table = check(tmp_path / "x_raw.fif", dt=0.004)
    assert table.time.unit == "s"
    assert antler.load(tmp_path / "x_raw.fif", key="b").shape == (ROWS, 1)
    epochs = mne.EpochsArray(np.stack([data, data]), info, verbose="ERROR")
    epochs.save(tmp_path / "x-epo.fif", verbose="ERROR")
    assert [part.shape for part in antler.load(tmp_path / "x-epo.fif")] == [(ROWS, 2)] * 2


def edf(x, rate):
    """The bytes of an EDF file with records of one second."""
    rows, N = x.shape
    fields = [("0", 8), ("nobody", 80), ("nothing", 80), ("01.01.21", 8), ("00.00.00", 8), (256 * (N + 1), 8), ("", 44)]
    fields += [(rows // rate, 8), ("1", 8), (N, 4)]
    each = [("EEG c", 16), ("", 80), ("V", 8), (-1, 8), (1, 8), (-32768, 8), (32767, 8), ("", 80), (rate, 8), ("", 32)]
    head = "".join(str(value).ljust(width) for value, width in fields)
    for value, width in each:
        head += "".join((f"{value}{i}" if value == "EEG c" else str(value)).ljust(width) for i in range(N))
    digital = np.clip(np.round((x + 1) / 2 * 65535 - 32768), -32768, 32767).astype("<i2")
    return head.encode() + digital.reshape(-1, rate, N).transpose(0, 2, 1).tobytes()


def test_edf(tmp_path):
    pytest.importorskip("mne")
    (tmp_path / "x.edf").write_bytes(edf(values(), 50))
    (table,) = formats.read(tmp_path / "x.edf")
    np.testing.assert_allclose(table.values, values(), atol=1e-4)
    assert table.dt == pytest.approx(0.02) and len(table.names) == 2
    os.rename(tmp_path / "x.edf", tmp_path / "no_ending")
    assert formats.format_of(tmp_path / "no_ending").name == "EDF, BDF, FIF"


def test_nwb(tmp_path):
    pynwb = pytest.importorskip("pynwb")
    import datetime

    start = datetime.datetime(2021, 1, 1, tzinfo=datetime.timezone.utc)
    file = pynwb.NWBFile(session_description="a", identifier="b", session_start_time=start)
    file.add_acquisition(pynwb.TimeSeries(name="lfp", data=values(), unit="V", rate=500.0, starting_time=2.0))
    with pynwb.NWBHDF5IO(str(tmp_path / "x.nwb"), "w") as io:
        io.write(file)
    table = check(tmp_path / "x.nwb", names=None, dt=0.002)
    assert table.time.start == 2.0


class TestConvert:
    def json_file(self, tmp_path):
        records = [{"when": str(t)[:19], "a": p, "b": q} for t, p, q in zip(stamps(), *values().T.tolist())]
        (tmp_path / "x.json").write_text(json.dumps(records))
        return tmp_path / "x.json"

    def test_what_the_command_reads(self, tmp_path, capsys):
        source = self.json_file(tmp_path)
        assert convert.main([str(source), str(tmp_path / "x.npz")]) == 0
        said = capsys.readouterr()
        assert "x.json: 300 rows, 2 variables; time: when" in said.err and said.out == ""
        back = np.load(tmp_path / "x.npz")
        np.testing.assert_array_equal(back["x_000"], values())
        assert float(back["dt"]) == 10.0 and list(back["names"]) == ["a", "b"]
        assert convert.main([str(source), str(tmp_path / "x.csv"), "--time", "when"]) == 0
        lines = (tmp_path / "x.csv").read_text().splitlines()
        assert lines[0] == "when,a,b" and lines[1] == "2021-01-01T00:00:00,0.0,1.0" and len(lines) == ROWS + 1
        np.testing.assert_array_equal([float(line.split(",")[1]) for line in lines[1:]], values()[:, 0])
        np.save(tmp_path / "y.npy", values())
        assert convert.main([str(tmp_path / "y.npy"), str(tmp_path / "y.npy"), str(tmp_path / "y.npz")]) == 0
        assert len(antler.load(tmp_path / "y.npz")) == 2

    def test_other_formats(self, tmp_path):
        pytest.importorskip("pyarrow")
        source = self.json_file(tmp_path)
        for ending in ("parquet", "feather", "nc"):
            if ending == "nc":
                pytest.importorskip("netCDF4")
                pytest.importorskip("xarray")
            assert convert.main([str(source), str(tmp_path / f"x.{ending}"), "--time", "when"]) == 0
            check(tmp_path / f"x.{ending}", dt=10.0)

    def test_faults_are_sentences(self, tmp_path, capsys):
        source = self.json_file(tmp_path)
        for arguments, sentence in (
            ([source, tmp_path / "x.doc"], "x.doc: the ending names no format to write"),
            ([source, source, tmp_path / "x.csv"], "holds one trajectory, and there are 2; write an .npz"),
            ([tmp_path / "no.json", tmp_path / "x.npz"], "no.json: there is no such file"),
        ):
            assert convert.main([str(argument) for argument in arguments]) == 2
            assert sentence in capsys.readouterr().err
        assert convert.main([str(source), str(tmp_path / "x.npz"), "--time", "none"]) == 0
        assert "when holds words and is left out" in capsys.readouterr().err

    def test_as_a_command(self, tmp_path):
        if "ANTLER" not in os.environ:
            pytest.skip("needs the command")
        source = self.json_file(tmp_path)
        out = str(tmp_path / "x.npz")
        program = os.path.join(os.path.dirname(os.environ["ANTLER"]), "antler-convert")
        with open(source, "rb") as file:
            arguments = [program, "-", out, "--time", "when", "--columns", "b"]
            subprocess.run(arguments, stdin=file, check=True, capture_output=True)
        np.testing.assert_array_equal(antler.load(out), values()[:, 1:])
