"""What evidence on a limit was after each block of a round."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade():
    op.add_column("evidence", sa.Column("log_path", sa.JSON()))


def downgrade():
    op.drop_column("evidence", "log_path")
