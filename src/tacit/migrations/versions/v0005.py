"""Schema 5: a decision service. Rounds keep a digest of their request and the epoch that was told;
rounds that count nowhere keep their answer; there are deferred rounds, keys and long work."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("tacit_rounds", sa.Column("body", sa.Text))
    op.add_column("tacit_rounds", sa.Column("counts_in", sa.Integer))
    _widen_uncounted()
    op.create_table(
        "tacit_deferred_rounds",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("context", sa.LargeBinary, nullable=False),
        sa.Column("action", sa.LargeBinary, nullable=False),
        sa.Column("user", sa.Text),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("mode", sa.Text, nullable=False),
        sa.Column("propensity", sa.Float, nullable=False),
        sa.Column("density", sa.Integer, nullable=False),
        sa.Column("asked", sa.Float, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )


def _widen_uncounted() -> None:
    """A study of one release that was made before there were epochs lacks the table."""
    name = "tacit_uncounted_rounds"
    if name not in sa.inspect(op.get_bind()).get_table_names():
        op.create_table(name, sa.Column("id", sa.Text, primary_key=True))
    op.add_column(name, sa.Column("action", sa.LargeBinary))
    op.add_column(name, sa.Column("epoch", sa.Integer))
    op.add_column(name, sa.Column("mode", sa.Text))
    op.add_column(name, sa.Column("propensity", sa.Float))
    op.add_column(name, sa.Column("density", sa.Integer))
    op.add_column(name, sa.Column("asked", sa.Float))
    op.add_column(name, sa.Column("body", sa.Text))


def downgrade() -> None:
    """There is no way back."""
    raise NotImplementedError("restore a backup instead.")
