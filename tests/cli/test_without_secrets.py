"""A shell without the hooks' secrets: results are shown, and only commands that deliver refuse."""

import pytest

from tests.cli.workplace import PEOPLE

HOOKS = (
    "monitors:",
    "hooks:\n  ops: {kind: webhook, url: '${NO_OPS_HOOK}', signing_key_file: none}\nmonitors:",
)


@pytest.mark.parametrize(
    "words",
    [
        *("status", "rounds", "show 1", "report 1", "plan mail", "simulate mail", "alerts"),
        *("compare 1 --threshold 0.6", "threshold --precision 0.5", "effects", "users list"),
        *("backup copy.db", "db check", "db upgrade"),
    ],
)
def test_commands_that_deliver_nothing_need_no_secret_of_a_hook(closed, words):
    closed.config(hooks=HOOKS)

    ended = closed.run(*words.split())

    assert "NO_OPS_HOOK" not in ended.err
    assert ended.code in {0, 65}, ended.err  # 65 where one round is too little to go by


@pytest.mark.parametrize(
    "words", ["run-once", "check", "alerts test", "backfill --from 2026-01-01"]
)
def test_commands_that_deliver_name_the_secret_that_is_missing(place, words):
    place.config(labeling=PEOPLE, hooks=HOOKS)

    ended = place.run(*words.split())

    assert ended.code == 78
    assert "hooks.ops.url: the environment has no variable NO_OPS_HOOK" in ended.err
