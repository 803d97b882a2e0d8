"""indexes, so that nothing people ask or a pass does reads all rounds there ever were."""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

_NEW = {
    "ix_rounds_slot": ("rounds", ["slot"]),
    "ix_rounds_monitor_id_number": ("rounds", ["monitor_id", "number"]),
    "ix_rounds_history_id_slot": ("rounds", ["history_id", "slot"]),
    "ix_alerts_state": ("alerts", ["state"]),
}
_OLD = "ix_rounds_history_id"


def upgrade():
    for name, (table, columns) in _NEW.items():
        op.create_index(op.f(name), table, columns)
    op.drop_index(op.f(_OLD), table_name="rounds")


def downgrade():
    op.create_index(op.f(_OLD), "rounds", ["history_id"])
    for name, (table, _) in reversed(_NEW.items()):
        op.drop_index(op.f(name), table_name=table)
