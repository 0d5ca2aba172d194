"""The documentation site: `make docs`."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from tacit import __version__  # noqa: E402

project = "Tacit"
author = "Tacit developers"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "myst_nb",
    "sphinx_copybutton",
    "docstrings",  # these are in _ext
    "generated",
    "mathml",
    "repository_links",
]
exclude_patterns = ["_ext", "_build", "jupyter_execute", "**/.ipynb_checkpoints"]

smartquotes = False  # it makes one dash of two, also of an option's

# Pages are read on a forge, too: anchors are those that forges make.
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]

# Notebooks are kept without outputs, and executed here.
nb_execution_mode = "force"
nb_execution_timeout = 240
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80

html_theme = "furo"
html_title = f"Tacit {version}"
html_static_path = ["_static"]
html_theme_options = {
    "light_css_variables": {"code-font-size": "76%"},
    "dark_css_variables": {"code-font-size": "76%"},
}
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_show_copyright = False
html_show_sphinx = False
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
