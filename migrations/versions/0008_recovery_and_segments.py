"""evidence of recovery, and what the labels of a segment say alone.

Evidence of recovery is what ends an alert, by round; what the rule before it went by is kept where it
was read.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

SEGMENT_ALONE = ("alone_point", "alone_low", "alone_high")


def upgrade():
    with op.batch_alter_table("evidence") as table:
        table.alter_column("recovered", existing_type=sa.Float(), nullable=True)
        table.add_column(sa.Column("log_recovery", sa.Float(), nullable=True))
        table.add_column(sa.Column("recovery_rounds", sa.Integer(), nullable=True))
        table.add_column(sa.Column("log_r", sa.Float(), nullable=True))
    with op.batch_alter_table("segment_estimates") as table:
        for end in SEGMENT_ALONE:
            table.add_column(sa.Column(end, sa.Float(), nullable=True))


def downgrade():
    with op.batch_alter_table("segment_estimates") as table:
        for end in reversed(SEGMENT_ALONE):
            table.drop_column(end)
    # The version before cannot read a round without it, and never ends an alert by a 0.
    op.execute("update evidence set recovered = 0 where recovered is null")
    with op.batch_alter_table("evidence") as table:
        table.drop_column("log_r")
        table.drop_column("recovery_rounds")
        table.drop_column("log_recovery")
        table.alter_column("recovered", existing_type=sa.Float(), nullable=False)
