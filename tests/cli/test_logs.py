"""Log lines: what commands leave to themselves, what a service tells, and in which form."""

import io
import json
from contextlib import redirect_stderr

import pytest
import structlog

from monitor.cli.logs import COMMAND_OUTPUT, set_up_logs
from tests.cli.workplace import PEOPLE


@pytest.fixture
def logged():
    """Set the log up, log as a function says, and return what stands on standard error."""

    def run(log_some, **settings):
        with redirect_stderr(io.StringIO()) as error:
            set_up_logs(**settings)
            log_some(structlog.get_logger())
        return error.getvalue()

    yield run
    structlog.reset_defaults()


@pytest.mark.parametrize("json_lines", [True, False])
def test_no_secret_of_an_address_that_a_library_quotes_is_in_a_line_or_its_traceback(
    logged, json_lines
):
    def quote(log):
        try:
            raise RuntimeError("s3://b/x?X-Amz-Signature=canary&x=1")  # noqa: EM101, TRY301
        except RuntimeError as error:
            log.exception("tick failed", reason=str(error))

    lines = logged(quote, service=True, json=json_lines)

    assert lines.count("X-Amz-Signature=***&x=1") == 3  # reason, exception and its line of code
    assert "canary" not in lines


@pytest.mark.parametrize("event", sorted(COMMAND_OUTPUT))
def test_a_command_logs_nothing_that_it_says_itself(logged, event):
    of_command = logged(lambda log: log.warning(event, monitor="mail"))
    of_service = logged(lambda log: log.warning(event, monitor="mail"), service=True)

    assert of_command == ""
    assert f'event="{event}" monitor=mail' in of_service


def test_a_service_logs_json_when_asked(logged):
    def break_down(log):
        try:
            raise KeyError("canary")  # noqa: EM101, TRY301
        except KeyError:
            log.exception("tick failed", job="rounds")

    [line] = logged(break_down, service=True, json=True).splitlines()

    found = json.loads(line)
    assert (found["event"], found["level"], found["job"]) == ("tick failed", "error", "rounds")
    assert found["timestamp"].endswith("Z")
    assert "KeyError: 'canary'" in found["exception"]


def test_what_goes_wrong_in_a_pass_is_told_once(place):
    place.config(PEOPLE, path=("predictions.parquet", "away.parquet"))

    done = place.run("run-once")

    assert (done.out + done.err).count("no file matches away.parquet") == 1
