"""What labels are worth: annotators who disagree, labels that are wrong."""
