"""Labels given in Label Studio, over its HTTP interface (docs/how-to/labeling-label-studio.md)."""
