"""aliases of registered models."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade():
    op.create_table(
        "alias_looks",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=True),
        sa.Column("first_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alias_looks")),
        comment="Which version an alias such as models:/mail@champion named, from look to look.",
    )
    op.create_index(op.f("ix_alias_looks_model"), "alias_looks", ["model"])
    op.add_column("rounds", sa.Column("registered", sa.Text(), nullable=True))


def downgrade():
    op.drop_column("rounds", "registered")
    op.drop_index(op.f("ix_alias_looks_model"), "alias_looks")
    op.drop_table("alias_looks")
