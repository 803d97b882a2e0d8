"""A config and what is said when it is changed: shared by the tests of the config."""

import pytest

from monitor.config import adapters
from monitor.config.load import load_config
from monitor.domain.errors import ConfigRefused

ENVIRONMENT = {
    "OPS_HOOK": "https://hooks.example.org/services/T0K3N",
    "OPS_HOOK_SECRET": "canary-0123456789-0123456789",
    "DB_PASSWORD": "canary-password",
    "LABELS": "1200",
}
TEXT = """\
store: sqlite:///monitor.db
mlflow: {tracking_uri: sqlite:///mlflow.db, experiment_prefix: monitor}
monitors:
  - name: mail-travel
    model: models:/mail-travel/7
    source:
      kind: duckdb
      path: predictions/*.parquet
      columns: {id: mail_id, time: scored_at, score: score, show: [subject, body]}
      time_zone: UTC
      where: {tenant: [eu, us]}
      threshold: 0.5
    schedule: {cron: "0 6 * * MON", time_zone: Europe/Prague, lag: 6h}
    sample: {margin: {precision: 0.05, recall: 0.05}, max_labels: 2000}
    labeling: {kind: files, deadline: 5d, late_labels: 90d}
    reference: {tp: 138, fp: 22, fn: 108, tn: 4732}
    limits: {precision: 0.80, recall: 0.50, false_alarm_every: 52}
    bad_rows_max: 0.01
    pooling: {hazard: 0.35}
    hooks: [ops]
hooks:
  ops: {kind: webhook, url: "${OPS_HOOK}", secret: "${OPS_HOOK_SECRET}"}
"""

