"""Guesses the roles of columns of predictions from their names, types and values."""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from monitor.domain.errors import InputRefused
from monitor.fixed_text import significant_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.files.relations import DescribedFiles
    from monitor.sources.sql_describe import DescribedTable

Described: TypeAlias = "DescribedFiles | DescribedTable"

_ID = "id prediction_id request_id event_id item_id uuid key"
_TIME = (
    "scored_at predicted_at prediction_time predicted_time scoring_time timestamp event_time "
    "created_at time ts datetime date"
)
_SCORE = (
    "score probability proba prob y_score y_prob y_proba prediction_score predicted_probability "
    "confidence"
)
_PREDICTED = "predicted prediction predicted_label predicted_class y_pred pred flagged decision"
_CLASS_LIKE = re.compile(r"pred|class|decision|verdict", re.IGNORECASE)

_TEXT = r"(VARCHAR|TEXT|STRING|OBJECT|STR)(\(.*\))?|ENUM.*"
_WHOLE = r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?\d*"
_NUMBER = r"FLOAT\d*|DOUBLE|REAL|DECIMAL.*"
_TRUTH = r"BOOL(EAN)?"
_TIMES = r"TIMESTAMP.*|DATETIME.*|DATE"
_NESTED = r"(STRUCT|MAP)\(.*\)"

_RULE = "which rows are flagged (--score with --threshold, or --predicted)"
_OF_SHARES = "of numbers from 0 to 1"
_FEWEST_ROWS, _LEAST_DIFFERENT = 20, 0.9  # of an id: some items are scored twice
_MOST_CLASSES = 20
_EPOCH, _EPOCH_S = (1e9, 4e12), (1e9, 4e9)  # (milli)seconds since 1970: from 2001 to 2096
_PERCENT = 50, 100  # between these is the highest of scores in percent
_YES_NO = frozenset({"0", "1", "true", "false"})
_DECIMAL_COMMA = r"-?\d+(,\d+)?([eE]-?\d+)?"
_NEW_TIME = "scored_at"
_ISO = re.compile(r"\d{4}-\d\d-\d\d")
_TIME_FORMATS = [
    f"{date}{clock}"
    for date in ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%Y%m%d")
    for clock in ("", " %H:%M", " %H:%M:%S")
]
_PLACEHOLDERS = ("COLUMN", "SCORE", "VALUE")
_CONVERTIBLE = re.compile(r"[\w./*?-]+\.(csv|tsv|parquet|pq)(\.gz)?")  # nothing to be quoted


@dataclass(frozen=True, slots=True)
class Chosen:
    """The column of each role; None if there is no such column, or if it is to be guessed."""

    id: str | None = None
    time: str | None = None
    score: str | None = None
    predicted: str | None = None
    positive: str | None = None
    threshold: float | None = None
    label: str | None = None
    table: str | None = None
    classes: str | None = None


def is_text(kind: str) -> bool:
    """Whether a column type is a text type."""
    return _is_of(_TEXT, kind)


