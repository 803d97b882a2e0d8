"""Tables of the labeling page: tasks, controls, people and sessions."""
