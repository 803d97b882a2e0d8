"""an index, so that a closing finds the items that an earlier round asked about."""

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade():
    op.create_index(op.f("ix_items_id_round_id"), "items", ["id", "round_id"])


def downgrade():
    op.drop_index(op.f("ix_items_id_round_id"), table_name="items")