SENTENCES = """\
recall: 0.50 => recall: 80
    17, monitors[mail-travel].limits.recall: 80 is not a share. It must lie between 0 and 1; did you mean 0.80?
recall: 0.50 => recall: 1
    17, monitors[mail-travel].limits.recall: 1 is not a share. It must lie between 0 and 1
recall: 0.50 => recall: .nan
    17, monitors[mail-travel].limits.recall: it should be a finite number, found nan
recall: 0.50 => recal: 0.50
    17, monitors[mail-travel].limits.recal: 'recal' cannot have a limit; did you mean recall?
recall: 0.50 => prevalence: {at_least: 0.3, at_most: 0.2}
    17, monitors[mail-travel].limits.prevalence: nothing is at least 0.3 and at most 0.2
recall: 0.50 => recall: {}
    17, monitors[mail-travel].limits.recall: a limit needs at_least or at_most
recall: 0.50 => recall: high
    17, monitors[mail-travel].limits.recall: it should be a valid number, found 'high'
every: 52 => every: 1
    17, monitors[mail-travel].limits.false_alarm_every: it should be greater than or equal to 2, found 1
    model: =>     modell:
    5, monitors[mail-travel].modell: there is no such setting here; did you mean model?
models:/mail-travel/7 => 7
    5, monitors[mail-travel].model: it should be a valid string, found a number; put it in quotes
duckdb => duckbd
    7, monitors[mail-travel].source.kind: 'duckbd' is not known; did you mean duckdb? (installed are <sources>)
id: mail_id,  => <nothing>
    9, monitors[mail-travel].source.columns.id: this setting is missing; add a line `id: ...`
[subject, body] => subject
    9, monitors[mail-travel].source.columns.show: it should be a valid list, found 'subject'; write [subject]
time_zone: UTC => time_zone: Mars
    10, monitors[mail-travel].source.time_zone: there is no time zone 'Mars'; names look like Europe/Prague or UTC
0 6 * * MON => 0 6 * *
    13, monitors[mail-travel].schedule.cron: '0 6 * *' is not a cron line (it has 4 fields); write five, such as '0 6 * * MON'
0 6 * * MON => 0 6 30 2 *
    13, monitors[mail-travel].schedule.cron: '0 6 30 2 *' is not a cron line (bad day-of-month); write five, such as '0 6 * * MON'
lag: 6h => lag: 6
    13, monitors[mail-travel].schedule.lag: 6 has no unit; write a number and s, m, h, d or w, such as 6d
lag: 6h => lag: soon
    13, monitors[mail-travel].schedule.lag: 'soon' is not a duration; write a number and s, m, h, d or w, such as 6h
lag: 6h => lag: 99999999999d
    13, monitors[mail-travel].schedule.lag: '99999999999d' is longer than 100 years
{tracking_uri: sqlite:///mlflow.db, experiment_prefix: monitor} => <nothing>
    2, mlflow: results always go to MLflow; remove the line to use mlflow.db beside the config, or write mlflow: {tracking_uri: URI}
max_labels: 2000 => max_labels: 2.5
    14, monitors[mail-travel].sample.max_labels: it should be a valid integer or 'all', found 2.5
max_labels: 2000 => max_labels: <nothing>
    14, monitors[mail-travel].sample.max_labels: it should be a valid integer or 'all', found nothing; write a value or remove the line
kind: files => kind: file
    15, monitors[mail-travel].labeling.kind: 'file' is not known; did you mean files? (installed are <labelers>)
late_labels: 90d => gold: {tp: 9, fn: 1, tn: 9, fp: 1}
    15, monitors[mail-travel].labeling.gold: this setting was removed: pages no longer mix gold items and repeats into tasks, which no estimate used; to measure label errors use `overlap`, or `checks` of a column
threshold: 0.5 => time_unit: seconds
    12, monitors[mail-travel].source.time_unit: there is no such setting here; kind: sql and spark have it; remove it, or change the kind
kind: files,  => <nothing>
    15, monitors[mail-travel].labeling.kind: this setting is missing; it is one of <labelers>
tp: 138 => tp: 0.3
    16, monitors[mail-travel].reference.tp: it should be a valid integer, found 0.3; this is a count, not a share
tp: 138, fp: 22, fn: 108, tn: 4732 => tp: 0, fp: 0, fn: 0, tn: 0
    16, monitors[mail-travel].reference: all four counts are 0; leave the reference out if there is none
hazard: 0.35 => hazard: 1
    19, monitors[mail-travel].pooling.hazard: it should be less than 1, found 1
score: score, => score: score, segments: [a, b, c, d, e, f, g, h, i, j, k],
    9, monitors[mail-travel].source.columns.segments: it should have at most 10 items, found a list of 11
kind: webhook => kind: webhook, timeout: 0s
    22, hooks.ops.timeout: it should be greater than or equal to 1s, found '0s'
hooks: [ops] => hooks: [oops]
    20, monitors[mail-travel].hooks[0]: there is no hook 'oops'; known are ops
bad_rows_max: 0.01 => name: mail-travel
    18, monitors[mail-travel].name: the key is repeated, first in line 4; keep one of them
bad_rows_max: 0.01 => bad_rows_max: !!python/name:x 1
    18: tags (words that begin with !) are not supported; remove it
tenant: [eu, us] => tenant: []
    11, monitors[mail-travel].source.where.tenant: an empty list matches nothing; name a value or more
store: sqlite:///monitor.db => stor: sqlite:///monitor.db
    1, stor: there is no such setting here; did you mean store?
store: sqlite:///monitor.db => websites: {listen: 127.0.0.1:8080}
    1, websites: there is no such setting here; known are false_alarms, hooks, mlflow, monitors, pages, store, web
store: sqlite:///monitor.db => store: mysql://h/db
    1, store: this is not the address of a store; write sqlite:///monitor.db or postgresql+psycopg://${DB_USER}:${DB_PASSWORD}@HOST/DATABASE
kind: webhook => kind: webhok
    22, hooks.ops.kind: 'webhok' is not known; did you mean webhook? (installed are webhook, log, apprise, command)
kind: webhook => kind: alertmanager
    22, hooks.ops.kind: 'alertmanager' was removed: Prometheus tells an Alertmanager of `pr_monitor_alert_firing` by an alerting rule (docs/how-to/alerts.md)
, secret: "${OPS_HOOK_SECRET}" => <nothing>
    22, hooks.ops.secret: this setting is missing; add `secret: ${NAME}` or `secret_file: PATH`
pooling: {hazard: 0.35} => judge: {column: verdict}
    19, monitors[mail-travel].judge: expected either positive or threshold: which verdicts say yes
pooling: {hazard: 0.35} => judge: {column: v, positive: 1, within: 9m}
    19, monitors[mail-travel].judge.within: this setting was removed: it belonged to judges that were asked; verdicts come from judge.column
pooling: {hazard: 0.35} => judge: {column: score, threshold: 0.5}
    19, monitors[mail-travel].judge: 'score' is the score column; a judge is another opinion
pooling: {hazard: 0.35} => judge: {column: subject, positive: spam}
    19, monitors[mail-travel].judge: 'subject' is also in source.columns.show; people who see it repeat what the judge said, so remove it there
pooling: {hazard: 0.35} => judge: {column: v, positive: a, negative: [a, b]}
    19, monitors[mail-travel].judge: a value is both in positive and in negative; it means one of them
recall: 0.50 => judge_tpr: 0.7
    17, monitors[mail-travel].limits.judge_tpr: the monitor has no judge to set limits for
score: score, => score: score, segments: [score],
    9, monitors[mail-travel].source.columns.segments: 'score' is the score column; a segment is a column with few values, such as a country
score: score, => score: score, segments: [team, team],
    9, monitors[mail-travel].source.columns.segments: 'team' is listed twice; name each column once
score: score, => score: score, released: let_through,
    6, monitors[mail-travel].source.released_with: an outcome that the model prevented is not observable, and without the probability of release precision cannot be estimated from the released items; give the probability or its column, or leave out columns.released and have people judge the flagged items
score: score, show: [subject, body]} => score: score, released: let_through}⏎      released_with: score
    10, monitors[mail-travel].source.released_with: 'score' holds something else; name the column of probabilities
score: score, show: [subject, body]} => score: score, released: let_through}⏎      released_with: 1.5
    10, monitors[mail-travel].source.released_with: it should be less than or equal to 1 or a valid string, found 1.5
{kind: files, deadline: 5d, late_labels: 90d} => {kind: column, id: mail_id, value: y, matures: 1s}
    15, monitors[mail-travel].labeling.path: this setting is missing: this kind of source reads no labels, so name the files that hold them (with kind sql, lake or spark the path may be left out, and table be named)
{kind: files, deadline: 5d, late_labels: 90d} => {kind: column, path: t.csv, id: mail_id, value: y, matures: 1s, checks: 9}
    15, monitors[mail-travel].labeling.checks: nobody is asked; write labeling as {flagged: ..., passed: ..., checks: ...}: this column under both classes, and {kind: page, question: "..."} under checks
[subject, body] => [{column: a, kind: svg}]
    9, monitors[mail-travel].source.columns.show[0].kind: it should be 'text', 'json', 'image', 'html' or 'link', found 'svg'
[subject, body] => [{column: a, table: [b]}]
    9, monitors[mail-travel].source.columns.show[0]: expected either a column with its kind, or a table of columns
[subject, body] => [5]
    9, monitors[mail-travel].source.columns.show[0]: it should be a valid string, found a number; put it in quotes
[subject, body] => [{table: [score]}]
    9, monitors[mail-travel].source.columns.show: 'score' is the score column; people who see it repeat what the model said, so remove it
predictions/*.parquet => '${a-b}.parquet'
    8, monitors[mail-travel].source.path: `${` begins a variable such as ${OPS_HOOK}; write $${ for the characters
"""  # noqa: E501  a sentence stands on one line


def sentences(told=SENTENCES):
    """Each change of a text, before and after, and the one line that it is refused with."""
    for kinds in ("sources", "labelers"):
        names = ", ".join(getattr(adapters, kinds.upper()).names())
        told = told.replace(f"<{kinds}>", names)
    blocks = told.replace("<nothing>", "").split("\n")
    for change, line in zip(blocks[::2], blocks[1::2], strict=False):
        before, after = change.split(" => ")
        yield before.replace("⏎", "\n"), after.replace("⏎", "\n"), f"config.yaml:{line.strip()}"


def changed(before, after):
    assert TEXT.count(before) == 1
    return TEXT.replace(before, after)


def read(folder, text, environ=ENVIRONMENT):
    path = folder / "config.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return load_config(path, environ)


def refusals(folder, text, environ=ENVIRONMENT):
    """Return the lines that a text is refused with, without the folder in front."""
    with pytest.raises(ConfigRefused) as caught:
        read(folder, text, environ)
    lines = str(caught.value).split("\n")
    assert all(line.startswith(f"{folder}/config.yaml") for line in lines)
    return [line.removeprefix(f"{folder}/") for line in lines]
