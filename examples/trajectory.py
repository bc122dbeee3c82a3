"""
Replicator dynamics, long before it converges
=============================================

Weights of replicator dynamics part company early: where they do, a cut shows a group. Writes
trajectory.png.
"""

from __future__ import annotations

import numpy as np

from dominantsets import trajectory
from dominantsets.plotting import TrajectoryDisplay

rng = np.random.default_rng(0)
y = np.repeat([0, 1, 2], [40, 40, 60])  # two groups, and objects that are alike to nobody
level = np.where((y[:, None] == y) & (y < 2), np.where(y == 0, 0.85, 0.8), 0.2)
A = np.triu(np.clip(level + 0.05 * rng.normal(size=level.shape), 0.01, None), 1)
run = trajectory(A + A.T)
for cut in run.cuts[:3]:
    print(f"step {cut.step}: {len(cut.members)} objects above the gap, {len(cut.left)} left behind")
print(f"the dynamics ends at step {run.n_iter} ({run.status.value})")
TrajectoryDisplay(run).plot().figure_.savefig("trajectory.png", dpi=90)
