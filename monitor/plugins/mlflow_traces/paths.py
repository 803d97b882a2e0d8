"""Paths such as ``outputs.flagged`` into a trace, and the ids of its items."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from monitor.domain.visible import visible

SPAN_ROOTS = ("inputs", "outputs", "attributes")
TRACE_ROOTS = ("tags", "metadata", "assessments")
"""What a path begins with: parts of a span, and of the trace around it."""

_SPAN_ID = re.compile(r"(?s)(.+)/([0-9a-f]{16})")
_MOST_LISTED, _LONGEST, _DEEPEST = 12, 60, 4


def item_id(trace_id: str, span_id: str | None = None) -> str:
    """Return the id of an item: of a trace, or of one of its spans."""
    return trace_id if span_id is None else f"{trace_id}/{span_id}"


def split_item(item: str) -> tuple[str, str | None]:
    """Return the trace of an item, and its span unless the item is the whole trace.

    >>> split_item("tr-0b6e/00f067aa0ba902b7")
    ('tr-0b6e', '00f067aa0ba902b7')
    >>> split_item("tr-0b6e")
    ('tr-0b6e', None)
    """
    match = _SPAN_ID.fullmatch(item)
    return (item, None) if match is None else (match[1], match[2])


def problem_of(path: str) -> str | None:
    """Describe why a text is no path; None if it is one."""
    root, _, rest = path.partition(".")
    if root in ("inputs", "outputs") or (root in (*SPAN_ROOTS, *TRACE_ROOTS) and rest):
        return None
    roots = ", ".join(f"{each}.NAME" for each in (*SPAN_ROOTS, *TRACE_ROOTS))
    close = difflib.get_close_matches(root, (*SPAN_ROOTS, *TRACE_ROOTS), n=1)
    hint = f"; did you mean {'.'.join([*close, *filter(None, [rest])])}?" if close and rest else ""
    return f"{path!r} is not a path into a trace; write one of {roots}{hint}"


def value_at(value: Any, path: str) -> Any:
    """Return what is at a path; None if nothing is.

    A name may contain dots. A number is a position in a list, and a text that holds JSON is
    entered.

    >>> value_at({"outputs": '{"labels": [{"name": "toxic"}]}'}, "outputs.labels.0.name")
    'toxic'
    >>> value_at({"tags": {"team.language": "cs"}}, "tags.team.language")
    'cs'
    """
    if not path:
        return value
    if isinstance(value, str):
        value = _as_json(value)
    if isinstance(value, list):
        first, _, rest = path.partition(".")
        return value_at(_at(value, first), rest)
    if not isinstance(value, Mapping):
        return None
    if path in value:
        return value[path]
    for end in (match.start() for match in re.finditer(r"\.", path)):
        if (
            path[:end] in value
            and (inner := value_at(value[path[:end]], path[end + 1 :])) is not None
        ):
            return inner
    return None


def _at(values: list[Any], position: str) -> Any:
    is_position = re.fullmatch(r"-?\d{1,9}", position) is not None
    index = int(position) if is_position else len(values)
    return values[index] if -len(values) <= index < len(values) else None


def _as_json(text: str) -> Any:
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def as_text(value: Any) -> str | None:
    """Write a value as a text from which its class or number is read."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def leaves(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """List the paths of a value that lead to a text, a number or a truth, with what is there.

    MLflow's own tags and attributes are no decisions.
    """
    inner = _as_json(value) if isinstance(value, str) else value
    if isinstance(inner, list):
        inner = dict(enumerate(inner[:1]))
    if isinstance(inner, Mapping) and depth < _DEEPEST:
        for name, each in inner.items():
            if depth == 1 and str(name).startswith("mlflow."):
                continue
            yield from leaves(each, f"{path}.{name}" if path else str(name), depth + 1)
    elif value is not None and path:
        yield path, value


def there_are(names: Collection[str], missing: str) -> str:
    """Name those that exist where one is missing, and the closest."""
    close = difflib.get_close_matches(missing, names, n=1)
    hint = f"; did you mean {visible(close[0])}?" if close else ""
    listed = [visible(name)[:_LONGEST] for name in names][:_MOST_LISTED]
    more = f" and {len(names) - len(listed)} more" if len(names) > len(listed) else ""
    return f"{', '.join(listed) or 'none'}{more}{hint}"
