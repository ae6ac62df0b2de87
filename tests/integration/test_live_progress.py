"""A running suite is in the store and in `mtlv status`; stopped and taken up again, nothing is there "
"twice."""

from __future__ import annotations

import signal
import sqlite3
import time

import pytest

EPOCHS = "training.epochs=40"


def rows(folder, query):
    with sqlite3.connect(folder / "mlflow.db", timeout=20) as database:
        return database.execute(query).fetchall()


@pytest.mark.slow
def test_figures_and_status_while_it_runs_after_ctrl_c_and_after_it_went_on(small, mtlv, here, run_statuses):
    assert "no suite of `c.yml` has run" in here.run(small, "status", "c.yml").stdout
    process = mtlv.begin(small, "run", "c.yml", EPOCHS, "tracking.send_seconds=0.2")
    assert process.stderr is not None
    try:
        assert any("epoch 2/" in line for line in process.stderr), "it ended before it trained"
        keys = "'train/loss', 'val/f1_macro', 'val.tasks.f1/Congestion'"
        query = f"SELECT key, COUNT(*) FROM metrics WHERE key IN ({keys}) GROUP BY key"
        end = time.monotonic() + 60
        while len(told := rows(small, query)) < 3 and time.monotonic() < end:
            time.sleep(0.1)
        assert len(told) == 3, "epochs are told soon after they end"
        running = "1 unit: 0 done, 1 running, 0 waiting, 0 failed"  # the file is written once a second
        while running not in (status := here.run(small, "status")).stdout and time.monotonic() < end:
            time.sleep(0.1)
        assert status.returncode == 0
        assert f"running here (process {process.pid})" in status.stdout
        assert running in status.stdout
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
        assert process.wait(120) == 130
    finally:
        process.kill()
        process.stderr.close()
    assert "Traceback" not in said
    assert "mtlv: stopped" in said
    assert run_statuses(small) == ["KILLED", "KILLED"]
    assert list(small.glob("mtlv-store/units/*")) == [], "no half of a unit is kept"
    assert "c.yml): stopped after " in here.run(small, "status", "c.yml").stdout
    done = here.run(small, "run", "c.yml", EPOCHS)
    assert done.returncode == 0, done.stderr
    assert "c.yml): done after " in here.run(small, "status", "c.yml").stdout
    assert run_statuses(small) == ["FINISHED"] * 3  # one is the page of the member
    double = "SELECT key FROM metrics GROUP BY run_uuid, key, step HAVING COUNT(*) > 1"
    assert rows(small, double) == []
