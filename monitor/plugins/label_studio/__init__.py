"""Labels given in Label Studio, over its HTTP interface (docs/labeling-label-studio.md)."""
