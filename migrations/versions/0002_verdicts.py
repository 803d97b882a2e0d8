"""Strata by a judge's verdict."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade():
    op.add_column("strata", sa.Column("verdict", sa.String(length=10), nullable=True))


def downgrade():
    op.drop_column("strata", "verdict")