class ColumnGuess:
    """The roles of columns: set by flags, else guessed from names and types, then from values.

    ``chosen`` is the result; ``guesses`` describe choices that no flag and no name decided.

    Raises `InputRefused` with a question for each column that cannot be guessed, and one command
    that answers all of them. ``command`` is its beginning: ``pr-monitor init FILE`` and options
    that name no column.
    """

    def __init__(self, described: Described, chosen: Chosen, command: Sequence[str]) -> None:
        self.types = types = described.columns()
        deciding = "|".join(("UUID", _TEXT, _WHOLE, _NUMBER, _TRUTH))
        kinds = {name: kind for name, kind in types.items() if _is_of(deciding, kind)}
        self._flags, self._class_values = chosen, described.class_values
        self._first = described.first_values(kinds)
        self._rows = max(map(len, self._first.values()), default=0)
        self._conversion = ""
        self._questions: list[str] = []
        self._proposed: dict[str, Any] = {}
        self.guesses: list[str] = []
        self.chosen = _by_names(types, self._repeated(), chosen)
        if self.chosen.id is None:
            self._find_id()
        if self.chosen.time is None:
            self.chosen = replace(self.chosen, time=self._written_time())
        if self.chosen.time is None:
            self._find_time()
        else:
            self._check_times(described, self.chosen.time)
        self._find_rule()
        problems = _problems(types, chosen, self.chosen)
        if problems or self._questions:
            listed = ", ".join(f"{name} ({kind})" for name, kind in types.items()) or "none"
            answers = [] if problems else self._answers(command)
            lines = [*problems, *self._questions, *answers, f"The columns are {listed}"]
            raise InputRefused("\n".join(lines))
        is_by_class = self.chosen.predicted is not None or self.chosen.classes is not None
        if not is_by_class and self.chosen.threshold is None:
            self.chosen = replace(self.chosen, threshold=0.5)
            self.guesses.append("took 0.5 as the threshold: items are flagged from it on")

    def _answers(self, command: Sequence[str]) -> list[str]:
        """Return the command that answers all questions, or one that first converts the file."""
        path = _CONVERTIBLE.fullmatch(command[2])
        nested = [name for name, kind in self.types.items() if _is_of(_NESTED, kind)]
        if nested and "COLUMN" in self._proposed.values():
            self._ask(f"what is inside of {_listed(nested)}")
            fields = ", ".join(f"unnest({name})" for name in nested)
            self._conversion = f").project('* exclude ({', '.join(nested)}), {fields}'"
        if path is not None and re.fullmatch(r"[\w ',.()*/=%:]+", self._conversion):
            reader = "read_csv" if path[1] in {"csv", "tsv"} else "read_parquet"
            read = f"duckdb.{reader}('{command[2]}'{self._conversion})"
            typed = [*command[:2], "converted.parquet", *command[3:], *_options(self._flags)]
            return [
                "Convert it first, for example:",
                f"  python -c \"import duckdb; {read}.write_parquet('converted.parquet')\"",
                f"  {shlex.join(typed)}",
            ]
        typed = [*command, *_options(replace(self.chosen, **self._proposed))]
        gap = next((f", with yours for {one}" for one in _PLACEHOLDERS if one in typed), "")
        return [f"For example{gap}:", f"  {shlex.join(typed)}"]

    def _ask(self, question: str, why: str = "", **proposed: object) -> None:
        self._questions.append(f"cannot tell {question}{why and f': {why}'}")
        self._proposed |= proposed

    def _take(self, flag: str, question: str, names: Sequence[str], why: str) -> None:
        """Choose the column if exactly one fits, else add a question."""
        if len(names) == 1:
            self.chosen = replace(self.chosen, **{flag: names[0]})  # type: ignore[arg-type]
            self.guesses.append(f"took {names[0]!r} as the {flag}, the only column {why}")
        else:
            several = f"{_listed(names)} are columns {why}" if names else ""
            self._ask(question, several, **{flag: [*names, "COLUMN"][0]})

    def _repeated(self) -> set[str]:
        """Return the columns with too many repeated values for an id."""
        first = self._first.items()
        return {name for name, values in first if len({*values}) < _LEAST_DIFFERENT * len(values)}

    def _free(self, kinds: str) -> dict[str, list[object]]:
        """Return the values of columns of these types that have no role yet."""
        return {
            name: [value for value in values if value is not None]
            for name, values in self._first.items()
            if _is_of(kinds, self.types[name]) and name not in asdict(self.chosen).values()
        }

    def _find_id(self) -> None:
        unique = [
            name
            for name, values in self._free(f"UUID|{_TEXT}|{_WHOLE}").items()
            if len({*values}) == self._rows >= _FEWEST_ROWS and _all_match(r"\S{1,64}", values)
        ]
        why = f"whose values are all different ({self._rows:,} rows read)"
        self._take("id", "which column is the id (--id)", unique, why)

    def _written_time(self) -> str | None:
        """Return the only column whose texts are times in a common format, or None."""
        texts = {name: [f"{value}" for value in all_] for name, all_ in self._free(_TEXT).items()}
        written = [
            name
            for name, values in texts.items()
            if values and any(_all_parse(each, values) for each in _TIME_FORMATS)
        ]
        has_times = any(_is_of(_TIMES, kind) for kind in self.types.values())
        return written[0] if len(written) == 1 and not has_times else None

    def _find_time(self) -> None:
        times = [name for name, kind in self.types.items() if _is_of(_TIMES, kind)]
        why = f"{_listed(times)} are columns of times" if times else ""
        for name, values in ({} if times else self._free(_WHOLE)).items():
            if _are_within(_EPOCH, values):
                unit, prefix = ("", "") if _are_within(_EPOCH_S, values) else (" / 1000", "milli")
                why = f"{name!r} counts {prefix}seconds since 1970, but files need times"
                if name.isidentifier():
                    seconds = f"to_timestamp({name}{unit})"
                    self._conversion = f").project('* replace ({seconds} as {name})'"
                times.append(name)
        if not times:
            why = (
                "no column holds times; rows of one batch can have the time at which it ran, and "
                "labeled items need none: pr-monitor gate"
            )
            self._conversion = f").project('*, now() as {_NEW_TIME}'"
        question = "which column is the time of the prediction (--time)"
        self._ask(question, why, time=[*times, "COLUMN"][0])

    def _check_times(self, described: Described, time: str) -> None:
        """Ask for a conversion if the texts of a time column are not ISO times."""
        kind = self.types.get(time, "")
        texts = described.first_values({time: kind})[time] if is_text(kind) else []
        values = [f"{value}".strip() for value in texts if value is not None]
        if values and not any(_ISO.match(value) for value in values):
            why = f"{time!r} holds {values[0]!r}, but files need 2026-03-31 06:00"
            formats = [each for each in _TIME_FORMATS if _all_parse(each, values)]
            if len(formats) == 1 and time.isidentifier():  # else day and month may be either
                parsed = f"strptime({time}, '{formats[0]}')"
                self._conversion = f").project('''* replace ({parsed} as {time})'''"
            self._ask("when each prediction was made (--time)", why)

    def _find_rule(self) -> None:
        scores = [name for name, values in self._free(_NUMBER).items() if _are_shares(values)]
        decision = self._decision()
        if decision is not None and (scores or self.chosen.score is not None):
            self._ask_for_rule(decision, self.chosen.score or scores[0])
            return
        if (self.chosen.classes, self.chosen.predicted, self.chosen.score) == (None, None, None):
            self._find_score(scores)
        if self.chosen.predicted is not None:
            self._find_positive(self.chosen.predicted)
            if self.chosen.score is None and len(scores) == 1:  # it makes strata, not the rule
                self._take("score", _RULE, scores, _OF_SHARES)
        elif self.chosen.score is not None and self.chosen.threshold is None:
            self._find_threshold(self.chosen.score)

    def _decision(self) -> str | None:
        """Return the text with the name of a decision, unless flags or other columns say more."""
        flags, name = self._flags, _guess(self.types, _PREDICTED, _TEXT)
        deciding = (flags.threshold, flags.score, flags.classes, self.chosen.predicted)
        if any(each is not None for each in deciding):
            return None
        return name if name not in {*asdict(self.chosen).values()} else None

    def _ask_for_rule(self, decision: str, score: str) -> None:
        values = self._class_values(decision)
        shown = ", ".join(map(repr, values)) or "texts"
        value = self._rarest(decision, values) if len(values) == 2 else "VALUE"  # noqa: PLR2004
        why = f"{decision!r} holds {shown}, and {score!r} holds scores"
        self._ask(_RULE, why, predicted=decision, positive=value, score=score)

    def _rarest(self, column: str, values: Sequence[str]) -> str:
        counts = Counter(map(str, self._first.get(column, ())))
        return min(reversed(values), key=counts.__getitem__, default="VALUE")

    def _find_score(self, scores: Sequence[str]) -> None:
        texts = self._free(f"{_TEXT}|{_WHOLE}|{_TRUTH}")
        commas = [
            name
            for name, values in texts.items()
            if _all_match(_DECIMAL_COMMA, values) and any("," in f"{value}" for value in values)
        ]
        few = [name for name, values in texts.items() if 1 < len({*values}) <= _MOST_CLASSES]
        few.sort(key=lambda name: _CLASS_LIKE.search(name) is None)
        if commas and not scores:
            self._conversion = ", decimal=','"
            self._ask(_RULE, f"{_listed(commas)} has decimal commas, so it is read as text")
        elif few and not scores:
            self._ask(_RULE, f"few values are in {_listed(few)}", predicted=few[0])
            self._find_positive(few[0])
        else:
            self._take("score", _RULE, scores, _OF_SHARES)
            self._proposed |= {"threshold": self._flags.threshold or 0.5}

    def _find_positive(self, predicted: str) -> None:
        values = self._class_values(predicted)
        is_clear = _YES_NO.issuperset(value.lower().removesuffix(".0") for value in values)
        if self.chosen.positive or (is_clear and not is_text(self.types.get(predicted, ""))):
            return
        question = f"which value of {predicted!r} means positive (--positive)"
        why = f"it has {', '.join(map(repr, values))}" if values else ""
        if len(values) > 2:  # noqa: PLR2004  more than yes and no
            why += "; --classes makes a monitor for each"
            self._ask(question, why, classes=predicted, predicted=None)
        else:
            self._ask(question, why, positive=self._rarest(predicted, values))

    def _find_threshold(self, score: str) -> None:
        values = self._first.get(score, ())
        numbers = [number for number in map(_number, values) if math.isfinite(number)]
        if values and not numbers:
            why = f"{score!r} holds no number in {self._rows:,} rows"
            self._ask("which column is the score (--score)", why, score="COLUMN", threshold=0.5)
        elif numbers and not _are_within((0, 1), numbers):
            low, high = min(numbers), max(numbers)
            in_percent = low >= 0 and _PERCENT[0] < high <= _PERCENT[1]
            threshold = 50 if in_percent else 0 if low < 0 else "SCORE"
            ends = f"{significant_text(low)} to {significant_text(high)}"
            why = f"{score!r} goes from {ends}, so it is hardly 0.5"
            question = "from which score items are flagged (--threshold)"
            self._ask(question, why, threshold=threshold)


