"""SQL of a row: its columns under the program's names, and its stratum."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    Double,
    Integer,
    Select,
    String,
    Subquery,
    Uuid,
    and_,
    case,
    func,
    literal,
    literal_column,
    null,
    or_,
    select,
    types,
)

from monitor.domain.challenger import Challenger
from monitor.domain.judge import Judge
from monitor.domain.model import Stratum, Verdict, Window
from monitor.domain.sampled_log import LEAST
from monitor.domain.segments import NO_VALUE
from monitor.domain.values import MISSING_MARKERS, rounded_below
from monitor.files.relations import all_texts
from monitor.sources import buckets
from monitor.sources.dialects import written
from monitor.sources.sql_times import Times
from monitor.sources.table_settings import TableSettings

if TYPE_CHECKING:
    from monitor.sources.sql_table import TableInfo

    Leaf = Callable[[int], ColumnElement[Any]]

ALL = "g"  # Above every md5
_NONE = ""  # below every md5


@dataclass(frozen=True, slots=True)
class _Cuts:
    """The strata of a class by score: ``codes[i]`` ends at ``ends[i]``, the last is open."""

    ends: list[float]
    codes: list[int]
    unscored: int

    @staticmethod
    def of(strata: Sequence[Stratum], *, flagged: bool, verdict: Verdict | None = None) -> _Cuts:
        """Return the cuts of one class, or of one verdict on it; codes are positions of strata."""
        own = [
            (index, each)
            for index, each in enumerate(strata)
            if each.flagged == flagged and (each.verdict == verdict or each.unscored)
        ]
        scored = [(index, each) for index, each in own if not each.unscored]
        ends = sorted({end for _, one in scored for end in (one.low, one.high) if end is not None})
        codes = [_index_of(scored, low, high) for low, high in pairwise([None, *ends, None])]
        alone = len(own) == 1
        unscored = (index for index, one in own if one.unscored or (alone and one.is_unbounded))
        return _Cuts(ends, codes, next(unscored, buckets.SCORE_MISSING))


def _index_of(scored: Sequence[tuple[int, Stratum]], low: float | None, high: float | None) -> int:
    """Return the position of the stratum with the scores between two adjacent ends."""
    for index, each in scored:
        starts = each.low is None or (low is not None and each.low <= low)
        if starts and (each.high is None or (high is not None and high <= each.high)):
            return index
    return buckets.IN_NO_STRATUM


@dataclass(frozen=True, slots=True)
class RowQuery:
    """Selects the rows of one table under the program's names, with the stratum of each.

    ``shown`` lists the columns for people, and whether each has pictures. ``challenger_fault`` says
    why decisions are not read, ``judge_fault`` why no item has a verdict.
    """

    table: TableInfo
    settings: TableSettings
    times: Times
    shown: Sequence[tuple[str, bool]] = ()
    challenger: Challenger | None = None
    challenger_fault: str | None = None
    judge: Judge | None = None
    judge_fault: str | None = None

    def hashed(self, seed: str, item_id: ColumnElement[Any]) -> ColumnElement[Any]:
        """Write md5(seed, id) as lower-case hex."""
        return written(self.table.dialect.md5, literal(f"{seed}|", String()) + item_id)

    @property
    def reads_times(self) -> bool:
        """Whether times are parsed from text."""
        return self.table.is_read_from_text(self.settings.columns.time)

    @property
    def segments(self) -> list[str]:
        """Names of the segment columns in statements."""
        return [f"segment_{index}" for index in range(len(self.settings.columns.segments))]

    @property
    def has_chances(self) -> bool:
        """Whether items have individual probabilities (of release, in the log) or amounts."""
        of_release = isinstance(self.settings.released_with, str)
        return of_release or self.has_log_chances or self.has_amounts

    @property
    def has_amounts(self) -> bool:
        """Whether rows are counted and drawn by amount."""
        return self.settings.columns.weight is not None

    @property
    def has_log_chances(self) -> bool:
        """Whether the log has a column of probabilities of being kept."""
        return isinstance(self.settings.kept_with, str)

    @property
    def _t(self) -> ColumnElement[Any]:
        column = self.table.column(self.settings.columns.time)
        if self.table.dialect.has_types:
            return column
        return written("monitor_time({0})", column, BigInteger())

    def _in(self, window: Window) -> ColumnElement[bool]:
        return self.times.within(self._t, window)

    def _from(self, *columns: ColumnElement[Any]) -> Select[Any]:
        chosen = select(*columns).select_from(self.table.clause)
        for name, values in self.settings.where.items():
            chosen = chosen.where(self._text(name).in_(self._spelled(values)))
        return chosen

    def _rows(self, window: Window) -> Subquery:
        return self.rows_of(self.parts(), window)

    def rows_of(self, parts: Mapping[str, ColumnElement[Any]], window: Window) -> Subquery:
        """Select some parts of the rows of a window."""
        labeled = (part.label(name) for name, part in parts.items())
        return self._from(*labeled).where(self._in(window)).subquery()

    def parts(self) -> dict[str, ColumnElement[Any]]:
        """Return the parts of a row by name: id, t, score, predicted, version, segments."""
        columns = self.settings.columns
        score, predicted, version = columns.score, columns.predicted, columns.model_version
        parts: dict[str, ColumnElement[Any]] = {
            "id": self._id,
            "t": self._t,
            "score": null() if score is None else self._number(score),
            "predicted": null() if predicted is None else self._class_text(predicted),
            "version": null() if version is None else self._version(version),
        }
        if score is not None and self.table.is_read_from_text(score):
            parts["score_text"] = self._trimmed(score)
        for name, column in zip(self.segments, columns.segments, strict=True):
            start = written(self.table.dialect.start, _bare(self._value_text(column)))
            parts[name] = func.coalesce(start, literal(NO_VALUE, String()))
        if self.judge is not None:
            parts["judged"] = self._verdict(self.judge)
        if columns.group is not None:
            group = _bare(self._value_text(columns.group))
            parts["group_name"] = case((group.not_in(sorted(MISSING_MARKERS)), group))
        if columns.released is not None:
            parts |= self._release(columns.released)
        if isinstance(self.settings.kept_with, str):
            parts["chance"] = self._chance(self.settings.kept_with, LEAST)
        if columns.weight is not None:
            parts["weight"] = amount = self._finite(columns.weight)
            parts["chance"] = case((amount > code_of(0), amount))
        return parts if self.challenger is None else parts | self._decision(self.challenger)

    def classed(self, window: Window, strata: Sequence[Stratum]) -> Subquery:
        """Select the rows of a window with their buckets (stratum, or reason for none)."""
        rows = self._rows(window)
        return select(*rows.c, self.placed(rows.c, strata, code_of).label("bucket")).subquery()

    @property
    def _id(self) -> ColumnElement[Any]:
        name = self.settings.columns.id
        if isinstance(self.table.types[name], types.String) or not self.table.dialect.has_types:
            dialect = self.table.dialect
            return written(dialect.id_text or dialect.text, self.table.column(name))
        return self._text(name)

    def _text(self, name: str) -> ColumnElement[Any]:
        dialect, kind = self.table.dialect, self.table.types[name]
        template = ""
        if isinstance(kind, Uuid):
            template = dialect.uuid
        elif isinstance(kind, Boolean) or type(kind).__name__ == "BIT":
            template = dialect.boolean
        return written(template or dialect.text, self.table.column(name))

    def _class_text(self, name: str) -> ColumnElement[Any]:
        return func.nullif(self._trimmed(name), "nan")

    def _trimmed(self, name: str) -> ColumnElement[Any]:
        return _bare(self._text(name))

    def _value_text(self, name: str) -> ColumnElement[Any]:
        """Write a value as text; whole numbers have equal texts regardless of type."""
        return self._text(name)

    def _version(self, name: str) -> ColumnElement[Any]:
        return _bare(self._value_text(name))

    def _number(self, name: str) -> ColumnElement[Any]:
        number = written(self.table.dialect.double, self.table.column(name), Double())
        return _at_threshold(number, self.settings.threshold)

    def _release(self, name: str) -> dict[str, ColumnElement[Any]]:
        """Write 1 if an item was let through, else 0, and the probability of letting it through.

        Both are null if they cannot be read.
        """
        text, chance = func.lower(self._trimmed(name)), self.settings.released_with
        yes, no = (text.in_(self._spelled(values)) for values in ((1, True), (0, False)))
        parts: dict[str, ColumnElement[Any]] = {}
        parts["released"] = case((yes, code_of(1)), (no, code_of(0)))
        if isinstance(chance, str):
            parts["chance"] = self._chance(chance)
        return parts

    def _chance(self, name: str, least: float = 0.0) -> ColumnElement[Any]:
        """Write a column of probabilities; null if 0, below ``least`` or above 1."""
        number = self._finite(name)
        above = number >= literal_column(f"{least:f}", Double()) if least else number > code_of(0)
        is_usable = above & (number <= code_of(1))
        return case((is_usable, number))

    def _decision(self, challenger: Challenger) -> dict[str, ColumnElement[Any]]:
        """Write the challenger's decision on a row (null if it made none) and its score."""
        yes, no = code_of(1), code_of(0)
        if challenger.predicted is not None:
            text = self._class_text(challenger.predicted)
            flags = case((text.in_(self._positives), yes), (text.in_(self._negatives), no))
            score = written(self.table.dialect.double, null(), Double())
            return {"challenged": flags, "challenger_score": score}
        score = _at_threshold(self._finite(challenger.column), challenger.threshold)
        flags = case(
            (score >= literal(challenger.threshold, Double()), yes), (score.is_not(None), no)
        )
        return {"challenged": flags, "challenger_score": score}

    def _verdict(self, judge: Judge) -> ColumnElement[Any]:
        """Write 1 if the judge's verdict is yes, 0 if no, null if there is no verdict."""
        yes, no = code_of(1), code_of(0)
        if self.judge_fault is not None:
            return func.nullif(yes, yes)  # a plain null would be a text on PostgreSQL
        if judge.threshold is not None:
            score = _at_threshold(self._finite(judge.column), judge.threshold)
            above = score >= literal(judge.threshold, Double())
            return case((above, yes), (score.is_not(None), no))
        text, positives = self.verdict_text(judge), self._spelled(judge.positive)
        if judge.negative is not None:
            is_no = text.in_(self._spelled(judge.negative))
        else:
            is_no = text.not_in([each for each in MISSING_MARKERS if each not in positives])
        return case((text.in_(positives), yes), (is_no, no))

    def verdict_text(self, judge: Judge) -> ColumnElement[Any]:
        """Write the text of a judge's verdict; null if it is empty or "nan"."""
        text = self._text(judge.column)
        for blank in "\r\n\t":  # such as at the end of an LLM's answer
            text = func.replace(text, blank, " ")
        return func.nullif(_bare(text), "nan")

    def _finite(self, name: str) -> ColumnElement[Any]:
        """Write a column as a number; null if it is not finite."""
        dialect = self.table.dialect
        number = written(dialect.double, self.table.column(name), Double())
        strange = [
            (written(each, number, Boolean()), null())
            for each in (dialect.nan, dialect.infinite)
            if each
        ]
        return case(*strange, else_=number) if strange else number

    def _spelled(self, values: Any) -> list[str]:
        """Return all texts of values; booleans also as numbers if the database has no booleans."""
        listed = list(values) if isinstance(values, tuple) else [values]
        if not self.table.dialect.has_booleans:
            listed += [int(one) for one in listed if isinstance(one, bool)]
        return all_texts(listed)

    @property
    def named(self) -> tuple[str, ...]:
        """Predicted values listed in the config."""
        return (*self._positives, *self._negatives)

    @property
    def _positives(self) -> list[str]:
        return self._spelled(self.settings.positive)

    @property
    def _negatives(self) -> list[str]:
        provided = self.settings.negative
        texts = [*self.settings.negatives] if provided is None else self._spelled(provided)
        return [text for text in texts if text not in self._positives]

    def placed(self, c: Any, strata: Sequence[Stratum], leaf: Leaf) -> ColumnElement[Any]:
        """Write the leaf of a row's bucket (stratum, or reason for none), by binary search.

        ``c`` has the `parts` of a row as attributes.
        """
        reasons = [(condition, leaf(code)) for condition, code in self._reasons(c)]
        flagged, passed = (self._in_class(c, strata, leaf, flagged=up) for up in (True, False))
        if self.settings.columns.released is not None:
            flagged = self._by_release(c, strata, leaf, flagged)
        return case(*reasons, (self._flagged(c), flagged), else_=passed)

    def _by_release(
        self, c: Any, strata: Sequence[Stratum], leaf: Leaf, released: ColumnElement[Any]
    ) -> ColumnElement[Any]:
        """Assign flagged items that were not let through to buckets that are never drawn from."""
        withheld = self._in_class(
            c, strata, lambda code: leaf(buckets.withheld(code)), flagged=True
        )
        reasons = [(c.released.is_(None), leaf(buckets.RELEASED_UNKNOWN))]
        if self.has_chances:
            reasons.append((c.chance.is_(None), leaf(buckets.CHANCE_UNUSABLE)))
        return case(*reasons, (c.released == code_of(1), released), else_=withheld)

    def _reasons(self, c: Any) -> list[tuple[ColumnElement[bool], int]]:
        dialect, columns = self.table.dialect, self.settings.columns
        no_id = or_(c.id.is_(None), written(dialect.length, c.id, Integer()) == code_of(0))
        reasons = [(no_id, buckets.ID_MISSING)]
        if columns.model_version is not None:
            reasons.append((c.version.is_(None), buckets.VERSION_MISSING))
        if columns.score is not None:
            reasons += self._score_reasons(c)
        if self.settings.threshold is None:
            reasons += [
                (c.predicted.not_in(self.named), buckets.PREDICTED_UNKNOWN),
                (c.predicted.is_(None), buckets.PREDICTED_MISSING),
            ]
        if self.has_log_chances:
            reasons.append((c.chance.is_(None), buckets.LOG_CHANCE_UNUSABLE))
        if self.has_amounts:
            reasons += [
                (c.weight.is_(None), buckets.AMOUNT_UNUSABLE),
                (c.weight < code_of(0), buckets.AMOUNT_NEGATIVE),
                (c.weight == code_of(0), buckets.AMOUNT_ZERO),
            ]
        return reasons

    def _score_reasons(self, c: Any) -> list[tuple[ColumnElement[bool], int]]:
        dialect, score = self.table.dialect, c.score
        reasons: list[tuple[ColumnElement[bool], int]] = []
        if getattr(c, "score_text", None) is not None:
            unread = and_(score.is_(None), c.score_text.is_not(None))
            reasons.append((unread, buckets.SCORE_UNREADABLE))
        if self.settings.threshold is not None:
            reasons.append((score.is_(None), buckets.SCORE_MISSING))
        for template, code in (
            (dialect.nan, buckets.SCORE_NAN),
            (dialect.infinite, buckets.SCORE_INFINITE),
        ):
            if template:
                reasons.append((written(template, score, Boolean()), code))
        return reasons

    def _flagged(self, c: Any) -> Any:
        if self.settings.threshold is not None:
            return c.score >= literal(self.settings.threshold, Double())
        return c.predicted.in_(self._positives)

    def _in_class(
        self, c: Any, strata: Sequence[Stratum], leaf: Leaf, *, flagged: bool
    ) -> ColumnElement[Any]:
        if all(one.verdict is None for one in strata):
            return self._by_score(c, _Cuts.of(strata, flagged=flagged), leaf)
        no, yes, missing = (
            self._by_score(c, _Cuts.of(strata, flagged=flagged, verdict=each), leaf)
            for each in Verdict
        )
        judged = getattr(c, "judged", None)
        if judged is None:  # the config no longer has the round's judge
            return missing
        return case((judged == code_of(1), yes), (judged == code_of(0), no), else_=missing)

    def _by_score(self, c: Any, cuts: _Cuts, leaf: Leaf) -> ColumnElement[Any]:
        if self.settings.columns.score is None:
            return leaf(cuts.unscored)
        ends: list[ColumnElement[Any]] = [literal(end, Double()) for end in cuts.ends]
        by_score = halved(c.score, ends, [leaf(code) for code in cuts.codes])
        if self.settings.threshold is not None:
            return by_score
        return case((c.score.is_(None), leaf(cuts.unscored)), else_=by_score)


