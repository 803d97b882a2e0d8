"""When answers that are too new for the evidence of an open round are old enough to count."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade():
    op.add_column("rounds", sa.Column("evidence_due_at", sa.DateTime(timezone=True)))


def downgrade():
    op.drop_column("rounds", "evidence_due_at")
