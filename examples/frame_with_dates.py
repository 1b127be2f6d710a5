"""From a pandas frame with dates to a forecast with bands; in the place of `measurements` stands your own frame.

    python examples/frame_with_dates.py forecast.csv
"""

import sys

import pandas

import antler


def measurements(rows):
    """A table as a logger writes it: a row every ten minutes."""
    when = pandas.date_range("2024-01-01", periods=rows, freq="10min", name="when")
    return pandas.DataFrame(antler.simulate("lorenz63", rows), columns=["heat", "flow", "level"], index=when)


def main(out, rows=20_000, updates=5_000, horizon=144):
    frame = measurements(rows)
    model = antler.Reconstructor(latent_dim=5, hidden_dim=50, updates=updates, runs=2, random_state=0).fit(frame)
    print(model.time_)  # when: 20000 rows from 2024-01-01, dt = 10 min
    found = model.forecast(horizon, n=50)
    table = pandas.concat({"median": found.median, "lower": found.lower, "upper": found.upper}, axis=1)
    table.to_csv(out)  # its index goes on where that of the frame ends
    for ahead in (1, 10, horizon):
        print(f"{ahead} rows ahead: skill {found.skill.value[ahead - 1]:.2f}, on {found.skill.source}")
    return table


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "forecast.csv")