def _options(chosen: Chosen) -> list[str]:
    options = {
        f"--{name}": f"{value}" for name, value in asdict(chosen).items() if value is not None
    }
    return [word for option in options.items() for word in option]


def _listed(names: Sequence[str]) -> str:
    return " and ".join(map(repr, names))


def _is_of(kinds: str, kind: str) -> bool:
    return re.fullmatch(kinds, kind, re.IGNORECASE | re.DOTALL) is not None


def _all_match(pattern: str, values: Sequence[object]) -> bool:
    return bool(values) and all(re.fullmatch(pattern, f"{value}") for value in values)


def _all_parse(pattern: str, values: Sequence[str]) -> bool:
    try:
        return all(datetime.strptime(value, pattern) for value in values)  # noqa: DTZ007
    except ValueError:
        return False


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float | Decimal) else math.nan


def _are_within(span: tuple[float, float], values: Sequence[object]) -> bool:
    return bool(values) and all(span[0] <= _number(value) <= span[1] for value in values)


def _are_shares(values: Sequence[object]) -> bool:
    """Whether values are numbers from 0 to 1 with more than two distinct ones (not yes and no)."""
    numbers = {number for number in map(_number, values) if not math.isnan(number)}
    return len(numbers) > 2 and _are_within((0, 1), [*numbers])  # noqa: PLR2004


