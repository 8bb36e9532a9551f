"""The documentation site. `prepare.py` gathers the pages beside this file's copy; all their code is executed."""

import gradbag

project = "gradbag"
author = "The gradbag developers"
copyright = "The gradbag developers"  # Sphinx's name for it
version = release = gradbag.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
source_suffix = {".md": "myst-nb", ".rst": "restructuredtext"}
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_output_stderr = "remove"  # what frameworks say of themselves when they are imported
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
# Guides are also read beside the code, where their languages are named as people name them.
suppress_warnings = ["misc.highlighting_failure"]
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
html_theme = "pydata_sphinx_theme"
html_title = "gradbag"
html_static_path = ["_static"]
html_js_files = [("search_label.js", {"defer": "defer"})]
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": []}
