"""The views of all parts, in the order of their names."""

from monitor.presentation.parts import *  # noqa: F403  loads the modules of the package
from monitor.presentation.parts.view import PartView

VIEWS = sorted((view() for view in PartView.__subclasses__()), key=lambda view: view.name)

NO_PARTS = {view.name: view.empty for view in VIEWS}
"""What a report has under the name of each part where it does not have the part."""
