"""What is kept of an earlier epoch: what was released about other people, as far as a later epoch
needs it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tacit._typing import Array, Floats
from tacit.core import Guarantee
from tacit.residual.reward_law import NoiseEstimate, ReleasedRewards


@dataclass(frozen=True, eq=False)
class Earlier:
    """All releases about the people of one epoch, summed up. Public.

    `observation` and `features` are a triangular matrix and a vector, those of
    `tacit.decoder.observations.GroupObservation`: a study that goes on for ever keeps as many
    numbers of each epoch, whatever was released in it.
    """

    people: str  # the name of their cohort
    records: float  # those that could be used
    observation: Floats
    features: Floats
    rewards: ReleasedRewards
    noise: tuple[NoiseEstimate, ...]  # of their rewards around the reward function
    mean_square: float  # of what records added in the last pass
    guarantee: Guarantee  # to these people
    counts: Floats | None = None  # of contexts, in the cells of the layout
    count_noise: float = 0.0  # the standard deviation of the noise in one of them
    is_prior: bool = False  # what another study has learned, of whatever people
    retention: float = 1.0  # lambda: the correlation with the reward function before this epoch

    def facts(self) -> dict[str, Any]:
        """As plain data, without its arrays."""
        rewards = asdict(self.rewards)
        del rewards["histogram"]
        return {
            "people": self.people,
            "records": self.records,
            "mean_square": self.mean_square,
            "guarantee": asdict(self.guarantee),
            "count_noise": self.count_noise,
            "retention": self.retention,
            "is_prior": self.is_prior,
            "rewards": rewards,
            "noise": [asdict(each) for each in self.noise],
        }

    def arrays(self) -> dict[str, Array]:
        """What goes with `facts()`."""
        found = {"observation": self.observation, "features": self.features}
        if self.counts is not None:
            found["counts"] = self.counts
        if self.rewards.histogram is not None:
            found["histogram"] = self.rewards.histogram
        return found

    @classmethod
    def restore(cls, facts: dict[str, Any], arrays: dict[str, Array]) -> Earlier:
        """The inverse of `facts()` and `arrays()`."""
        rewards = ReleasedRewards(**facts["rewards"], histogram=arrays.get("histogram"))
        names = ("people", "records", "mean_square", "count_noise", "retention", "is_prior")
        plain = {name: facts[name] for name in names}
        return cls(
            **plain,
            rewards=rewards,
            noise=tuple(NoiseEstimate(**each) for each in facts["noise"]),
            guarantee=Guarantee(**facts["guarantee"]),
            observation=arrays["observation"],
            features=arrays["features"],
            counts=arrays.get("counts"),
        )
