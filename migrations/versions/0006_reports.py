"""reports stand in a table of their own, once; effects refer to them."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

REPORTING = ("round_run", "fleet_point", "model_tags")
AT_ONCE = 200  # reports are long

REPORTS = sa.table(
    "reports",
    sa.column("round_id", sa.Integer),
    sa.column("version", sa.Integer),
    sa.column("payload", sa.JSON),
)
EFFECTS = sa.table(
    "effects",
    sa.column("id", sa.BigInteger),
    sa.column("round_id", sa.Integer),
    sa.column("kind", sa.String),
    sa.column("report_version", sa.Integer),
    sa.column("payload", sa.JSON(none_as_null=True)),
)

WAITING_EFFECTS = """
with queues as (
    select
        min(id) as head, count(*) as waiting, count(distinct round_id) as rounds,
        min(created_at) as since
    from effects
    where status in ('waiting', 'dead')
    group by monitor_id, sink
)
select
    m.name as monitor, e.sink, q.waiting, q.rounds, q.since, e.next_try, e.tries, e.last_error
from queues q
join effects e on e.id = q.head
join monitors m on m.id = e.monitor_id
"""


def upgrade():
    op.create_table(
        "reports",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_reports_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", "version", name=op.f("pk_reports")),
        comment="What each version of a round says, as MLflow is told and pages show it.",
    )
    op.execute("drop view waiting_effects")  # SQLite makes the table anew
    with op.batch_alter_table("effects") as effects:
        effects.add_column(sa.Column("report_version", sa.Integer(), nullable=True))
        effects.alter_column("payload", existing_type=sa.JSON(), nullable=True)
        effects.create_foreign_key(
            op.f("fk_effects_round_id_report_version_reports"),
            "reports",
            ["round_id", "report_version"],
            ["round_id", "version"],
        )
    op.execute(f"create view waiting_effects as {WAITING_EFFECTS}")
    _move_reports()


def downgrade():
    _move_reports_back()
    op.execute("drop view waiting_effects")
    with op.batch_alter_table("effects") as effects:
        effects.drop_constraint(
            op.f("fk_effects_round_id_report_version_reports"), type_="foreignkey"
        )
        effects.drop_column("report_version")
        effects.alter_column("payload", existing_type=sa.JSON(), nullable=False)
    op.execute(f"create view waiting_effects as {WAITING_EFFECTS}")
    op.drop_table("reports")


def _move_reports():
    """Take each report out of the effects that hold it; one that differs keeps what it has."""
    for rows in _batches(EFFECTS.c.kind == "round_run"):
        _add_reports(rows)
    for rows in _batches(EFFECTS.c.kind.in_(REPORTING)):
        stored = _reports_of(rows)
        for row in rows:
            key = (row.round_id, row.payload["version"])
            if stored.get(key) == _text(row.payload):
                _write(row.id, report_version=key[1], payload=None)


def _add_reports(rows):
    known = set(_reports_of(rows))
    new = {}
    for row in rows:
        key = (row.round_id, row.payload["version"])
        if key not in known:
            new.setdefault(key, row.payload)
    if new:
        op.get_bind().execute(
            REPORTS.insert(),
            [{"round_id": key[0], "version": key[1], "payload": new[key]} for key in new],
        )


def _move_reports_back():
    """Give each effect the report that it refers to."""
    for rows in _batches(EFFECTS.c.report_version.is_not(None)):
        query = sa.select(REPORTS).where(REPORTS.c.round_id.in_(_round_ids(rows)))
        found = {
            (each.round_id, each.version): each.payload for each in op.get_bind().execute(query)
        }
        for row in rows:
            payload = found[row.round_id, row.report_version]
            _write(row.id, report_version=None, payload=payload)


def _batches(which):
    """Read effects some at a time, in the order in which they were written."""
    last = 0
    while True:
        query = sa.select(EFFECTS).where(EFFECTS.c.id > last, which)
        rows = op.get_bind().execute(query.order_by(EFFECTS.c.id).limit(AT_ONCE)).all()
        if not rows:
            return
        yield rows
        last = rows[-1].id


def _reports_of(rows):
    """Read the text of the reports of the rounds of some effects, by round and version."""
    query = sa.select(REPORTS).where(REPORTS.c.round_id.in_(_round_ids(rows)))
    return {
        (each.round_id, each.version): _text(each.payload) for each in op.get_bind().execute(query)
    }


def _round_ids(rows):
    return sorted({row.round_id for row in rows})


def _text(payload):
    return json.dumps(payload)


def _write(effect_id, **values):
    op.get_bind().execute(EFFECTS.update().where(EFFECTS.c.id == effect_id).values(values))
