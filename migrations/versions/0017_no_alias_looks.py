"""Looks at aliases: each round keeps what the alias in its `model` named when it was opened."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade():
    op.drop_table("alias_looks")


def downgrade():
    op.create_table(
        "alias_looks",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            primary_key=True,
            autoincrement=True,
        ),
        sa.Column("model", sa.Text(), nullable=False, index=True),
        sa.Column("version", sa.Text()),
        sa.Column("first_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        comment="Which version an alias such as models:/mail@champion named, from look to look.",
    )