def _bare(text: ColumnElement[Any]) -> ColumnElement[Any]:
    return func.nullif(func.trim(text), "")


def _at_threshold(number: ColumnElement[Any], threshold: float | None) -> ColumnElement[Any]:
    """Write a score; if it equals the threshold in 32 bits, write the threshold."""
    below = rounded_below(threshold)
    if below is None:
        return number
    at: ColumnElement[Any] = literal(threshold, Double())
    return case((number == literal(below, Double()), at), else_=number)


def halved(
    value: ColumnElement[Any],
    ends: Sequence[ColumnElement[Any]],
    leaves: Sequence[ColumnElement[Any]],
) -> ColumnElement[Any]:
    """Write the leaf of the span of a value between ascending ends, by binary search."""
    if not ends:
        return leaves[0]
    middle = len(ends) // 2
    below = halved(value, ends[:middle], leaves[: middle + 1])
    above = halved(value, ends[middle + 1 :], leaves[middle + 1 :])
    return case((value < ends[middle], below), else_=above)


def of_version(rows: Subquery, version: str | None) -> list[ColumnElement[bool]]:
    """Return the condition for rows of a model version; empty if it is None."""
    return [] if version is None else [rows.c.version == version]


def decisions_of(c: Any) -> list[ColumnElement[Any]]:
    """Write the fields of `Decisions`: counts flagged and undecided, lowest and highest score."""
    is_flagged, is_open = c.challenged == code_of(1), c.challenged.is_(None)
    counts = [func.count(case((each, code_of(1)))) for each in (is_flagged, is_open)]
    return [*counts, func.min(c.challenger_score), func.max(c.challenger_score)]


def chances_of(chance: ColumnElement[Any]) -> list[ColumnElement[Any]]:
    """Write the fields of `buckets.Chances`, in order."""
    one: ColumnElement[Any] = literal_column("1.0", Double())
    sums = (func.sum(each) for each in (chance, one.op("/")(chance), chance * chance))
    return [func.min(chance), *sums, func.max(chance)]


def code_of(code: int) -> ColumnElement[Any]:
    """Write an integer literal into the statement."""
    return literal_column(str(int(code)), Integer())


def bound_of(bound: str) -> ColumnElement[Any]:
    """Write a bound literally (safe, since it is hex), which saves a bound value per stratum."""
    return literal_column(f"'{bound}'", String())


def bound_leaf(bounds: Mapping[int, str]) -> Leaf:
    """Return a function that writes the bound of a bucket; by default below every md5."""
    return lambda code: bound_of(bounds.get(code, _NONE))
