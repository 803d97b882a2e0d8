"""Figures as SVG: shapes, scales and panels, without a library for plots.

Such a library takes half a second to load and most of one for each figure.
"""
