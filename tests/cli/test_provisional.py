"""Labels that arrive over days: what a round shows before they are all there, and after."""

import json
import random
from datetime import timedelta

import pytest

from tests.cli.workplace import save

COLUMN = (
    "{kind: column, path: truth.csv, id: case, value: bad, matures: 4d, missing_means: negative}"
)
COLUMN_OF_TIMES = COLUMN.replace("value", "time: seen, value")
DAYS, A_DAY = 9, 200
LABELS = ("labels: 40", "labels: 200")
TRUTH = {"precision": 0.9, "recall": 18 / 38}
LIMITS = ("\n    labeling:", "\n    limits: {precision: 0.75}\n    labeling:")


class Cases:
    """Items that turn out bad, each some days after its prediction, in a file that is rewritten."""

    def __init__(self, place):
        self.place, self.dice = place, random.Random(5)  # noqa: S311
        place.predictions(rows=A_DAY * DAYS, days=DAYS, mail_id="'m' || i")

    @staticmethod
    def is_bad(item):
        """Nine in ten flagged items and one in ten of the others."""
        return item % 100 > 0 if item % 10 == 0 else item % 10 == 1

    @staticmethod
    def delay(item):
        """Days until an item is known to be bad."""
        return item * 7919 % 97 / 27

    def known(self, day, stopped=99):
        """Write what is known on a day in any order, with a wrong case on every other day.

        After the day ``stopped`` nobody finds out anything more.
        """
        start = self.place.now - timedelta(days=DAYS)
        found = {item: item / A_DAY + self.delay(item) for item in range(A_DAY * DAYS)}
        rows = [
            {"case": f"m{item}", "bad": 1, "seen": (start + timedelta(days=when)).isoformat()}
            for item, when in found.items()
            if self.is_bad(item) and when <= min(day, stopped)
        ]
        if day % 2 and stopped > day:  # it is taken back on the next day
            rows.append({"case": f"m{day * A_DAY - 104}", "bad": 1, "seen": start.isoformat()})
        self.dice.shuffle(rows)
        none = [{"case": "none", "bad": 0, "seen": start.isoformat()}]
        save(self.place.folder / "truth.csv", rows or none)

    def run(self, day):
        """Run once on a day, by what is known then."""
        self.known(day)
        at = self.place.now - timedelta(days=DAYS - day)
        ended = self.place.run_at(at, "run-once")
        assert "Traceback" not in ended.err
        return at

    @staticmethod
    def rows(place):
        """Return what each round has shown so far."""
        query = "select estimate from provisionals where estimate is not null order by round_id, at"
        return [json.loads(row) for (row,) in place.query(query)]

    def status(self, at):
        """Return open rounds by number, and the page as people see it."""
        mail = self.place.as_json("status", at=at)["monitors"][0]
        rounds = {one["round"]: one["provisional"] for one in mail["open_rounds"]}
        return rounds, self.place.run_at(at, "status").out


def eight_days(place):
    """Rounds of eight days, of which the first ones have matured."""
    cases = Cases(place)
    place.config(COLUMN, labels=("max_labels: 40", "max_labels: 200"), limits=LIMITS)
    for day in range(1, 9):
        cases.run(day)


def test_before_labels_were_followed_until_they_matured_there_is_no_early_number(bare):
    cases = Cases(bare)
    bare.config(COLUMN, labels=("max_labels: 40", "max_labels: 200"))

    early, text = cases.status([cases.run(day) for day in (1, 2)][-1])

    assert {row["reason"] for row in early.values()} == {
        "0 of 20 positive labels of earlier rounds were followed until they matured"
    }
    assert "not estimable, 0 of 20 positive labels" in text


def test_rounds_are_estimated_early_with_room_for_labels_to_come_and_then_corrected(copied):
    place = copied(eight_days)
    cases, at = Cases(place), place.now - timedelta(days=1)

    rounds, text = cases.status(at)
    shown = {number: row for number, row in rounds.items() if row["metrics"]}
    assert len(shown) >= 3
    shares = [row["matured"] for row in shown.values()]
    assert shares == sorted(shares, reverse=True)
    assert 0.1 < shares[-1] < 0.6 < shares[0] < 1
    assert "% matured on " in text
    year = f"{at.year - 1}..{at.year}"
    [period] = place.as_json("report", "--period", year, at=at)["reports"]
    early = {each["round"]: each["reason"] for each in period["uncounted"]}
    assert early.keys() == rounds.keys()
    for number, row in shown.items():
        assert early[number].startswith(f"provisional, {100 * row['matured']:.2g} % matured on ")
    assert "as in earlier rounds, at one pace for all scores of a class" in text
    for row in shown.values():
        for each, truth in zip(row["metrics"], TRUTH.values(), strict=True):
            assert each["low"] <= truth <= each["high"]
    number = max(shown)
    page = place.run_at(at, "show", number)
    assert "provisional, " in page.out
    assert "% matured" in page.out

    later = [cases.run(day) for day in (10, 13)][-1]
    final = place.as_json("show", number, at=later)
    assert final["state"] == "closed"
    for row in final["estimates"]:
        if (row["basis"], row["estimand"]) == ("round", "window") and row["metric"] in TRUTH:
            assert row["point"] == pytest.approx(TRUTH[row["metric"]], abs=0.005)
    first = final["provisional"]
    assert first["at"] < later.isoformat()
    assert "this round was provisional, " in place.run_at(later, "show", number).out
    alerts = place.as_json("alerts", at=later)
    assert not alerts["alerts"]
    read = place.query("select distinct state from rounds r join evidence e on e.round_id = r.id")
    assert read == [("closed",)]


