"""Which labeler of a monitor a task is for."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade():
    op.add_column("tasks", sa.Column("part", sa.Integer(), nullable=False, server_default="0"))


def downgrade():
    op.drop_column("tasks", "part")
