"""Notes on alerts: what people did about them."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade():
    op.create_table(
        "alert_notes",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("alert_id", sa.String(length=36), sa.ForeignKey("alerts.id"), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("by", sa.String(length=100), nullable=False),
        sa.Column("text", sa.String(length=400), nullable=False),
        sa.UniqueConstraint("alert_id", "text"),
        comment="What people did about alerts, in their words; nothing else copies these texts.",
    )


def downgrade():
    op.drop_table("alert_notes")
