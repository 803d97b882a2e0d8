"""What people and programs read of each part of a report, a module each; `registry` lists them."""

from pkgutil import iter_modules

# What `import *` loads: all modules but the registry, which asks for them.
__all__ = [each.name for each in iter_modules(__path__) if each.name != "registry"]
