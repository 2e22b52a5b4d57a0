"""Sphinx's settings for the site of the documents (tools/site/__main__.py)."""

project = "binlogkit"
author = "the binlogkit authors"
project_copyright = ""
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "README"
myst_heading_anchors = 4  # as GitHub makes them
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 88
add_module_names = False
html_theme = "furo"
html_title = "binlogkit"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
pygments_style = "friendly"
suppress_warnings = ["misc.highlighting_failure"]  # a heredoc in a console block
html_static_path = ["site.css"]
html_css_files = ["site.css"]
