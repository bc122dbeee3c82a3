"""Related methods, and the paper's studies in :mod:`dominantsets.studies.experiments`.

No other room imports this one. Its public names, the related algorithms of ``solve`` and
``dominantsets reproduce`` load the modules that they need when they are asked for.
"""
