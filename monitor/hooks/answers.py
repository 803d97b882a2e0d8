"""Answers of receivers that say success by their status and the contrary by their text.

By Standard Webhooks any 2xx is success, and so it is here, unless the text is one of these:

- an HTML document: a proxy or a load balancer asks to sign in, and the receiver saw nothing;
- JSON with ``"ok": false`` (Slack, Telegram), ``"success": false``, a nonzero ``errcode``
  (DingTalk, WeCom), a ``code`` from 400 on with a ``msg`` (Lark), a ``status`` of error or
  failure (JSend), or ``error``, ``errors`` (GraphQL) or ``errorMessage`` (AWS Lambda) that are
  not empty;
- the sentence that connectors of Microsoft Teams answer with status 200 where they failed.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeGuard

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_PAGE = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype\s+html|html|head)\b", re.IGNORECASE)
_TEAMS = re.compile(
    r"\s*\"?webhook (?:message delivery failed|bad request)"
    r"(?:.*?HTTP error (?P<status>[1-5]\d\d))?",
    re.IGNORECASE | re.DOTALL,
)
_FALSE = ("ok", "success")
_FAILED = ("error", "fail", "failed", "failure")
_ERRORS = ("error", "errors", "errorMessage")
_ERROR = 400


def is_page(text: str) -> bool:
    """Whether an answer is a page for people.

    >>> is_page("<!DOCTYPE html><title>Sign in</title>"), is_page("ok"), is_page("<b>thanks</b>")
    (True, False, False)
    """
    return _PAGE.match(_COMMENT.sub("", text)) is not None


def denial_in(text: str) -> str | None:
    """Return what in an answer says that the notice was not taken; None if nothing does.

    Nothing is repeated that may hold a secret.

    >>> denial_in('{"ok": false, "error": "channel_not_found"}')
    '"ok": false'
    >>> denial_in("Webhook message delivery failed with error: endpoint returned HTTP error 429")
    'webhook message delivery failed, HTTP error 429'
    >>> denial_in("1"), denial_in('{"ok": true}'), denial_in('{"errcode": 0}'), denial_in("")
    (None, None, None, None)
    """
    if (failed := _TEAMS.match(text)) is not None:
        status = failed["status"]
        return "webhook message delivery failed" + (f", HTTP error {status}" if status else "")
    return _denial_in_json(_object(text))


def _denial_in_json(answer: dict[str, Any]) -> str | None:
    for name in _FALSE:
        if str(answer.get(name)).lower() == "false":
            return f'"{name}": false'
    code = answer.get("errcode")
    if _is_number(code) and code != 0:
        return f'"errcode": {code}'
    # Alertmanager has a code above 600 and a message in answers that are a success.
    if "msg" in answer and _is_number(answer.get("code")) and answer["code"] >= _ERROR:
        return f'"code": {answer["code"]}'
    if str(answer.get("status")).lower() in _FAILED:
        return f'"status": "{str(answer["status"]).lower()}"'
    if any(answer.get(name) is True for name in _FALSE):
        return None
    return next((f'"{name}"' for name in _ERRORS if answer.get(name)), None)


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _object(text: str) -> dict[str, Any]:
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}
