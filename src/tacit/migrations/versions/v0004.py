"""Schema 4: studies in epochs. The oldest one that can be upgraded."""

revision = "0004"
down_revision = None


def upgrade() -> None:
    """Nothing: this is where upgrades begin."""


def downgrade() -> None:
    """There is no way back."""
    raise NotImplementedError("restore a backup instead.")
