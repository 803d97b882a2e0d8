"""people who come to the pages by a name and a password, and sign-ins that failed."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade():
    op.add_column("page_sessions", sa.Column("login", sa.String(length=8), nullable=True))
    op.create_table(
        "page_users",
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("role", sa.String(length=8), nullable=False),
        sa.Column("added_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_page_users")),
        comment="Who may use the pages by a token of their own, and what for.",
    )
    op.create_table(
        "page_attempts",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_page_attempts")),
        comment=(
            "Sign-ins that failed, by the hash of a name or of an address; forgotten after a day."
        ),
    )


def downgrade():
    for table in ("page_attempts", "page_users"):
        op.drop_table(table)
    op.drop_column("page_sessions", "login")
