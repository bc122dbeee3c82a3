"""
Scribbles on a photograph
=========================

Strokes of three labels say what to tell apart; every pixel goes to one of them. Each label's strokes are the
seeds of constrained dominant sets: regions of the picture that are most alike to each other and to the
stroke. Needs the extra "plot"; the photograph ships with scikit-image. Writes scribbles.png.
"""

from __future__ import annotations

import numpy as np
from skimage.data import coffee

from dominantsets.plotting import plt
from dominantsets.segmentation import segment

# %%
# The strokes
# -----------
# A map of labels in the shape of the photograph: 0 where nothing was drawn.

photo = coffee()
strokes = np.zeros(photo.shape[:2], dtype=np.uint8)
strokes[60:320, 550:556] = 1  # the table
strokes[375:381, 20:130] = 1
strokes[120:126, 15:90] = 1
strokes[230:330, 40:46] = 1
strokes[40:46, 90:160] = 1
strokes[60:66, 430:540] = 1
strokes[45:51, 220:370] = 2  # the cup, the saucer
strokes[230:236, 95:190] = 2
strokes[350:356, 170:400] = 2
strokes[155:161, 235:310] = 3  # the coffee

# %%
# The sets around them
# --------------------
# Sets are made of small regions. Those of one label go on until each of its strokes is in one. The first has
# the certificate of any dominant set: no region outside gains by joining.

found = segment(photo, scribbles=strokes, position=0.5)
for name, label in (("table", 1), ("cup", 2), ("coffee", 3)):
    print(f"{name}: {np.mean(found.labels == label):.1%} of the picture")
first = found.clusters[0]
print(
    f"{len(found.clusters)} sets; the first has {len(first)} regions, relative gap {first.relative_gap:.0e}"
)

# %%
# The answer
# ----------

figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
colours = np.array([[255, 255, 255], [86, 180, 233], [230, 159, 0], [0, 158, 115]])
drawn = photo.copy()
drawn[strokes > 0] = colours[strokes[strokes > 0]]
axes[0].imshow(drawn)
axes[1].imshow(0.45 * photo / 255 + 0.55 * colours[found.labels] / 255)
for ax, title in zip(axes, ("three labels drawn", "every pixel goes to one"), strict=True):
    ax.set_title(title, fontsize=10)
    ax.set(xticks=[], yticks=[])
figure.savefig("scribbles.png", dpi=80)
