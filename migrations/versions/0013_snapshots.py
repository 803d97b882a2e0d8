"""The snapshot of its source that a round was drawn from."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade():
    op.add_column("rounds", sa.Column("snapshot", sa.Text(), nullable=True))


def downgrade():
    op.drop_column("rounds", "snapshot")