def _by_names(types: dict[str, str], repeated: set[str], flags: Chosen) -> Chosen:
    """Guess columns without a flag from names and types; a column that repeats is not an id."""
    keys = {name: kind for name, kind in types.items() if name not in repeated}
    times = [name for name, kind in types.items() if _is_of(_TIMES, kind)]
    time = times[0] if len(times) == 1 else _guess(types, _TIME, f"{_TIMES}|{_TEXT}")
    id_ = _guess(keys, _ID, f"UUID|{_TEXT}|{_WHOLE}", r".*(_id|_uuid|_key| id)")
    chosen = replace(flags, id=flags.id or id_, time=flags.time or time)
    if flags.classes is not None:
        return chosen
    texts = "" if flags.positive is None else f"|{_TEXT}"
    predicted = flags.predicted or _guess(types, _PREDICTED, f"{_TRUTH}|{_WHOLE}{texts}")
    score = flags.score or _guess(types, _SCORE, _NUMBER, r".*(score|prob).*")
    # A threshold, or a score named by a flag, means that the score decides.
    decides = flags.threshold is not None or (flags.score is not None and flags.positive is None)
    return replace(chosen, score=score, predicted=flags.predicted if decides else predicted)


def _guess(types: dict[str, str], names: str, kinds: str, similar: str = "(?!)") -> str | None:
    """Return the first column with a well-known name, else the only one with a similar name."""
    fitting = {name.lower(): name for name, kind in types.items() if _is_of(kinds, kind)}
    usual = [fitting[name] for name in names.split() if name in fitting]
    close = [name for lower, name in fitting.items() if re.fullmatch(similar, lower, re.DOTALL)]
    return usual[0] if usual else close[0] if len(close) == 1 else None


def _problems(types: dict[str, str], flags: Chosen, chosen: Chosen) -> list[str]:
    """Describe flags that name no existing column, and flags that contradict each other."""
    columns = ("id", "time", "score", "predicted", "label", "classes")
    named = {flag: name for flag in columns if (name := getattr(flags, flag)) is not None}
    rules = [
        f"--{flag}"
        for flag in ("predicted", "threshold", "classes")
        if getattr(chosen, flag) is not None
    ]
    threshold = chosen.threshold
    refused = {
        "--threshold needs a column of scores (--score)": threshold is not None
        and chosen.score is None,
        f"{' and '.join(rules)} both say which rows are flagged; give one": len(rules) > 1,
        f"--threshold {threshold} is not a finite number": not math.isfinite(threshold or 0),
        "--positive needs --predicted": chosen.positive and chosen.predicted is None,
    }
    return [
        *(
            f"there is no column {column!r} (--{flag})"
            for flag, column in named.items()
            if column not in types
        ),
        *(sentence for sentence, is_so in refused.items() if is_so),
    ]
