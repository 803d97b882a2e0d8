"""Items of an explored segment, which are drawn beside the sample."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade():
    column = sa.Column("explored", sa.Boolean(), server_default=sa.false(), nullable=False)
    op.add_column("items", column)


def downgrade():
    op.drop_column("items", "explored")
