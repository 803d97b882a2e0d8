"""Runs of equal labels in order of time, for rounds whose items have no groups."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from monitor.domain.crashpoint import outside
from monitor.domain.errors import SourceRefused
from monitor.domain.label_parts import class_name
from monitor.domain.model import Window
from monitor.domain.ports import ReadsTruth, Source
from monitor.domain.report import NoticeRow
from monitor.domain.round import Round
from monitor.presentation.parts.runs import RunsRow, runs_sentence
from monitor.rounds.context import MonitorContext
from monitor.rounds.estimation.groups import NOTED
from monitor.rounds.parts.part import LabeledRound, ReportedVersion, ReportPart
from monitor.stats.drift.round_variation import alarms_of_effect
from monitor.stats.labels.label_runs import label_runs
from monitor.storage.labels.round_labels import RoundLabels

RUNS = "runs"
"""Name of these counts in the store."""

CHANCE = 0.001
"""Probability of as few runs in a random order below which they are noted."""


class RunsPart(ReportPart):
    """Runs of labels in a round without groups, as its closing counted them.

    A round that only people label has no runs. The store has no times of predictions, and such a
    round closes without its source.
    """

    name = RUNS

    def at_closing(
        self, context: MonitorContext, round_: Round, labels: RoundLabels
    ) -> dict[str, Any] | None:
        """Count runs in the order of the source's times; None if they are as by chance."""
        settings, block = round_.settings, round_.settings.block
        labelers = context.labelers_of(settings)
        if (
            any(item.group is not None for item in labels.items)
            # Each class would read the same rows again, which `check` reads once.
            or (block and block.kind == "classes")
            or not any(isinstance(one.labeler, ReadsTruth) for one in labelers)
        ):
            return None
        by_class: dict[bool, dict[str, bool]] = {True: {}, False: {}}
        for item, positive in labels.usable():
            by_class[labels.is_flagged[item.stratum]][item.id] = positive
        row = None
        with suppress(SourceRefused):  # a round closes without its predictions and this note
            row = context.try_of_round(
                settings, lambda opened: find_runs(opened.source, round_.window, by_class)
            )
        return None if row is None else row.model_dump()

    def counts(self, counted: LabeledRound) -> Any:
        """Keep the counts of the closing."""
        return counted.stored

    def row(self, version: ReportedVersion) -> RunsRow | None:
        """Return the runs that the closing counted."""
        return None if version.counts is None else RunsRow.model_validate(version.counts)

    def notices(self, version: ReportedVersion, row: RunsRow | None) -> list[NoticeRow]:
        """Note that labels come in runs."""
        if row is None:
            return []
        # Only a column without a value is named here: with one, items have groups.
        sentence = runs_sentence(row, version.round.settings.column("group"))
        return [NoticeRow(kind=RUNS, subject=row.labels, value=row.effect, sentence=sentence)]


def find_runs(
    source: Source,
    window: Window,
    by_class: Mapping[bool, Mapping[str, bool]],
) -> RunsRow | None:
    """Find the predicted class whose labels come in runs most, in the order of time.

    ``by_class`` has the label of each item. None if runs are as by chance, or cost little. Items
    with one time take a random order, since ids may be in the order of the scores.
    """
    with outside("scan"):
        times = source.prediction_times([*by_class[True], *by_class[False]], window)
    ids = sorted(times)
    tie = dict(zip(ids, np.random.default_rng(0).permutation(len(ids)), strict=True))
    ordered = sorted(ids, key=lambda each: (times[each], tie[each]))
    counted = [
        (class_name(flagged), label_runs(np.array(answers)))
        for flagged, labels in by_class.items()
        if (answers := [labels[each] for each in ordered if each in labels])
    ]
    noted = [
        (name, runs) for name, runs in counted if runs.probability < CHANCE and runs.effect >= NOTED
    ]
    if not noted:
        return None
    name, runs = max(noted, key=lambda each: each[1].effect)
    return RunsRow(
        labels=name,
        items=runs.labels,
        runs=runs.runs,
        expected=runs.expected,
        effect=runs.effect,
        alarms=alarms_of_effect(runs.effect),
    )
