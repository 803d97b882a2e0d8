"""restatements: new versions of old rounds that a person asked for."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade():
    op.create_table(
        "restatements",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("monitor_id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("by", sa.String(length=100), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["monitor_id"], ["monitors.id"], name=op.f("fk_restatements_monitor_id_monitors")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_restatements")),
        comment="New versions of old rounds that a person asked for.",
    )
    op.create_index(op.f("ix_restatements_monitor_id"), "restatements", ["monitor_id"])
    op.create_table(
        "restated_versions",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("restatement_id", sa.Integer(), nullable=False),
        sa.Column("before", sa.Integer(), nullable=False),
        sa.Column("own", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["restatement_id"],
            ["restatements.id"],
            name=op.f("fk_restated_versions_restatement_id_restatements"),
        ),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_restated_versions_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", "version", name=op.f("pk_restated_versions")),
        comment=(
            "Versions that a restatement made: of its own rounds, and of those that pool one."
        ),
    )
    op.create_index(
        op.f("ix_restated_versions_restatement_id"), "restated_versions", ["restatement_id"]
    )


def downgrade():
    for table, column in (
        ("restated_versions", "restatement_id"),
        ("restatements", "monitor_id"),
    ):
        op.drop_index(op.f(f"ix_{table}_{column}"), table_name=table)
        op.drop_table(table)
