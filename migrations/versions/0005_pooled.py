"""what was called carried is called pooled, in estimates, settings and reports."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

WORDS = {"carried": "pooled"}
KEYS = {
    "precision_carried": "precision_pooled",
    "recall_carried": "recall_pooled",
}
SETTINGS = {"carry": "pooling"}
OF_POOLING = {"own_share": "robust_weight", "lean": "shift"}
REPORTS = ("round_run", "fleet_point", "model_tags")
AT_ONCE = 200  # reports are long

EFFECTS = sa.table(
    "effects",
    sa.column("id", sa.BigInteger),
    sa.column("kind", sa.String),
    sa.column("payload", sa.JSON),
)
ROUNDS = sa.table("rounds", sa.column("id", sa.Integer), sa.column("settings", sa.JSON))


def upgrade():
    _rename(WORDS, KEYS, SETTINGS, OF_POOLING)
    _comment("pooled")
    _publish_again()


def downgrade():
    op.execute("delete from effects where key like '%/renamed'")
    _comment("carried")
    _rename(
        *({new: old for old, new in each.items()} for each in (WORDS, KEYS, SETTINGS, OF_POOLING))
    )


def _comment(word):
    if op.get_bind().dialect.name == "postgresql":  # SQLite has no comments
        text = f"The {word} posterior of each predicted class, as output; never read back."
        op.create_table_comment("posteriors", text)


def _rename(words, keys, settings, of_pooling):
    for old, new in words.items():
        op.execute(f"update estimates set basis = '{new}' where basis = '{old}'")
    for old, new in settings.items():

        def renamed(found, old=old, new=new):
            if old not in found:
                return found
            kept = {key: value for key, value in found.items() if key != old}
            pooling = {of_pooling.get(key, key): value for key, value in found[old].items()}
            return kept | {new: pooling}

        _rewrite(ROUNDS, "settings", renamed)
    _rewrite(
        EFFECTS, "payload", lambda found: _deep(found, words, keys), EFFECTS.c.kind.in_(REPORTS)
    )


def _deep(found, words, keys):
    """Rename keys, and the words that name a basis, wherever they stand in a report."""
    if isinstance(found, list):
        return [_deep(each, words, keys) for each in found]
    if not isinstance(found, dict):
        return found
    return {
        keys.get(key, key): words.get(value, value) if key == "basis" else _deep(value, words, keys)
        for key, value in found.items()
    }


def _rewrite(table, column, renamed, *where):
    """Rewrite a JSON column, some rows at a time."""
    connection = op.get_bind()
    last = 0
    while True:
        query = sa.select(table.c.id, table.c[column]).where(table.c.id > last, *where)
        rows = connection.execute(query.order_by(table.c.id).limit(AT_ONCE)).all()
        if not rows:
            return
        for row_id, found in rows:
            new = renamed(found)
            if json.dumps(new) != json.dumps(found):
                connection.execute(table.update().where(table.c.id == row_id).values({column: new}))
        last = rows[-1][0]


def _publish_again():
    """Let MLflow show each round's last version under the new names too, so that no chart breaks."""
    op.execute(
        """
        insert into effects (key, monitor_id, round_id, kind, sink, payload, status, created_at,
                             next_try, tries, attempt)
        select key || '/renamed', monitor_id, round_id, kind, sink, payload, 'waiting', created_at,
               next_try, 0, 0
        from effects
        where id in (
            select max(e.id) from effects e join rounds r on r.id = e.round_id
            where r.state = 'closed' and e.kind in ('round_run', 'fleet_point')
            group by e.round_id, e.kind
        ) and status = 'done'
        order by id
        """
    )
