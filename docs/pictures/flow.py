"""Draws docs/flow.png, the flow chart of docs/choosing.md: ``python docs/pictures/flow.py``.

It is narrow, so that it can be read on a phone.
"""

from __future__ import annotations

from pathlib import Path

from dominantsets.plotting import plt

QUESTIONS = [  # a question, and what follows from yes
    ("Similarities or distances\nof pairs, or a graph?", '"precomputed"\n"precomputed_distance"'),
    ("More than 200,000 rows,\nor on Dask or a GPU?", '"sqeuclidean"\n"cosine" for directions'),
    ("Do you know that\ngroups are round?", '"sqeuclidean"'),
    ("Curves, rings,\nregions of a picture?", '"path"'),
    ("Images or embeddings,\n20,000 and more?", '"embedding"'),
    ("Long clouds\nthat overlap?", '"ellipses"'),
]
NOISE = [
    ("Must everybody\nhave a label?", "noise=None"),
    ("Only what\nis certain?", 'noise="cores"'),
    ("Do you know the\nshare of noise?", "noise=0.2"),
]
QUESTION, ANSWER, END = "#D6E6F2", "#FCE9C6", "#D5EDE3"


def chart(ax, questions, end, top):
    """Questions below each other, answers to their right; returns where it ends."""
    box = {"ha": "center", "va": "center", "fontsize": 8.5}
    for k, (question, answer) in enumerate(questions):
        y = top - k
        ax.text(0, y, question, bbox={"boxstyle": "round,pad=0.45", "fc": QUESTION, "ec": "0.4"}, **box)
        ax.annotate(
            answer,
            (0.72, y),
            (1.75, y),
            bbox={"boxstyle": "round,pad=0.45", "fc": ANSWER, "ec": "0.4"},
            arrowprops={"arrowstyle": "<-", "color": "0.3"},
            **box,
        )
        ax.text(0.87, y + 0.08, "yes", fontsize=8, color="0.3")
        ax.annotate("", (0, y - 0.74), (0, y - 0.3), arrowprops={"arrowstyle": "->", "color": "0.3"})
        ax.text(0.06, y - 0.53, "no", fontsize=8, color="0.3")
    y = top - len(questions)
    ax.text(0, y, end, bbox={"boxstyle": "round,pad=0.45", "fc": END, "ec": "0.4"}, **box)
    return y


def main():
    figure, ax = plt.subplots(figsize=(4.3, 8.2))
    figure.subplots_adjust(0, 0, 1, 1)
    ax.text(-0.75, 11.75, "Which affinity?", fontsize=11, weight="bold")
    y = chart(ax, QUESTIONS, '"auto": leave it, and read\nmodel.choice_', 11.2)
    ax.text(-0.75, y - 0.9, "What about noise?", fontsize=11, weight="bold")
    y = chart(ax, NOISE, 'noise="auto": leave it, and read\nmodel.selection_', y - 1.45)
    ax.set(xlim=(-0.85, 2.5), ylim=(y - 0.5, 12.1))
    ax.axis("off")
    figure.savefig(Path(__file__).parents[1] / "flow.png", dpi=110)


if __name__ == "__main__":
    main()
