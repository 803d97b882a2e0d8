"""The demo of labeling: some weeks pass, and a person labels the first one with a noisy camera.

The weeks before were labeled by the truth. What the person's answers make of the estimates is
shown beside the estimate before them, and beside what all images of the week really show.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.demo import folder as demo_folder
from monitor.demo.digits import Confusion, DigitScenario
from monitor.demo.play import begin, runs_page, send, ui_command
from monitor.demo.table import columns_text, echo
from monitor.demo.watch import METRICS, DemoRound, read_round, watch
from monitor.domain.errors import MonitorError
from monitor.domain.model import Answer
from monitor.domain.state import ENDED

if TYPE_CHECKING:
    from rich.console import Console

    from monitor.wiring import Application

WEEKS = 9  # The last of which is the person's, and the first with the noisy camera
LABELS = 30  # What a person answers in a minute, two seconds each

_WIDTHS = (10, 18, 20, 6)


@dataclass(frozen=True, slots=True)
class Answered:
    """What the answers came to; no ``after`` where too few of them say anything.

    ``right`` of the ``answers`` say what the image really shows.
    """

    before: DemoRound
    after: DemoRound | None
    answers: int
    right: int
    truth: Confusion


class LabelingWeek:
    """A demo that waits for a person's answers.

    folder: Not there yet, empty, or with an earlier demo, which is started over.
    scenario: Other weeks than the usual ones; the last of them is the person's.
    """

    def __init__(
        self,
        folder: Path,
        console: Console,
        scenario: DigitScenario | None = None,
        labels: int = LABELS,
    ) -> None:
        self.folder = folder
        self._console = console
        self._scenario = scenario or DigitScenario(rounds=WEEKS, drop_round=WEEKS)
        self._labels = labels
        self.application, self.before, self._round_id = self._played()

    def _played(self) -> tuple[Application, DemoRound, int]:
        # With what they bring: a second.
        from monitor.config.load import load_config  # noqa: PLC0415
        from monitor.rounds.run import backfill  # noqa: PLC0415
        from monitor.wiring import build  # noqa: PLC0415

        weeks = self._scenario.rounds - 1
        story = (
            "A small neural network learns “is it an 8?” from scikit-learn's digits. In "
            f"{weeks} weeks {self._scenario.labels} of its images each are labeled by the truth; "
            "the week after them is yours. You see the paper; it saw what the camera made of it."
        )
        self._written, application = begin(
            self.folder, self._scenario, self._console, story, pictures=True
        )
        with self._console.status("week 1") as status:
            for before in watch(application, self._written, weeks):
                status.update(f"week {before.number + 1}")
        application.database.close()
        demo_folder.ask_people(self.folder, self._written, self._labels)
        application = build(load_config(self.folder / demo_folder.CONFIG))
        context = application.context(demo_folder.MONITOR)
        rounds = [round_ for _, round_ in backfill(context, self._written.start)]
        if rounds[-1] is None:
            message = "the demo is broken: the round for your answers had ended before"
            raise MonitorError(message)
        return application, before, rounds[-1].id

    def answered(self) -> Answered | None:
        """Take the answers in, and what they came to once all are there; None until then."""
        from monitor.rounds.run import run_all  # noqa: PLC0415
        from monitor.storage.labels import label_store  # noqa: PLC0415
        from monitor.storage.rounds import round_store  # noqa: PLC0415

        run_all(self.application.context(demo_folder.MONITOR), self._round_id)
        truth = self._written.rounds[-1]
        with self.application.database.read() as connection:
            round_ = round_store.read_round(connection, self._round_id)
            if round_.state not in ENDED:
                return None
            labels = label_store.current_labels(connection, self._round_id)
            is_estimated = round_.estimated_revision is not None
            after = read_round(connection, round_, truth) if is_estimated else None
        really = {True: Answer.POSITIVE, False: Answer.NEGATIVE}
        eights = self._written.eights
        right = sum(answer is really[item in eights] for item, answer in labels.items())
        return Answered(self.before, after, len(labels), right, truth)

    def show(self, answered: Answered) -> None:
        """Print what the answers came to."""
        for line in story(answered, self._scenario.labels):
            self._echo(line)

    def show_way_on(self) -> None:
        """Send everything to MLflow, and say where to look."""
        failed = send(self._console, self.application, self._scenario.rounds)
        for sink, why in failed.items():
            self._echo(f"Not everything got to {sink}: {why}")
        config = self.folder / demo_folder.CONFIG
        self._echo("")
        self._echo("The round with your answers, all rounds, and MLflow with its address:")
        self._echo("")
        self._echo(f"  pr-monitor show {self._scenario.rounds} --config {config}")
        self._echo(f"  pr-monitor rounds --config {config}")
        self._echo(f"  {ui_command(self.folder)}")
        self._echo(f"  {runs_page(self.application)}")

    def _echo(self, text: str) -> None:
        echo(self._console, text)


def story(answered: Answered, usual: int) -> list[str]:
    """Word what the answers came to; ``usual`` is how many labels the weeks before had."""
    lines = [f"{answered.answers} answers, {answered.right} of them what the image really shows."]
    before, after = answered.before, answered.after
    if after is None:
        return [*lines, "They are too few for an estimate: most of them are “cannot tell”."]
    heads = (f"week {before.number}", f"week {after.number}, your answers", "really")
    return [
        *lines,
        "",
        _row("", *heads),
        *(
            _row(
                metric,
                columns_text(before.pooled.get(metric)),
                columns_text(after.pooled.get(metric)),
                f"{after.truth.of(metric):.2f}",
            )
            for metric in METRICS
        ),
        "",
        *(_moved(metric, before, after) for metric in METRICS),
        "Intervals hold the truth 19 times of 20 or about that. Those of the weeks before rest on",
        f"{usual} labels each, yours on {answered.answers} and on a little of what was known.",
    ]


def _row(*cells: str) -> str:
    return "  ".join(
        f"{cell:<{width}}" for cell, width in zip(cells, _WIDTHS, strict=True)
    ).rstrip()


def _moved(metric: str, before: DemoRound, after: DemoRound) -> str:
    earlier, now = before.pooled.get(metric), after.pooled.get(metric)
    if earlier is None or now is None:
        return f"{metric.capitalize()} cannot be compared: one of the weeks has no estimate."
    points = round(100 * (now.point - earlier.point))
    way = f"moved {'up' if points > 0 else 'down'} by {abs(points)} points"
    return (
        f"{metric.capitalize()} {way if points else 'did not move'}; by your answers it lies "
        f"between {now.low:.2f} and {now.high:.2f}."
    )
