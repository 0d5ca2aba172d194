"""A release: what was published, and the design of the records that are summed in it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tacit._typing import Array
from tacit.core import Guarantee, Released

if TYPE_CHECKING:
    from tacit.design.design import Design


@dataclass(frozen=True, eq=False)
class Release:
    """One released vector. Passes over the same `people` share the noise of who they are."""

    design: Design
    released: Released
    people: str = ""

    def facts(self) -> dict[str, Any]:
        """The release as plain data, without its arrays."""
        return {
            "design": self.design.own_facts(),
            "guarantee": asdict(self.released.guarantee),
            "released": {
                "scale": self.released.scale,
                "records": self.released.records,
                "bits": self.released.bits,
            },
            "people": self.people,
        }

    def arrays(self) -> dict[str, Array]:
        """What goes with `facts()`."""
        return self.design.own_arrays() | {"values": self.released.values}

    @classmethod
    def restore(cls, design: Design, facts: dict[str, Any], arrays: dict[str, Array]) -> Release:
        """The inverse of `facts()` and `arrays()`."""
        guarantee = Guarantee(**facts["guarantee"])
        released = Released(values=arrays["values"], guarantee=guarantee, **facts["released"])
        return cls(design, released, facts["people"])
