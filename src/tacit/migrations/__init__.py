"""Databases of earlier versions, moved to the schema of this one: `tacit db upgrade`."""

from tacit.migrations.upgrade import newest, schema_of, upgrade

__all__ = ["newest", "schema_of", "upgrade"]
