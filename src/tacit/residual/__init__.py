"""Residual releases: further passes over the same records, which add what is not known yet.

    b2 = sum_i q_s(w_i) clip((y_i - l1 - f1(w_i)) / r, -1, 1)

`l1` and `f1` are the level of rewards and the reward function as the releases so far have them.
Residuals are smaller than rewards: at the same budget there is `r` times as much privacy
noise, and less noise from who happened to come. Every release is linear in the reward function, so
the decoder can use all of them together.

`refine` (in `tacit.residual.refine`) makes the design of the next pass from a released policy.
"""

from tacit.residual.clipping import REWARDS, Clip, choose_clip, clipping
from tacit.residual.target import Residual

__all__ = ["REWARDS", "Clip", "Residual", "choose_clip", "clipping"]
