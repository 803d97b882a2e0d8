"""Labels of columns beside the answers of people to the same items."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade():
    op.create_table(
        "label_checks",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("flagged", sa.Boolean(), nullable=False),
        sa.Column("tp", sa.Integer(), nullable=False),
        sa.Column("fn", sa.Integer(), nullable=False),
        sa.Column("tn", sa.Integer(), nullable=False),
        sa.Column("fp", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_label_checks_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", "version", "flagged", name=op.f("pk_label_checks")),
        comment="How a column labels items whose truth people say, by predicted class.",
    )


def downgrade():
    op.drop_table("label_checks")
