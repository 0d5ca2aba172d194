"""A private sum on disk: what a long collection has so far, so that it can stop and go on."""

from tacit.partial.arrays import drain, dump, load
from tacit.partial.saving import Partial, load_about, load_design, load_partial, save_partial
from tacit.partial.storage import forget

__all__ = ["Partial", "drain", "dump", "forget", "load", "load_about", "load_design", "load_partial", "save_partial"]
