"""Rows that the size of a stratum was estimated from, where a log keeps a sample of the items."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade():
    op.add_column("strata", sa.Column("rows", sa.BigInteger()))


def downgrade():
    op.drop_column("strata", "rows")
