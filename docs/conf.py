"""The site: CONTRIBUTING.md has the command. Nothing is loaded from elsewhere, by it or by its pages."""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "agg")
sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import dominantsets

project = "dominantsets"
author = "The dominantsets developers"
project_copyright = author
version = release = dominantsets.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "llms",
    "mathml",
]
exclude_patterns = ["**/README.rst"]
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]  # the gallery's settings hold functions, which Sphinx cannot compare

myst_enable_extensions = ["attrs_block", "colon_fence"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_imported_members = False
autodoc_typehints = "none"  # numpydoc has them from the docstring
numpydoc_show_class_members = False  # the templates list them

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",  # all of them run
    "within_subsection_order": "order.Order",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("dominantsets",),
    "reference_url": {"dominantsets": None},
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "plot_gallery": True,
    "nested_sections": False,
}

toc_object_entries_show_parents = "hide"  # names fit beside a page

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "dominantsets"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_use_index = html_domain_indices = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "navbar_persistent": ["search-button"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
    "back_to_top_button": False,
}
html_sidebars = {"index": []}
