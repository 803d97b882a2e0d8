"""Pooled posteriors and comparisons with challengers, which only their reports show now."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade():
    op.drop_table("posteriors")
    op.drop_table("comparisons")


def downgrade():
    op.create_table(
        "posteriors",
        *_version(),
        sa.Column("predicted", sa.String(length=10), primary_key=True),
        *(sa.Column(name, sa.JSON(), nullable=False) for name in ("weight", "alpha", "beta")),
        comment="The pooled posterior of each predicted class, as output; never read back.",
    )
    intervals = [
        f"{of}_{end}"
        for of in ("champion", "challenger", "difference")
        for end in ("point", "low", "high")
    ]
    op.create_table(
        "comparisons",
        *_version(),
        sa.Column("rounds", sa.Integer(), primary_key=True),
        sa.Column("metric", sa.String(length=40), primary_key=True),
        *(sa.Column(name, sa.Float()) for name in (*intervals, "higher")),
        sa.Column("reason", sa.Text()),
        comment="The classifier and its challenger on the same labels, of one round or of several.",
    )


def _version():
    yield sa.Column("round_id", sa.Integer(), sa.ForeignKey("rounds.id"), primary_key=True)
    yield sa.Column("version", sa.Integer(), primary_key=True)
