"""The formulas of Shang et al. (AISTATS 2023) as printed, for who must reproduce the paper."""
