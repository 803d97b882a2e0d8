"""Up to which label revision the evidence of an open round was read."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade():
    op.add_column("rounds", sa.Column("evidence_revision", sa.Integer()))


def downgrade():
    op.drop_column("rounds", "evidence_revision")
