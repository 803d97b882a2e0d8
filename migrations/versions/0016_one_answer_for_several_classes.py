"""one task of the labeling page that answers several monitors of a block of classes."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade():
    op.add_column("page_rounds", sa.Column("choices", sa.JSON(none_as_null=True), nullable=True))
    op.create_table(
        "page_shares",
        sa.Column("round_name", sa.String(length=200), nullable=False),
        sa.Column("task_key", sa.String(length=40), nullable=False),
        sa.Column("page_round", sa.String(length=200), nullable=False),
        sa.Column("page_key", sa.String(length=40), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("let_go", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["page_round", "page_key"],
            ["page_tasks.round_name", "page_tasks.key"],
            name=op.f("fk_page_shares_page_round_page_key_page_tasks"),
        ),
        sa.PrimaryKeyConstraint("round_name", "task_key", name=op.f("pk_page_shares")),
        comment=(
            "Tasks of monitors of a block that one task on the page answers; let_go once a round "
            "needs what it shows no more."
        ),
    )
    for columns in (["page_round", "page_key"], ["task_key"]):
        op.create_index(op.f(f"ix_page_shares_{'_'.join(columns)}"), "page_shares", columns)


def downgrade():
    for name in ("ix_page_shares_task_key", "ix_page_shares_page_round_page_key"):
        op.drop_index(op.f(name), table_name="page_shares")
    op.drop_table("page_shares")
    op.drop_column("page_rounds", "choices")