@pytest.mark.parametrize("notify", [True, False])
def test_provisional_numbers_under_a_limit_are_the_headline_and_one_notice(bare, notify):
    cases = Cases(bare)
    of_limit = f"{{recall: 0.65, notify_provisional: {str(notify).lower()}}}"
    limits = (LIMITS[0], f"\n    limits: {of_limit}\n    labeling:")
    bare.config(COLUMN, labels=("max_labels: 40", "max_labels: all"), limits=limits)

    at = [cases.run(day) for day in range(1, 7)][-1]

    mail = bare.as_json("status", at=at)["monitors"][0]
    beyond = [one["round"] for one in mail["open_rounds"] if one["beyond"]]
    limit = {"metric": "recall", "value": 0.65, "side": "at_least"}
    assert beyond
    assert all(one["beyond"] in ([], [limit]) for one in mail["open_rounds"])
    assert "numbers are under the limit: recall at least 0.65 in round" in mail["headline"]
    assert bare.run_at(at, "status").lines[0] == f"mail: {mail['headline']}"
    notices = bare.query("select payload from effects where kind = 'notice' and sink = 'log'")
    sentences = [json.loads(payload)["sentence"] for (payload,) in notices]
    told = [each for each in sentences if "provisional numbers" in each]
    assert len(told) == notify
    assert all("its promise does not cover this notice" in each for each in told)


def backfilled(place, stopped=DAYS - 1e-6):
    """All rounds at once, by the times at which their labels became known."""
    Cases(place).known(DAYS, stopped)
    place.config(COLUMN_OF_TIMES, labels=LABELS)
    place.run("backfill", "--from", place.at(place.now - timedelta(days=DAYS)))


def backfilled_without_news(place):
    """The same where no label became known in the last two days."""
    backfilled(place, DAYS - 2)


@pytest.mark.parametrize(
    ("begin", "said"),
    [
        (backfilled, "if labels come as in"),
        (backfilled_without_news, "labels arrive differently than"),
    ],
)
def test_a_column_of_times_gives_the_pace_of_past_rounds_and_shows_a_change(copied, begin, said):
    place = copied(begin)

    shown = place.run("status").out

    assert "% matured on " in shown
    assert said in shown
    rows = [one for one in Cases.rows(place) if one["matured"] is not None]
    assert rows
    assert all(bool(row["metrics"]) == (row["reason"] is None) for row in rows)


def test_limits_that_are_set_once_an_early_estimate_is_shown_do_not_watch_its_round(copied):
    place = copied(backfilled)
    shown = place.query(
        "select round_id from provisionals where estimate is not null group by round_id"
        " having max(json_array_length(estimate, '$.metrics')) > 0"
    )
    place.config(COLUMN_OF_TIMES, labels=LABELS, limits=LIMITS)
    Cases(place).known(DAYS + 5)

    place.run_at(place.now + timedelta(days=5), "run-once")

    watched = "select r.id from rounds r join evidence e on e.round_id = r.id"
    assert len(shown) >= 3
    assert not {*place.query(watched)} & {*shown}
    assert "showed a provisional estimate, before the limits were set" in place.run("status").out


def test_where_both_answers_may_be_late_there_is_no_early_number(bare):
    Cases(bare).known(DAYS)
    bare.config(COLUMN.replace(", missing_means: negative", ""))

    bare.run("run-once")

    assert "not estimable, an item without a row is not negative" in bare.run("status").out


def test_a_file_that_is_cut_off_for_one_pass_gives_no_numbers_and_leaves_the_learned_pace(copied):
    place = copied(eight_days)
    cases = Cases(place)
    before, _ = cases.status(place.now - timedelta(days=1))
    whole = (place.folder / "truth.csv").read_text().splitlines()
    (place.folder / "truth.csv").write_text("\n".join(whole[:1] + whole[1::8]) + "\n")
    at = place.now - timedelta(days=DAYS - 8.3)

    place.run_at(at, "run-once")
    cut, text = cases.status(at)
    after, _ = cases.status(cases.run(8.6))

    shown = [number for number, row in before.items() if (row["matured"] or 0) > 0.5]
    assert len(shown) >= 2
    for number in shown:
        assert not cut[number]["metrics"]
        assert "positive labels were taken back (are all rows" in cut[number]["reason"]
        for each, truth in zip(after[number]["metrics"], TRUTH.values(), strict=True):
            assert each["low"] <= truth <= each["high"]
    assert "provisional: not estimable, " in text
    assert all(after[number]["metrics"] for number in shown)


@pytest.mark.slow
def test_the_pace_is_kept_where_only_who_else_labels_and_until_when_changes(bare):
    cases = Cases(bare)
    labels = ("max_labels: 40", "max_labels: 200")
    bare.config(COLUMN, labels=labels)
    for day in range(1, 8):
        cases.run(day)
    both = f"{{flagged: {COLUMN}, passed: {COLUMN.replace('4d', '4d, deadline: 9d')}}}"
    bare.config(both, labels=labels)

    rounds, _ = cases.status([cases.run(day) for day in (8, 9)][-1])

    split = bare.query("select count(*) from rounds where settings like '%several%'")
    assert split[0][0] >= 1
    assert rounds
    assert not any("were followed" in (row["reason"] or "") for row in rounds.values())
