"""evidence of recovery: what ends an alert, by round; the rule before it is kept where it was read."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade():
    with op.batch_alter_table("evidence") as table:
        table.alter_column("recovered", existing_type=sa.Float(), nullable=True)
        table.add_column(sa.Column("log_recovery", sa.Float(), nullable=True))
        table.add_column(sa.Column("recovery_rounds", sa.Integer(), nullable=True))
        table.add_column(sa.Column("log_r", sa.Float(), nullable=True))


def downgrade():
    # The version before cannot read a round without it, and never ends an alert by a 0.
    op.execute("update evidence set recovered = 0 where recovered is null")
    with op.batch_alter_table("evidence") as table:
        table.drop_column("log_r")
        table.drop_column("recovery_rounds")
        table.drop_column("log_recovery")
        table.alter_column("recovered", existing_type=sa.Float(), nullable=False)
